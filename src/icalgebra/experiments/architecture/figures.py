"""Figure 8 and Table 1: courses by layers, heads and width; hold-out accuracy beside the published one."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, axes, legend_below, line
from icalgebra.results import Curve, Result

AXES = {"n_layers": "layers", "n_heads": "heads a layer", "d_model": "width (d_model)"}
MIDDLE = {"n_layers": 4, "n_heads": 8, "d_model": 1024}


def courses(result: Result) -> Figure:
    """A column a sweep: training loss above, hold-out accuracy below; one line a run."""
    figure, panels = axes(2, 3, (9.4, 5.4), sharex=True, sharey="row")
    for column, (field, title) in enumerate(AXES.items()):
        swept = sorted(_swept(result, field), key=lambda run: run[field])
        shades = shades_of(sorted({run[field] for run in swept}))
        for run in swept:
            draw_run(panels[:, column], run, shades[run[field]], f"{run[field]}")
        panels[0][column].set_title(title)
        once_legend(panels[1][column])
        panels[1][column].set(xlabel="training steps", ylim=(0, 101))
    panels[0][0].set_ylabel("training loss (nats a token)")
    panels[1][0].set_ylabel("hold-out accuracy (%)")
    return figure


def beside_published(result: Result) -> Figure:
    """Hold-out accuracy of every setting, ours and the paper's."""
    settings = result.details["settings"]
    names = [f"{s['layers']} layers, {s['heads']} heads, {s['d_model']}" for s in settings]
    figure, panels = axes(1, 1, (9.2, 0.6 + 0.3 * len(settings)))
    panel = panels[0][0]
    places = range(len(settings))
    panel.plot([s["published"]["holdout"] for s in settings], places, "D", color=COLOURS["published"], markersize=5,
               fillstyle="none", zorder=3, label="published")  # fmt: skip
    for place, setting in zip(places, settings):
        ours = result.values.get(f"{setting['label']}.holdout")
        if ours is None:
            panel.text(1, place, "not measured", va="center", fontsize=8, color="#888888")
            continue
        panel.plot([100 * ours.low, 100 * ours.high], [place] * 2, color=COLOURS["model"], linewidth=2)
        panel.plot([100 * ours.value], [place], "o", color=COLOURS["model"])
    panel.set_yticks(list(places), names)
    panel.set(xlabel="hold-out accuracy (%)", xlim=(0, 101.5))
    panel.invert_yaxis()
    panel.plot([], [], "o-", color=COLOURS["model"], label="ours")
    legend_below(figure, panels)
    return figure


def _swept(result: Result, field: str) -> list[dict[str, Any]]:
    others = [name for name in AXES if name != field]
    return [run for run in result.details["runs"] if all(run[name] == MIDDLE[name] for name in others)]


def draw_run(panels: Any, run: dict[str, Any], colour: Any, label: str) -> None:
    panels[0].plot(*zip(*run["loss"]), color=colour, linewidth=1.2, label=label)
    line(panels[1], Curve(**run["holdout"]), colour, label, linewidth=1.3)


def once_legend(panel: Any) -> None:
    """Every label once, though several seeds share it."""
    found = dict(zip(*reversed(panel.get_legend_handles_labels())))
    if found:
        panel.legend(list(found.values()), list(found), fontsize=7.5, loc="best")


def shades_of(values: list[Any]) -> dict[Any, Any]:
    """Along one scale, from dark to light."""
    scale = matplotlib.colormaps["viridis"]
    return {value: scale(0.92 * i / max(1, len(values) - 1)) for i, value in enumerate(values)}


FIGURES = (courses, beside_published)
