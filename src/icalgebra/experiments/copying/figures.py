"""Figures 4, 13 and 14: indirect effects of heads, what the copying head attends to and promotes, what heads decode."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.experiments.cancellation.figures import logit_bars
from icalgebra.plotting import WIDE, WIDTH, axes, by_model, legend_below, named
from icalgebra.plotting.panels import attention_strip, facts_in, head_map, titled
from icalgebra.results import Result

EFFECTS = {"copy": "copy", "commute": "commute", "flipped": "query reversed"}
VARIANTS = {  # the four of the paper's Figure 4
    "exact": "the exact fact is there",
    "commutative": "only the commutative fact is there",
    "neither": "neither is there",
    "corrupted": "the exact fact and a wrong duplicate",
}
DECODED = {
    "cyclic.copy": "cyclic, copy: answer",
    "cyclic.commute": "cyclic, commute: answer",
    "cyclic.none": "cyclic, neither: answer",
    "dihedral.copy": "dihedral, copy: answer",
    "dihedral.commute_any": "dihedral, reverse: answer",
    "dihedral.attended": "dihedral, reverse: attended",
}


def effects(*results: Result) -> Figure:
    """One heat map per kind of pair and model: the average change of the clean answer's probability."""
    figure, panels = by_model(results, 3, 1.9, WIDE)
    for row, result in zip(panels, results):
        for panel, (kind, name) in zip(row, EFFECTS.items()):
            head_map(panel, result.details["effects"][kind], named(results, result, name))
    return figure


def strips(*results: Result) -> Figure:
    """One row per variation of a sequence and model: attention over its facts, coloured by slot, and direct logits."""
    rows = [(result, name) for result in results for name in VARIANTS]
    figure, panels = axes(len(rows), 2, (WIDTH, 1.25 * len(rows) + 0.6), width_ratios=(2.0, 1.0))
    for (attention, logits), (result, name) in zip(panels, rows):
        example = result.details["examples"][name]
        facts = facts_in(example["text"])
        attention_strip(attention, example["attention"], facts)
        titled(attention, named(results, result, VARIANTS[name]), "left")
        logit_bars(logits, example["direct"], facts[-1][3], _told_wrong(facts))
    panels[-1][0].set_xlabel("fact of the sequence (the last is the query)")
    panels[-1][1].set_xlabel("variable")
    legend_below(figure, panels, 5)
    return figure


def _told_wrong(facts: list[str]) -> set[str]:
    """Other answers than the query's that facts of the same or the reverse pair give."""
    left, right, answer = facts[-1][0], facts[-1][1], facts[-1][3]
    return {fact[3] for fact in facts[:-1] if fact[:2] in (left + right, right + left)} - {answer}


def decoded(*results: Result) -> Figure:
    """Shares of prompts on which each head's top logit is the answer (or the most attended variable)."""
    figure, panels = axes(2 * len(results), 3, (WIDE, 3.6 * len(results)))
    for place, result in enumerate(results):
        for panel, (key, name) in zip(panels[2 * place : 2 * place + 2].flat, DECODED.items()):
            colour = "Purples" if "commut" in key else "Greys" if "none" in key else "Greens"
            title = named(results, result, name)
            head_map(panel, result.details["decode"][key], title, "Reds" if "attended" in key else colour)
    return figure


FIGURES = (effects, strips, decoded)
