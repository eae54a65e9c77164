"""Figure 5: identity queries separated along one direction, the heads behind it, and steering."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, WIDE, axes, by_model, by_order, legend_below, named
from icalgebra.plotting.panels import head_map, titled
from icalgebra.results import Result

RANDOM = "dose.random.query_variable"
DOSES = {  # a row of panels each
    "natural context": {
        "dose.plain.query_variable": ("a query variable", COLOURS["identity"], "-"),
        RANDOM: ("a query variable, random directions", "#7d8894", "-"),
        "dose.plain.correct": ("the true answer", "#222222", "--"),
    },
    "with a false identity fact": {
        "dose.false_left.right_variable": ("false left identity: the right variable", COLOURS["cancel"], "-"),
        "dose.false_right.left_variable": ("false right identity: the left variable", COLOURS["associate"], "-"),
        "dose.false.correct": ("the true answer", "#222222", "--"),
    },
}
BAR_NAMES = {"other operand (the answer)": "answer", "identity": "identity", "rest of the group": "group",
             "other variables": "others"}  # fmt: skip
BAR_COLOURS = (COLOURS["copy"], COLOURS["cancel"], "#9aa5b1", "#d5d8dd")


def scatter(*results: Result) -> Figure:
    """The final attention output along two principal components; balanced accuracy of the first, by layer and group."""
    figure, panels = by_model(results, 2, 3.2, width_ratios=(1.6, 1.0))
    for (points, layers), result in zip(panels, results):
        _clusters(points, result)
        titled(points, named(results, result, "final attention output"))
        points.set_xlabel("first principal component")
        _layers(layers, result)
        layers.set_xlabel("balanced accuracy (%)")
    legend_below(figure, panels, 2)
    return figure


def _clusters(panel: Any, result: Result) -> None:
    found = result.details["scatter"]
    points, identity = np.array(found["points"]), np.array(found["identity"])
    for chosen, name, colour in ((~identity, "no identity in the query", COLOURS["cancel"]),
                                 (identity, "identity in the query", COLOURS["associate"])):  # fmt: skip
        panel.scatter(points[chosen, 0], points[chosen, 1], s=9, color=colour, alpha=0.7, label=name, linewidth=0)
    panel.set_ylabel("second principal component")


def _layers(panel: Any, result: Result) -> None:
    """Layers first, then groups by their order, downwards."""
    found = [key for key in result.values if key.startswith(("pc1.layer.", "pc1.group."))]
    names = [key for kind in ("pc1.layer.", "pc1.group.") for key in by_order(k for k in found if k.startswith(kind))]
    for place, key in enumerate(reversed(names)):
        estimate = result.values[key].scaled(100)
        error = [[estimate.value - estimate.low], [estimate.high - estimate.value]]
        panel.errorbar(estimate.value, place, xerr=error, fmt="o", color=COLOURS["associate"], markersize=3, capsize=2)
    panel.set_yticks(
        range(len(names)), [key.split(".", 1)[1].replace(".", " ") for key in reversed(names)], fontsize=6.5
    )
    panel.set_xlim(40, 102)


def heads(*results: Result) -> Figure:
    """Share of identity queries on which each head promotes both variables or demotes the identity; mean logits."""
    figure, panels = by_model(results, 4, 2.2, WIDE, width_ratios=(1.6, 1.6, 0.7, 0.7))
    for row, result in zip(panels, results):
        found = result.details["heads"]
        head_map(row[0], found["promotion"], named(results, result, "both query variables on top"), "YlOrBr")
        head_map(row[1], found["demotion"], named(results, result, "identity lowest"), "RdPu")
        for panel, role, (head, bars) in zip(row[2:], ("promoter", "demoter"), found["bars"].items()):
            panel.bar(range(len(bars)), list(bars.values()), color=BAR_COLOURS)
            panel.set_xticks(range(len(bars)), [BAR_NAMES[name] for name in bars], rotation=60, ha="right", fontsize=7)
            panel.axhline(0, color="#333333", linewidth=0.6)
            panel.set_xlabel("variable")
            titled(panel, f"{role} {head}")
        row[2].set_ylabel("mean direct logit", fontsize=8)
    return figure


def dose_response(*results: Result) -> Figure:
    """Shares of predictions against the dose in cluster distances; the paper's raw dose is marked. Columns: models."""
    figure, panels = axes(len(DOSES), len(results), (WIDE, 5.2), sharex="col", sharey=True)
    for row, (title, curves) in zip(panels, DOSES.items()):
        for panel, result in zip(row, results):
            _doses(panel, result, curves)
            titled(panel, named(results, result, title))
            panel.set(ylim=(-2, 102))
        row[0].set_ylabel("share of predictions (%)")
    for panel in panels[-1]:
        panel.set_xlabel("coefficient of v1, in cluster distances")
    legend_below(figure, panels, 3)
    return figure


def _doses(panel: Any, result: Result, curves: dict[str, tuple[str, str, str]]) -> None:
    distance, raw_dose = result.details["distance"], result.config["raw_dose"]
    for key, (name, colour, style) in curves.items():
        if key not in result.curves:  # earlier results have random directions at two doses only
            if key == RANDOM:
                _two_doses(panel, result, colour)
            continue
        curve = result.curves[key]
        x = [dose / distance for dose in curve.x]
        panel.plot(x, [100 * y for y in curve.y], style, color=colour, label=name, marker="o", markersize=2.5)
        panel.fill_between(x, [100 * y for y in curve.low], [100 * y for y in curve.high], color=colour, alpha=0.12)
    for dose in (-raw_dose, raw_dose):
        panel.axvline(dose / distance, color="#888888", linewidth=0.8, linestyle=":")


def _two_doses(panel: Any, result: Result, colour: str) -> None:
    """Random directions at the paper's dose and at one cluster distance."""
    found = {key: result.values.get(f"{key}.random.query_variable") for key in ("steer", "steer_distance")}
    places = {"steer": result.config["raw_dose"] / result.details["distance"], "steer_distance": 1.0}
    for key, estimate in found.items():
        if estimate is not None:
            panel.plot([places[key]], [100 * estimate.value], "x", color=colour, markersize=5)


def steered(*results: Result) -> Figure:
    """Mean logits in the four settings of Figure 5c: without steering, and at a dose of one cluster distance."""
    figure, panels = by_model(results, len(results[0].details["steered"]), 1.9, sharey="row")
    for row, result in zip(panels, results):
        for panel, (name, bars) in zip(row, result.details["steered"].items()):
            panel.bar(["left", "right", "true"], list(bars.values()), color=("#e8b93e", "#d9822b", COLOURS["copy"]))
            panel.axhline(0, color="#333333", linewidth=0.6)
            titled(panel, named(results, result, name))
            panel.title.set_fontsize(7.5)
        row[0].set_ylabel("mean logit, centred")
    return figure


FIGURES = (scatter, heads, steered, dose_response)
