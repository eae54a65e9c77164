"""A sweep's courses: hold-out accuracy and training loss by step, one line a run."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.figure import Figure

from icalgebra.figures import axes
from icalgebra.sweep.table import RunCurves

LEGEND_COLUMNS = 4


def courses(runs: list[RunCurves]) -> Figure:
    rows_of_legend = -(-len(runs) // LEGEND_COLUMNS)
    figure, panels = axes(1, 2, (9.4, 3.6 + 0.2 * rows_of_legend))
    for run, colour in zip(runs, _colours(len(runs))):
        _accuracy(panels[0][0], run, colour)
        panels[0][1].plot(*zip(*run.loss), color=colour, linewidth=1.2)
    panels[0][0].set(title="hold-out accuracy", xlabel="training step", ylabel="accuracy (%)", ylim=(0, 101))
    panels[0][1].set(title="training loss", xlabel="training step", ylabel="nats a token")
    figure.legend(loc="outside lower center", ncols=LEGEND_COLUMNS, fontsize=8)
    return figure


def _accuracy(panel: Any, run: RunCurves, colour: Any) -> None:
    y, low, high = ([100 * value for value in column] for column in (run.holdout.y, run.holdout.low, run.holdout.high))
    panel.plot(run.holdout.x, y, color=colour, linewidth=1.4, label=run.name)
    panel.fill_between(run.holdout.x, low, high, color=colour, alpha=0.12, linewidth=0)


def _colours(n: int) -> list[Any]:
    """Along one scale, since a sweep's runs are mostly in the order of what is swept."""
    scale = matplotlib.colormaps["viridis"]
    return [scale(0.92 * i / max(1, n - 1)) for i in range(n)]
