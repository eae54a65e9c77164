"""The paper's Figure 15: logits at the left slot for two left variables; closure by number of facts and by step."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icalgebra.language.vocabulary import LETTERS
from icalgebra.plotting import COLOURS, by_model, legend_below, line, log_axis, named, power_label
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
    "training.accuracy": ("the answer", COLOURS["copy"], "-"),
}


def two_queries(*results: Result) -> Figure:
    """Bars: the logit of every variable after the left one; coloured where facts link it. A row per model."""
    figure, drawn = by_model(results, 2, 2.1, sharey="row")
    for row, result in zip(drawn, results):
        panels = result.details["example"]["panels"]
        for panel in row[len(panels) :]:
            panel.axis("off")
        for panel, colour, found in zip(row, PANEL_COLOURS, panels):
            letters = list(LETTERS[: len(found["logits"])])
            chosen = [letter in found["members"] for letter in letters]
            panel.bar(letters, found["logits"], color=[colour if inside else "#c9ccd2" for inside in chosen])
            panel.axhline(0, color="#333333", linewidth=0.6)
            titled(panel, named(results, result, f"after '{found['left']}': linked are {', '.join(found['members'])}"))
            panel.title.set_fontsize(8)
        row[0].set_ylabel("logit at the left slot")
    return figure


def measured(*results: Result) -> Figure:
    """By number of preceding facts: exact sets, uniformity, excess loss; through training where checkpoints exist."""
    trained = any("training.mass" in result.curves for result in results)
    figure, panels = by_model(results, 4 if trained else 3, 2.6)
    for row, result in zip(panels, results):
        _by_facts(row[:3], result)
        row[0].set_title(named(results, result, "at the left slot"), fontsize=8.5)
        if "training.mass" in result.curves:
            _curves(row[3], result, TRAINING)
            titled(row[3], "'=' in training")
            row[3].set(xlabel="training step", ylabel="share (%)", ylim=(-2, 102))
            log_axis(row[3])
        for panel in row[3:] if "training.mass" not in result.curves else ():
            panel.axis("off")
    legend_below(figure, panels, 2)
    return figure


def _by_facts(panels: Any, result: Result) -> None:
    hits, even, lost = panels
    _curves(hits, result, BY_FACTS)
    hits.set(ylim=(-2, 102), ylabel="share of sequences (%)")
    curve = result.curves["uniformity"]
    line(even, curve, COLOURS["total"])
    even.set_title("entropy / log K", fontsize=8.5)
    even.set(ylim=(100 * min(curve.y) - 5, 100.5), ylabel="of the members seen (%)")
    excess = result.curves["excess"]
    lost.plot(excess.x, excess.y, color=COLOURS["total"], linewidth=1.6)
    lost.fill_between(excess.x, excess.low, excess.high, color=COLOURS["total"], alpha=0.15, linewidth=0)
    lost.set_title("excess loss", fontsize=8.5)
    lost.set(yscale="log", ylabel="nats")
    lost.yaxis.set_major_formatter(lambda value, _: power_label(value))
    lost.yaxis.set_minor_formatter(NullFormatter())
    for panel in panels:
        panel.set_xlabel("preceding facts")


def _curves(panel: Any, result: Result, wanted: dict[str, tuple[str, str, str]]) -> None:
    for key, (name, colour, style) in wanted.items():
        line(panel, result.curves[key], colour, name, linestyle=style)


FIGURES = (two_queries, measured)
