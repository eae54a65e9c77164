"""Accuracy of small groups against the number of facts, one line per law of the evaluation."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, by_model, legend_below, line, named, published_line
from icalgebra.plotting.panels import titled
from icalgebra.results import Curve, Result

LAWS = {
    "holdout": ("shuffled, the reserved variable is never an identity", COLOURS["copy"]),
    "holdout_reserved_identity": ("shuffled, the reserved variable is the identity", COLOURS["cancel"]),
    "holdout_unshuffled": ("fixed assignment, as in the released code", COLOURS["associate"]),
}


def by_law(*results: Result) -> Figure:
    """Hold-out accuracy on C3 and C4 against the number of facts, under each kind of evaluation."""
    names = results[0].details["structures"]
    figure, panels = by_model(results, len(names), 2.5, sharey=True, sharex=True)
    for row, result in zip(panels, results):
        for panel, name in zip(row, names):
            for law in result.details["laws"]:
                label, colour = LAWS[law]
                facts = result.config["facts"]
                found = [result.values[f"{name}.{law}.k{k}"] for k in facts]
                line(panel, Curve.from_estimates(facts, found), colour, label)
            published_line(panel, "2a", name)
            titled(panel, named(results, result, name))
            panel.set(ylim=(70, 101))
        row[0].set_ylabel("hold-out accuracy (%)")
    for panel in panels[-1]:
        panel.set_xlabel("facts, the query included")
    legend_below(figure, panels, 2)
    return figure


FIGURES = (by_law,)
