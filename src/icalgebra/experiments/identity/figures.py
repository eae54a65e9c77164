"""Figure 5: identity queries separated along one direction, the heads behind it, and steering."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, axes
from icalgebra.plotting.panels import head_map, titled
from icalgebra.results import Result

DOSES = {
    "dose.plain.query_variable": ("a query variable", COLOURS["identity"], "-"),
    "dose.random.query_variable": ("a query variable, random directions", "#9aa5b1", "-"),
    "dose.false_left.right_variable": ("false left identity: the right variable", COLOURS["commute"], "-"),
    "dose.false_right.left_variable": ("false right identity: the left variable", COLOURS["associate"], "-"),
    "dose.plain.correct": ("the true answer", COLOURS["copy"], "--"),
    "dose.false.correct": ("false identity: the true answer", COLOURS["cancel"], "--"),
}
BAR_NAMES = {"other operand (the answer)": "answer", "identity": "identity", "rest of the group": "group",
             "other variables": "others"}  # fmt: skip
BAR_COLOURS = (COLOURS["copy"], COLOURS["cancel"], "#9aa5b1", "#d5d8dd")


def scatter(result: Result) -> Figure:
    """The final attention output along two principal components; balanced accuracy of the first, by layer and group."""
    figure, panels = axes(1, 2, (9.0, 3.4), width_ratios=(1.7, 1.0))
    found = result.details["scatter"]
    points, identity = np.array(found["points"]), np.array(found["identity"])
    for chosen, name, colour in ((~identity, "no identity in the query", COLOURS["cancel"]),
                                 (identity, "identity in the query", COLOURS["associate"])):  # fmt: skip
        panels[0][0].scatter(
            points[chosen, 0], points[chosen, 1], s=9, color=colour, alpha=0.7, label=name, linewidth=0
        )
    panels[0][0].set_xlabel("first principal component")
    panels[0][0].set_ylabel("second")
    panels[0][0].legend(frameon=False)
    _layers(panels[0][1], result)
    return figure


def _layers(panel: Any, result: Result) -> None:
    names = [key for key in result.values if key.startswith(("pc1.layer.", "pc1.group."))]
    for place, key in enumerate(reversed(names)):
        estimate = result.values[key].scaled(100)
        error = [[estimate.value - estimate.low], [estimate.high - estimate.value]]
        panel.errorbar(estimate.value, place, xerr=error, fmt="o", color=COLOURS["associate"], markersize=3, capsize=2)
    panel.set_yticks(range(len(names)), [key.split(".", 1)[1].replace(".", " ") for key in reversed(names)], fontsize=7)
    panel.set_xlim(40, 102)
    panel.set_xlabel("balanced accuracy (%)")


def heads(result: Result) -> Figure:
    """Share of identity queries on which each head promotes both variables or demotes the identity; mean logits."""
    figure, panels = axes(1, 4, (9.0, 2.8), width_ratios=(1.5, 1.5, 0.8, 0.8))
    found = result.details["heads"]
    head_map(panels[0][0], found["promotion"], "top two are x and y", "YlOrBr")
    head_map(panels[0][1], found["demotion"], "lowest is the identity", "RdPu")
    for panel, (head, bars) in zip(panels[0][2:], found["bars"].items()):
        panel.bar(range(len(bars)), list(bars.values()), color=BAR_COLOURS)
        panel.set_xticks(range(len(bars)), [BAR_NAMES[name] for name in bars], rotation=45, ha="right", fontsize=7)
        panel.axhline(0, color="#333333", linewidth=0.6)
        titled(panel, f"head {head}")
    panels[0][2].set_ylabel("mean direct logit")
    return figure


def dose_response(result: Result) -> Figure:
    """Shares of predictions against the dose in cluster distances; the paper's raw dose is marked."""
    figure, panels = axes(1, 1, (9.0, 3.8))
    panel, distance, raw_dose = panels[0][0], result.details["distance"], result.config["raw_dose"]
    for key, (name, colour, style) in DOSES.items():
        if key not in result.curves:  # earlier results have random directions at two doses only
            continue
        curve = result.curves[key]
        x = [dose / distance for dose in curve.x]
        panel.plot(x, [100 * y for y in curve.y], style, color=colour, label=name, marker="o", markersize=2.5)
        panel.fill_between(x, [100 * y for y in curve.low], [100 * y for y in curve.high], color=colour, alpha=0.12)
    for dose in (-raw_dose, raw_dose):
        panel.axvline(dose / distance, color="#888888", linewidth=0.8, linestyle=":")
    panel.set_xlabel(f"dose of v1 in cluster distances (one is {distance:.1f} raw units; dotted: ±{raw_dose:g} raw)")
    panel.set_ylabel("share of predictions (%)")
    panel.set_ylim(-2, 102)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=3)
    return figure


def steered(result: Result) -> Figure:
    """Mean logits in the four settings of Figure 5c: without steering, and at a dose of one cluster distance."""
    found = result.details["steered"]
    figure, panels = axes(1, len(found), (9.0, 2.4), sharey=True)
    for panel, (name, bars) in zip(panels[0], found.items()):
        panel.bar(["left", "right", "true"], list(bars.values()), color=("#e8b93e", "#d9822b", COLOURS["copy"]))
        panel.axhline(0, color="#333333", linewidth=0.6)
        titled(panel, name)
    panels[0][0].set_ylabel("mean logit, centred")
    return figure


FIGURES = (scatter, heads, steered, dose_response)
