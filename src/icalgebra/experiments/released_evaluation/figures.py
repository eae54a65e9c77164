"""Accuracy of small groups against the number of facts, one line per law of the evaluation."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.experiments.released_evaluation.reading import KEPT, NAMES, RELEASED, RESERVED
from icalgebra.plotting import COLOURS, by_model, legend_below, line, named, published_line
from icalgebra.plotting.panels import titled
from icalgebra.results import Curve, Result

COLOUR = {KEPT: COLOURS["copy"], RESERVED: COLOURS["cancel"], RELEASED: COLOURS["associate"]}


def by_law(*results: Result) -> Figure:
    """Hold-out accuracy on C3 and C4 against the number of facts, under each kind of evaluation."""
    names = results[0].details["structures"]
    figure, panels = by_model(results, len(names), 2.5, sharey=True, sharex=True)
    for row, result in zip(panels, results):
        for panel, name in zip(row, names):
            for law in result.details["laws"]:
                facts = result.config["facts"]
                found = [result.values[f"{name}.{law}.k{k}"] for k in facts]
                line(panel, Curve.from_estimates(facts, found), COLOUR[law], NAMES[law])
            published_line(panel, "2a", name)
            titled(panel, named(results, result, name))
            panel.set(ylim=(70, 101))
        row[0].set_ylabel("hold-out accuracy (%)")
    for panel in panels[-1]:
        panel.set_xlabel("facts, the query included")
    legend_below(figure, panels, 2)
    return figure


FIGURES = (by_law,)
