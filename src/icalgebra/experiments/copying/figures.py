"""Figures 4, 13 and 14: indirect effects of heads, what the copying head attends to and promotes, what heads decode."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.experiments.cancellation.figures import logit_bars
from icalgebra.plotting import axes
from icalgebra.plotting.panels import attention_strip, facts_in, head_map, titled
from icalgebra.results import Result

EFFECTS = {"copy": "copy", "commute": "commute", "flipped": "same context, query reversed"}
VARIANTS = {
    "exact": "the exact fact is there",
    "commutative": "only the commutative fact is there",
    "both": "both are there",
    "neither": "neither is there",
    "corrupted": "the exact fact and a wrong duplicate",
    "conflicting": "the exact fact and a wrong commutative one",
}
DECODED = {
    "cyclic.copy": "cyclic, copy: answer",
    "cyclic.commute": "cyclic, commute: answer",
    "cyclic.none": "cyclic, neither: answer",
    "dihedral.copy": "dihedral, copy: answer",
    "dihedral.commute_any": "dihedral, reverse: answer",
    "dihedral.attended": "dihedral, reverse: attended",
}


def effects(result: Result) -> Figure:
    """One heat map a kind of pair: the average change of the clean answer's probability."""
    figure, panels = axes(1, 3, (9.0, 2.5))
    for panel, (kind, name) in zip(panels[0], EFFECTS.items()):
        head_map(panel, result.details["effects"][kind], name)
    return figure


def strips(result: Result) -> Figure:
    """One row a variation of one sequence: attention over its facts, coloured by slot, and direct logits."""
    figure, panels = axes(len(VARIANTS), 2, (9.0, 9.6), width_ratios=(2.2, 1.0))
    for (attention, logits), (name, title) in zip(panels, VARIANTS.items()):
        example = result.details["examples"][name]
        facts = facts_in(example["text"])
        attention_strip(attention, example["attention"], facts)
        titled(attention, title, "left")
        logit_bars(logits, example["direct"], facts[-1][3], _told_wrong(facts))
    panels[-1][0].set_xlabel("fact of the sequence (the last is the query)")
    panels[-1][1].set_xlabel("variable")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=5)
    return figure


def _told_wrong(facts: list[str]) -> set[str]:
    """Other answers than the query's that facts of the same or the reverse pair give."""
    left, right, answer = facts[-1][0], facts[-1][1], facts[-1][3]
    return {fact[3] for fact in facts[:-1] if fact[:2] in (left + right, right + left)} - {answer}


def decoded(result: Result) -> Figure:
    """Shares of prompts on which each head's top logit is the answer (or the most attended variable)."""
    figure, panels = axes(2, 3, (9.0, 4.4))
    for panel, (key, name) in zip(panels.flat, DECODED.items()):
        colour = "Purples" if "commut" in key else "Greys" if "none" in key else "Greens"
        head_map(panel, result.details["decode"][key], name, "Reds" if "attended" in key else colour)
    return figure


FIGURES = (effects, strips, decoded)
