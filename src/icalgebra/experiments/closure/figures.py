"""The paper's Figure 15: logits at the left slot for two left variables; closure by number of facts and by step."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.language.vocabulary import LETTERS
from icalgebra.plotting import COLOURS, axes, line
from icalgebra.plotting.panels import titled
from icalgebra.results import Result

PANEL_COLOURS = (COLOURS["cancel"], COLOURS["associate"])
BY_FACTS = {
    "top1": ("highest logit: a member seen", COLOURS["copy"], "-"),
    "topk.seen": ("K highest: the members seen", COLOURS["cancel"], "-"),
    "topk.linked": ("K highest: those linked by facts", COLOURS["associate"], "-"),
    "topk.with_it": ("K highest: those in a fact with it", COLOURS["identity"], "-"),
    "chance.top1": ("highest logit, by chance", "#999999", ":"),
}
TRAINING = {
    "training.mass": ("probability inside the group", COLOURS["associate"], "-"),
    "training.topk": ("K highest: the members seen", COLOURS["cancel"], "-"),
    "training.uniformity": ("entropy in the group / log K", COLOURS["identity"], "-"),
    "training.accuracy": ("the answer", COLOURS["model"], "-"),
}


def two_queries(result: Result) -> Figure:
    """Bars: the logit of every variable after the left one; those that facts link to it are coloured."""
    panels = result.details["example"]["panels"]
    figure, drawn = axes(1, 2, (9.0, 2.5), sharey=True)
    for panel in drawn[0][len(panels) :]:
        panel.axis("off")
    for panel, colour, found in zip(drawn[0], PANEL_COLOURS, panels):
        letters = list(LETTERS[: len(found["logits"])])
        chosen = [letter in found["members"] for letter in letters]
        panel.bar(letters, found["logits"], color=[colour if inside else "#c9ccd2" for inside in chosen])
        panel.axhline(0, color="#333333", linewidth=0.6)
        titled(panel, f"after '{found['left']}': linked to it are {', '.join(found['members'])}")
    drawn[0][0].set_ylabel("logit at the left slot")
    return figure


def measured(result: Result) -> Figure:
    """By number of preceding facts: exact sets, uniformity, excess loss; through training where checkpoints exist."""
    trained = "training.mass" in result.curves
    figure, panels = axes(2, 2, (9.0, 7.0)) if trained else axes(1, 3, (9.6, 3.6))
    hits, even, lost = panels.flat[:3]
    _curves(hits, result, BY_FACTS)
    titled(hits, "at the left slot")
    hits.set(ylim=(-2, 102), ylabel="share of sequences (%)")
    curve = result.curves["uniformity"]
    line(even, curve, COLOURS["model"])
    titled(even, "entropy / log K")
    even.set(ylim=(100 * min(curve.y) - 5, 100.5), ylabel="among the members seen (%)")
    excess = result.curves["excess"]
    lost.plot(excess.x, excess.y, color=COLOURS["total"], linewidth=1.6)
    lost.fill_between(excess.x, excess.low, excess.high, color=COLOURS["total"], alpha=0.15, linewidth=0)
    titled(lost, "excess loss")
    lost.set(yscale="log", ylabel="nats")
    for panel in (hits, even, lost):
        panel.set_xlabel("preceding facts")
    if trained:
        _curves(panels.flat[3], result, TRAINING)
        titled(panels.flat[3], "at the '=' through training")
        panels.flat[3].set(xscale="log", xlabel="training step", ylabel="%", ylim=(-2, 102))
        panels.flat[3].legend(loc="best", fontsize=7.5, frameon=False)
    figure.legend(*hits.get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=3)
    return figure


def _curves(panel: Any, result: Result, wanted: dict[str, tuple[str, str, str]]) -> None:
    for key, (name, colour, style) in wanted.items():
        line(panel, result.curves[key], colour, name, linestyle=style)


FIGURES = (two_queries, measured)
