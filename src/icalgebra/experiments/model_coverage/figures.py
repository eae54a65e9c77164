"""Figure 3a, 3b: the five mechanisms, stacked, with the curves of the model and the ceiling."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.experiments import claim
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.plotting import COLOURS, axes, legend_below, line
from icalgebra.results import Result

KINDS = {"train": "training sequences", "holdout": "hold-out sequences"}
CLAIMS = {"train": ("C1m.model", "C1.total_p7"), "holdout": ("C2m.model", "C2.total_p7")}


def over_mechanisms(result: Result) -> Figure:
    """What the mechanisms answer, what the model answers, and what the best possible predictor would."""
    figure, panels = axes(1, 2, (9.4, 4.2), sharey=True)
    for panel, (kind, title) in zip(panels[0], KINDS.items()):
        _stack(panel, result, kind)
        line(panel, result.curves[f"{kind}.ceiling"], COLOURS["ceiling"], "ceiling")
        line(panel, result.curves[f"{kind}.model"], COLOURS["published"], "model")
        panel.set(title=title, xscale="log", xlabel="facts of context", xlim=(1, 199), ylim=(0, 101))
        panel.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
        panel.minorticks_off()
        _note_aucs(panel, result, kind)
    panels[0][0].set_ylabel("share of queries (%)")
    legend_below(figure, panels, 7)
    return figure


def _stack(panel: Any, result: Result, kind: str) -> None:
    shares = [[100 * y for y in result.curves[f"{kind}.{name}"].y] for name in MECHANISMS]
    colours = [COLOURS[name] for name in MECHANISMS]
    x = result.curves[f"{kind}.model"].x
    panel.stackplot(x, shares, labels=MECHANISMS, colors=colours, linewidth=0, alpha=0.75)


def _note_aucs(panel: Any, result: Result, kind: str) -> None:
    """The areas under the curves, ours and the published ones."""
    model, mechanisms, ceiling = (
        f"{key} {100 * result.values[f'{kind}.{value}'].value:.1f}"
        for key, value in (("model", "auc"), ("mechanisms", "mechanisms"), ("ceiling", "ceiling"))
    )
    of_model, of_mechanisms = (claim(name).number for name in CLAIMS[kind])
    text = f"AUC (published)\n{model} ({of_model})\n{mechanisms} ({of_mechanisms})\n{ceiling}"
    box = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none"}
    panel.text(0.97, 0.05, text, transform=panel.transAxes, ha="right", fontsize=8, bbox=box)


FIGURES = (over_mechanisms,)
