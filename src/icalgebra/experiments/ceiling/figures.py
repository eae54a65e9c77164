"""The ceiling beside the mechanisms on the training mixture."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.experiments import claim
from icalgebra.experiments.ceiling.reading import LINES, PANELS
from icalgebra.plotting import COLOURS, WIDTH, axes, legend_below, line, log_axis
from icalgebra.results import Result

SHADES = {"ceiling": COLOURS["ceiling"], "entailed": "#7fbfc4", "solvers": COLOURS["total"]}


def beside_solvers(result: Result) -> Figure:
    """The best possible accuracy, the share of certain answers, and what the five mechanisms answer."""
    figure, panels = axes(1, 3, (WIDTH, 3.2), sharey=True)
    for panel, (prefix, title) in zip(panels[0], PANELS.items()):
        for name, label in LINES.items():
            line(panel, result.curves[f"{prefix}.{name}"], SHADES[name], label)
        auc = 100 * result.values[f"{prefix}.ceiling"].value
        model_claim = "C1m.model" if prefix.endswith("train") else "C2m.model"
        solvers = 100 * result.values[f"{prefix}.solvers"].value
        text = f"AUC\nceiling {auc:.1f}\nmechanisms {solvers:.1f}\nthe paper's model {claim(model_claim).number}"
        panel.text(0.98, 0.04, text, transform=panel.transAxes, ha="right", fontsize=7.5)
        panel.set(title=title, xlabel="facts of context", ylim=(0, 101))
        panel.title.set_fontsize(8.5)
        log_axis(panel, (1, 3, 10, 30, 100))
    panels[0][0].set_ylabel("accuracy (%)")
    legend_below(figure, panels, 3)
    return figure


FIGURES = (beside_solvers,)
