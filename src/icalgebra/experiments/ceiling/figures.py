"""The ceiling beside the mechanisms on the training mixture, and for each structure alone."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.claims import published
from icalgebra.experiments import claim
from icalgebra.language.world import PAPER_STRUCTURES
from icalgebra.plotting import COLOURS, axes, line
from icalgebra.results import Result

PANELS = {
    "p7.holdout": "hold-out, p_mix .7, no D2",
    "p5_d2.holdout": "hold-out, p_mix .5, with D2",
    "p7.train": "training, p_mix .7, no D2",
}


def beside_solvers(result: Result) -> Figure:
    """The best possible accuracy, the share of certain answers, and what the five mechanisms answer."""
    figure, panels = axes(1, 3, (9.4, 3.6), sharey=True)
    for panel, (prefix, title) in zip(panels[0], PANELS.items()):
        line(panel, result.curves[f"{prefix}.ceiling"], COLOURS["ceiling"], "ceiling (exact posterior)")
        line(panel, result.curves[f"{prefix}.entailed"], "#7fbfc4", "entailed: one answer is certain")
        line(panel, result.curves[f"{prefix}.solvers"], COLOURS["total"], "the five mechanisms together")
        auc = 100 * result.values[f"{prefix}.ceiling"].value
        model_claim = "C1m.model" if prefix.endswith("train") else "C2m.model"
        solvers = 100 * result.values[f"{prefix}.solvers"].value
        text = f"AUC: ceiling {auc:.1f}\nmechanisms {solvers:.1f}\npublished model {claim(model_claim).number}"
        panel.text(0.97, 0.05, text, transform=panel.transAxes, ha="right", fontsize=8)
        panel.set(title=title, xscale="log", xlabel="facts of context", ylim=(0, 101))
        panel.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
        panel.minorticks_off()
    panels[0][0].set_ylabel("accuracy (%)")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def by_structure(result: Result) -> Figure:
    """Each training structure alone: the ceiling with the training world as prior, and the published model."""
    figure, panels = axes(3, 4, (9.4, 6.4), sharex=True, sharey=True)
    for panel, name in zip(panels.flat, PAPER_STRUCTURES):
        line(panel, result.curves[f"structure.{name}"], COLOURS["ceiling"], "ceiling")
        points = published()["figures"]["2a"].get(name)
        if points:
            x, y = zip(*points)
            panel.plot([k - 1 for k in x], [100 * value for value in y], color=COLOURS["published"], linewidth=1)
        panel.set(title=name, xlim=(0, 200), ylim=(0, 101))
    last = panels.flat[-1]
    last.axis("off")
    last.plot([], [], color=COLOURS["ceiling"], label="ceiling")
    last.plot([], [], color=COLOURS["published"], linewidth=1, label="published model")
    last.legend(loc="center")
    for panel in panels[-1]:
        panel.set_xlabel("facts of context")
    for panel in panels[:, 0]:
        panel.set_ylabel("accuracy (%)")
    return figure


FIGURES = (beside_solvers, by_structure)
