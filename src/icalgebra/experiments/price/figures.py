"""The share of the ceiling's AUC against training seconds, one curve per variant."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.experiments.price.reading import GOALS, WINNER
from icalgebra.plotting import COLOURS, MODEL_COLOURS, OTHER_MODELS, WIDTH, axes, legend_below, line, log_axis
from icalgebra.results import Curve, Result
from icalgebra.statistics import Estimate

STYLES = ("-", "--", ":")
LOWEST, HIGHEST = 50.0, 100.5  # per cent of the ceiling that are drawn


def share_by_seconds(*results: Result) -> Figure:
    """Hold-out AUC as a share of the ceiling's, by training seconds; the winner's long run is the thick line."""
    figure, panels = axes(1, 1, (WIDTH, 4.0))
    panel = panels[0][0]
    for result in results:
        records = [record for record in result.details["variants"] if record["points"]]
        for place, record in enumerate(records):
            line(panel, curve_of(record), **_style(record, place))
    for goal in GOALS:
        panel.axhline(100 * goal, color=COLOURS["ceiling"], linewidth=0.8, linestyle=":")
    lowest = min([100.0, *(100 * y for result in results for y in _last_shares(result))])
    panel.set_ylim(max(LOWEST, min(90.0, lowest - 5)), HIGHEST)
    panel.set(xlabel="training seconds", ylabel="share of the ceiling's AUC (%)")
    log_axis(panel)
    legend_below(figure, panels, 5)
    return figure


def curve_of(record: dict[str, Any]) -> Curve:
    seconds = [point["seconds"] for point in record["points"]]
    return Curve.from_estimates(seconds, [Estimate(**point["share"]) for point in record["points"]])


def _last_shares(result: Result) -> list[float]:
    return [record["points"][-1]["share"]["value"] for record in result.details["variants"] if record["points"]]


def _style(record: dict[str, Any], place: int) -> dict[str, Any]:
    if record["stage"] == WINNER:
        style = {"colour": MODEL_COLOURS["deep"], "linewidth": 3.0, "label": f"{record['name']}, long run", "zorder": 5}
    else:
        colour = OTHER_MODELS[place % len(OTHER_MODELS)]
        pattern = STYLES[place // len(OTHER_MODELS) % len(STYLES)]
        style = {"colour": colour, "linewidth": 1.1, "linestyle": pattern, "label": record["name"]}
    return {**style, "marker": "o", "markersize": 2.5}


FIGURES = (share_by_seconds,)
