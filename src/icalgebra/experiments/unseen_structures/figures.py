"""Figure 2c, the appendix on order 8 and "quasigroup cancel": structures the model never saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any

from matplotlib.figure import Figure

from icalgebra.algebra.structures import structure
from icalgebra.experiments.unseen_structures.reading import CLASSES
from icalgebra.plotting import (
    COLOURS,
    MARKERS,
    WIDE,
    WIDTH,
    axes,
    by_order,
    legend_below,
    line,
    model_colours,
    published_line,
)
from icalgebra.plotting.panels import finish_grid
from icalgebra.results import Result

ORDER_8 = ("C8", "D4", "C4xC2", "Q8", "C2xC2xC2", *CLASSES)
SEEN = ("C8", "D4")
WIDER = "#7a5195"  # of no model, and far from the other ceiling's
WITH_IT, WITHOUT_IT, FIVE = "ceiling, world with it", "ceiling, training world", "the five mechanisms"
READINGS = {"cancel": "natural hold-out sequences", "cancel_pure": "only the needed facts, repeated"}


def order_8(*results: Result) -> Figure:
    """All five groups of order 8 and three classes of tables, held out: models, mechanisms and both ceilings."""
    first, colours = results[0], model_colours(results)
    names = [name for name in ORDER_8 if f"model.holdout.{name}" in first.curves]
    figure, panels = axes(2, 4, (WIDE, 4.8), sharex=True, sharey=True)
    for panel, name in zip(panels.flat, names):
        if f"wider.holdout.{name}" in first.curves:
            line(panel, first.curves[f"wider.holdout.{name}"], WIDER, WITH_IT)
        line(
            panel,
            first.curves[f"ceiling.holdout.{name}"],
            COLOURS["ceiling"],
            WITHOUT_IT,
            linewidth=1.2,
            linestyle=":",
        )
        line(panel, first.curves[f"solvers.holdout.{name}"], COLOURS["total"], FIVE, linewidth=1)
        for result in results:
            line(panel, result.curves[f"model.holdout.{name}"], colours[result.model], result.model, linewidth=1.3)
        if name != "semigroup":  # the authors' table of that name is Q8, and its curve that of Q8
            published_line(panel, "2c", name)
        panel.set(title=_title(name), xlim=(0, 200), ylim=(0, 102))
    finish_grid(figure, panels, len(names), 3)
    return figure


def _title(name: str) -> str:
    if name in CLASSES:
        return f"{name}s"
    return f"{name} (trained)" if name in SEEN else name.replace("x", "×")


def all_structures(*results: Result) -> Figure:
    """Every structure at the largest number of facts, by order: models and mechanisms as points."""
    found = results[0].curves
    names = by_size(key.removeprefix("model.holdout.") for key in found if key.startswith("model.holdout."))
    half = -(-len(names) // 2)
    figure, panels = axes(1, 2, (WIDE, 0.4 * half + 1.2))
    for panel, part in zip(panels[0], (names[:half], names[half:])):
        _points(panel, results, part)
        panel.set(xlabel=f"accuracy at {found[f'model.holdout.{names[0]}'].x[-1]} facts (%)")
        panel.set_xlim(right=102)  # each panel from its lowest value: the left one has none near zero
    legend_below(figure, panels, 3)
    return figure


def by_size(names: Iterable[str]) -> list[str]:
    """Groups by order, then by name with C3 before C10; the classes of random tables last."""
    ordered = by_order(names)
    groups = sorted((name for name in ordered if name not in CLASSES), key=lambda name: structure(name).order)
    return groups + [name for name in ordered if name in CLASSES]


def _points(panel: Any, results: Sequence[Result], names: list[str]) -> None:
    marks = [
        (result, "model.holdout", marker, colour, result.model)
        for result, (marker, colour) in zip(results, zip(cycle(MARKERS), model_colours(results).values()))
    ]
    marks.append((results[0], "solvers.holdout", "x", COLOURS["total"], FIVE))
    for place, name in enumerate(names):
        for shift, (result, prefix, marker, colour, label) in enumerate(marks):
            height = 0.35 - 0.7 * shift / (len(marks) - 1) - place
            _point(panel, result, f"{prefix}.{name}", height, marker, colour, label)
    panel.set_yticks([-place for place in range(len(names))], [_title(name) for name in names], fontsize=8)
    for place in range(len(names) - 1):
        panel.axhline(-place - 0.5, color="#e6e6e6", linewidth=0.7)
    panel.grid(False, axis="y")
    panel.set_ylim(0.4 - len(names), 0.6)


def _point(panel: Any, result: Result, key: str, place: float, marker: str, colour: str, label: str) -> None:
    if key not in result.curves:
        return
    curve = result.curves[key]
    value, low, high = (100 * bound[-1] for bound in (curve.y, curve.low, curve.high))
    error = [[max(0.0, value - low)], [max(0.0, high - value)]]
    panel.errorbar(value, place, xerr=error, fmt=marker, color=colour, markersize=3.5, label=label, elinewidth=0.9)


def cancellation(*results: Result) -> Figure:
    """Sequences that cancellation decides: quasigroups (solid) beside trained groups of the same order (dashed)."""
    figure, panels = axes(1, 2, (WIDTH, 3.0), sharey=True)
    for panel, (reading, title) in zip(panels[0], READINGS.items()):
        for result, colour in zip(results, model_colours(results).values()):
            _cancelling(panel, result, f"{reading}.quasigroup", f"{result.model}, quasigroups", colour, "-")
            _cancelling(panel, result, f"{reading}.groups", f"{result.model}, C8 and D4", colour, "--")
        panel.set(title=title, xlabel="facts, the query included", ylim=(0, 103), xlim=(0, 205))
    panels[0][0].set_ylabel("accuracy (%)")
    legend_below(figure, panels)
    return figure


def _cancelling(panel: Any, result: Result, prefix: str, label: str, colour: str, style: str) -> None:
    keys = [key for key in result.values if key.startswith(f"{prefix}.k")]
    found = [result.values[key].scaled(100) for key in keys]
    error = [[e.value - e.low for e in found], [e.high - e.value for e in found]]
    facts = [int(key.rpartition("k")[2]) for key in keys]
    panel.errorbar(facts, [e.value for e in found], yerr=error, color=colour, marker="o", markersize=3.5, capsize=2,
                   linestyle=style, label=label)  # fmt: skip


FIGURES = (order_8, all_structures, cancellation)
