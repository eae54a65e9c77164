"""Curves of many training runs: loss and hold-out accuracy by step, one line per run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure

from icalgebra.plotting import axes, line
from icalgebra.results import Curve

if TYPE_CHECKING:
    from icalgebra.sweep.table import RunCurves  # imports torch, which figures must not

LEGEND_COLUMNS = 4
LIGHTEST = 0.92  # of the colour map: its last yellow is too pale on white


def through_training(runs: list[RunCurves]) -> Figure:
    """All runs of a sweep in one figure, whatever it varies."""
    rows_of_legend = -(-len(runs) // LEGEND_COLUMNS)
    figure, panels = axes(1, 2, (9.4, 3.6 + 0.2 * rows_of_legend))
    for run, colour in zip(
        runs, shades_of(list(range(len(runs)))).values()
    ):  # usually in the order of the swept values
        draw_run((panels[0][1], panels[0][0]), run.loss, run.holdout, colour, run.name)
    panels[0][0].set(title="hold-out accuracy", xlabel="training step", ylabel="accuracy (%)", ylim=(0, 101))
    panels[0][1].set(title="training loss", xlabel="training step", ylabel="nats per token")
    figure.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=LEGEND_COLUMNS, fontsize=8
    )
    return figure


def draw_run(panels: Any, loss: list[list[float]], holdout: Curve, colour: Any, label: str, dashes: Any = "-") -> None:
    """One run's training loss in the first panel, its hold-out accuracy in the second."""
    panels[0].plot(*zip(*loss), color=colour, linestyle=dashes, linewidth=1.2, label=label)
    line(panels[1], holdout, colour, label, linestyle=dashes, linewidth=1.3)


def legend_without_repeats(panel: Any) -> None:
    """Below the panel, away from the curves; every label once: seeds of one setting have the same label."""
    found = dict(zip(*reversed(panel.get_legend_handles_labels())))
    if found:
        panel.legend(
            list(found.values()), list(found), fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=3
        )


def shades_of(values: list[Any]) -> dict[Any, Any]:
    """A colour for each value, from dark to light."""
    scale = matplotlib.colormaps["viridis"]
    return {value: scale(LIGHTEST * i / max(1, len(values) - 1)) for i, value in enumerate(values)}
