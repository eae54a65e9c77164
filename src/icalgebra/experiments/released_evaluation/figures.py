"""Accuracy of small groups against the number of facts, one line per law of the evaluation."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, axes, legend_below, line, published_line
from icalgebra.plotting.panels import titled
from icalgebra.results import Curve, Result

LAWS = {
    "holdout": ("shuffled, the reserved variable is never an identity", COLOURS["model"]),
    "holdout_reserved_identity": ("shuffled, the reserved variable is the identity", COLOURS["cancel"]),
    "holdout_unshuffled": ("fixed assignment, as in the released code", COLOURS["associate"]),
}


def by_law(result: Result) -> Figure:
    """Hold-out accuracy on C3 and C4 against the number of facts, under each law."""
    names, facts = result.details["structures"], result.config["facts"]
    figure, panels = axes(1, len(names), (4.6 * len(names), 3.0), sharey=True)
    for panel, name in zip(panels[0], names):
        for law in result.details["laws"]:
            label, colour = LAWS[law]
            found = [result.values[f"{name}.{law}.k{k}"] for k in facts]
            line(panel, Curve.from_estimates(facts, found), colour, label)
        published_line(panel, "2a", name)
        titled(panel, name)
        panel.set(xlabel="facts", ylim=(70, 101))
    panels[0][0].set_ylabel("hold-out accuracy (%)")
    legend_below(figure, panels, 2)
    return figure


FIGURES = (by_law,)
