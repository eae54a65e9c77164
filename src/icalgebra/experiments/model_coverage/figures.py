"""Figure 3a, 3b: the five mechanisms, stacked, with the curves of the model and the ceiling."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.plotting import COLOURS, WIDTH, axes, legend_below, line, log_axis, model_colours
from icalgebra.results import Result

KINDS = {"train": "training sequences", "holdout": "hold-out sequences"}


def over_mechanisms(*results: Result) -> Figure:
    """What the mechanisms answer, what the models answer, and what the best possible predictor would."""
    figure, panels = axes(1, 2, (WIDTH, 4.0), sharey=True)
    for panel, (kind, title) in zip(panels[0], KINDS.items()):
        _stack(panel, results[0], kind)
        line(panel, results[0].curves[f"{kind}.ceiling"], COLOURS["ceiling"], "ceiling")
        for result, colour in zip(results, model_colours(results).values()):
            line(panel, result.curves[f"{kind}.model"], colour, result.model)
        panel.set(title=title, xlabel="facts of context", xlim=(1, results[0].curves[f"{kind}.model"].x[-1]))
        panel.set_ylim(0, 101)
        log_axis(panel, (1, 3, 10, 30, 100))
    panels[0][0].set_ylabel("share of queries (%)")
    legend_below(figure, panels, 5)
    return figure


def _stack(panel: Any, result: Result, kind: str) -> None:
    shares = [[100 * y for y in result.curves[f"{kind}.{name}"].y] for name in MECHANISMS]
    colours = [COLOURS[name] for name in MECHANISMS]
    x = result.curves[f"{kind}.model"].x
    panel.stackplot(x, shares, labels=MECHANISMS, colors=colours, linewidth=0, alpha=0.75)


FIGURES = (over_mechanisms,)
