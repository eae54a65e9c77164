"""Figure 2c, the appendix on order 8 and "quasigroup cancel": structures the model never saw."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.experiments.unseen_structures.reading import CLASSES
from icalgebra.plotting import COLOURS, axes, legend_below, line, published_line
from icalgebra.plotting.panels import finish_grid
from icalgebra.results import Result

ORDER_8 = ("C8", "D4", "C4xC2", "Q8", "C2xC2xC2", *CLASSES)
SEEN = ("C8", "D4")
WIDER = "#7fbfc4"
COPYING = "#d99ac0"
POINTS = (
    ("wider.holdout", "D", WIDER, "ceiling, world with it"),
    ("ceiling.holdout", "D", COLOURS["ceiling"], "ceiling, training world"),
    ("solvers.holdout", "s", COLOURS["total"], "the five mechanisms"),
    ("model.train", "o", COPYING, "model, copying allowed"),
    ("model.holdout", "o", COLOURS["model"], "model, held out"),
)
READINGS = {
    "cancel": "hold-out sequences that leave one candidate",
    "cancel_pure": "only the needed facts, repeated up to k",
}


def order_8(result: Result) -> Figure:
    """All five groups of order 8 and three classes of tables, held out and with copying allowed."""
    names = [name for name in ORDER_8 if f"model.holdout.{name}" in result.curves]
    figure, panels = axes(2, 4, (9.4, 5.0), sharex=True, sharey=True)
    for panel, name in zip(panels.flat, names):
        if f"wider.holdout.{name}" in result.curves:
            line(panel, result.curves[f"wider.holdout.{name}"], WIDER, "ceiling, world with it")
        line(
            panel, result.curves[f"ceiling.holdout.{name}"], COLOURS["ceiling"], "ceiling, training world", linewidth=1
        )
        line(panel, result.curves[f"solvers.holdout.{name}"], COLOURS["total"], "the five mechanisms", linewidth=1)
        line(panel, result.curves[f"model.train.{name}"], COPYING, "model, copying allowed", linewidth=1)
        line(panel, result.curves[f"model.holdout.{name}"], COLOURS["model"], "model, held out")
        published_line(panel, "2c", name, "published model, held out")
        panel.set(title=_title(name), xlim=(0, 200), ylim=(0, 102))
    finish_grid(figure, panels, len(names), 3)
    return figure


def _title(name: str) -> str:
    if name in CLASSES:
        return f"{name}s"
    return f"{name} (trained)" if name in SEEN else name


def all_structures(result: Result) -> Figure:
    """Every structure at the largest number of facts: model, mechanisms and both ceilings as points."""
    names = [key.removeprefix("model.holdout.") for key in result.curves if key.startswith("model.holdout.")]
    figure, panels = axes(1, 1, (9.4, 0.26 * len(names) + 1.6))
    panel = panels[0][0]
    for place, name in enumerate(names):
        for shift, (prefix, marker, colour, label) in enumerate(POINTS):
            _point(panel, result, f"{prefix}.{name}", 0.3 - 0.15 * shift - place, marker, colour, label)
    panel.set_yticks([-place for place in range(len(names))], [_title(name) for name in names])
    panel.set(xlabel=f"accuracy at {result.curves[f'model.holdout.{names[0]}'].x[-1]} facts (%)", xlim=(-2, 102))
    legend_below(figure, panels, 3)
    return figure


def _point(panel: Any, result: Result, key: str, place: float, marker: str, colour: str, label: str) -> None:
    if key not in result.curves:
        return
    curve = result.curves[key]
    value, low, high = (100 * bound[-1] for bound in (curve.y, curve.low, curve.high))
    error = [[max(0.0, value - low)], [max(0.0, high - value)]]
    panel.errorbar(value, place, xerr=error, fmt=marker, color=colour, markersize=4, label=label, elinewidth=1)


def cancellation(result: Result) -> Figure:
    """Sequences that cancellation decides: quasigroups beside trained groups of the same order."""
    figure, panels = axes(1, 2, (9.4, 3.2), sharey=True)
    for panel, (reading, title) in zip(panels[0], READINGS.items()):
        _cancelling(panel, result, f"{reading}.quasigroup", "quasigroups", COLOURS["model"])
        _cancelling(panel, result, f"{reading}.groups", "C8 and D4", COLOURS["associate"])
        panel.set(title=title, xlabel="facts, the query included", ylim=(0, 103), xlim=(0, 205))
    panels[0][0].set_ylabel("accuracy (%)")
    legend_below(figure, panels)
    return figure


def _cancelling(panel: Any, result: Result, prefix: str, label: str, colour: str) -> None:
    keys = [key for key in result.values if key.startswith(f"{prefix}.k")]
    found = [result.values[key].scaled(100) for key in keys]
    error = [[e.value - e.low for e in found], [e.high - e.value for e in found]]
    facts = [int(key.rpartition("k")[2]) for key in keys]
    panel.errorbar(facts, [e.value for e in found], yerr=error, color=colour, marker="o", capsize=2, label=label)


FIGURES = (order_8, all_structures, cancellation)
