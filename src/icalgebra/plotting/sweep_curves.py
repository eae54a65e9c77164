"""A sweep's courses: hold-out accuracy and training loss by step, one line a run."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.experiments.architecture.figures import shades_of
from icalgebra.plotting import axes, line
from icalgebra.sweep.table import RunCurves

LEGEND_COLUMNS = 4


def courses(runs: list[RunCurves]) -> Figure:
    rows_of_legend = -(-len(runs) // LEGEND_COLUMNS)
    figure, panels = axes(1, 2, (9.4, 3.6 + 0.2 * rows_of_legend))
    for run, colour in zip(runs, shades_of(list(range(len(runs)))).values()):  # mostly in the order of what is swept
        line(panels[0][0], run.holdout, colour, run.name, linewidth=1.4)
        panels[0][1].plot(*zip(*run.loss), color=colour, linewidth=1.2)
    panels[0][0].set(title="hold-out accuracy", xlabel="training step", ylabel="accuracy (%)", ylim=(0, 101))
    panels[0][1].set(title="training loss", xlabel="training step", ylabel="nats a token")
    figure.legend(loc="outside lower center", ncols=LEGEND_COLUMNS, fontsize=8)
    return figure
