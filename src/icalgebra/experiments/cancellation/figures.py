"""The paper's Figure 16: what the readers of each side attend to and demote; and the same for all heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from icalgebra.language.vocabulary import LETTERS
from icalgebra.plotting import COLOURS, axes
from icalgebra.plotting.panels import attention_strip, facts_in, head_map, titled
from icalgebra.results import Result

SIDES = ("left", "right")
SLOTS = {"answer": "answer slot", "comma_behind": "the ',' behind", "fact": "all slots"}
LAWS = {"cancel_embedded": "cancel among other facts", "holdout": "hold-out, few facts"}
NAMED = 5  # heads named in a scatter panel


def strips(result: Result) -> Figure:
    """Each side's reader on one sequence: attention by fact, shaded where it shares the variable, and direct logits."""
    example, readers = result.details["example"], result.details["readers"]
    facts = facts_in(example["text"])
    figure, panels = axes(2, 2, (9.0, 4.4), width_ratios=(2.2, 1.0))
    for (attention, logits), side in zip(panels, SIDES):
        found = example["strips"][side]
        top = 1.25 * max(sum(fact) for fact in found["attention"])
        sharing = _sharing(facts, side)
        for place in sharing:
            attention.axvspan(place - 0.5, place + 0.5, color="#f4e7d7", linewidth=0, zorder=0)
        attention_strip(attention, found["attention"], facts, top, width=0.8)
        titled(attention, f"head {readers[side]} (shaded: facts that share the {side} variable)", "left")
        logit_bars(logits, found["direct"], facts[-1][3], {facts[place][3] for place in sharing})
    panels[-1][0].set_xlabel(f"fact of the sequence (the last is the query, {facts[-1][:3]}?)")
    panels[-1][1].set_xlabel("variable")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=5)
    return figure


def _sharing(facts: list[str], side: str) -> list[int]:
    slot = SIDES.index(side)
    return [place for place, fact in enumerate(facts[:-1]) if fact[slot] == facts[-1][slot]]


def logit_bars(panel: Any, direct: list[float], answer: str, wrong: set[str]) -> None:
    """Direct logits, one bar per variable: the answer green, wrong answers that facts give red."""
    letters = list(LETTERS[: len(direct)])
    colours = [COLOURS["copy"] if c == answer else COLOURS["cancel"] if c in wrong else "#b8bcc4" for c in letters]
    panel.bar(letters, direct, color=colours)
    panel.axhline(0, color="#333333", linewidth=0.6)
    panel.tick_params(axis="x", labelsize=7)
    panel.set_ylabel("direct logit")


def attention(result: Result) -> Figure:
    """Heat maps of every head's attention on facts that share a variable with the query, by side and slot."""
    figure, panels = axes(2, 3, (9.0, 4.6))
    for row, side in zip(panels, SIDES):
        for panel, (slot, name) in zip(row, SLOTS.items()):
            table = result.details["tables"][f"cancel_embedded.{side}.{slot}"]
            head_map(panel, table, f"same {side}: {name}", "Oranges" if slot == "comma_behind" else "Greens", 0.6)
    return figure


def attend_and_demote(result: Result) -> Figure:
    """One point per head: attention on a side's facts against the change of their answers' direct logits."""
    figure, panels = axes(2, 2, (9.0, 6.0))
    for row, (law, title) in zip(panels, LAWS.items()):
        for panel, side in zip(row, SIDES):
            _scatter(panel, result.details["tables"], f"{law}.{side}")
            titled(panel, f"{title}: {side}")
        row[0].set_ylabel("change of their answers' logits")
    for panel in panels[-1]:
        panel.set_xlabel("attention on facts that share the variable (%)")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=8)
    return figure


def _scatter(panel: Any, tables: dict[str, Any], key: str) -> None:
    """Layers by colour, with intervals; the heads with the largest changes are named."""
    x, y = (np.array(tables[f"{key}.{name}"]) for name in ("fact", "change_in_group"))
    dx, dy = (np.array(tables[f"{key}.{name}.half"]) for name in ("fact", "change_in_group"))
    # the last layer is red however few there are, since readers are taken from it; beyond four, deep layers share red
    shades = ["#c9ccd2", COLOURS["identity"], COLOURS["associate"], COLOURS["cancel"]]
    for layer in range(len(x)):
        colour = shades[min(3, layer + max(0, 4 - len(x)))]
        panel.errorbar(100 * x[layer], y[layer], dy[layer], 100 * dx[layer], fmt="o", markersize=3.5, color=colour,
                       elinewidth=0.7, label=f"layer {layer}")  # fmt: skip
    panel.axhline(0, color="#333333", linewidth=0.6)
    for rank, place in enumerate(np.abs(y).ravel().argsort()[::-1][:NAMED]):
        layer, head = divmod(int(place), x.shape[1])
        beside = (
            22 if rank % 2 else 5,
            3,
        )  # labels alternate between near and far: heads with similar changes lie close together
        panel.annotate(f"{layer}.{head}", (100 * x[layer, head], y[layer, head]), beside, textcoords="offset points",
                       fontsize=8)  # fmt: skip


FIGURES = (strips, attention, attend_and_demote)
