"""The paper's Figure 16: what the readers of each side attend to and demote; and the same for all heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from icalgebra.language.vocabulary import LETTERS
from icalgebra.plotting import COLOURS, MARKERS, WIDE, WIDTH, axes, by_model, legend_below, named
from icalgebra.plotting.panels import attention_strip, facts_in, head_map, titled
from icalgebra.results import Result

SIDES = ("left", "right")
CLOSE = 3  # points of attention: two names that near would lie on each other
NEAR_ZERO = 0.1  # change of logits
SLOTS = {"answer": "answer slot", "comma_behind": "the ',' behind", "fact": "all slots"}
SCATTERED = "holdout"  # where the two sides rule out different answers
MOST_ATTENTION = 0.6  # the end of the colour scale


def strips(*results: Result) -> Figure:
    """Each side's reader on one sequence: attention by fact, shaded where it shares the variable, and direct logits."""
    rows = [(result, side) for result in results for side in SIDES]
    figure, panels = axes(len(rows), 2, (WIDTH, 1.6 * len(rows) + 0.6), width_ratios=(2.0, 1.0))
    for (attention, logits), (result, side) in zip(panels, rows):
        example = result.details["example"]
        facts, found = facts_in(example["text"]), example["strips"][side]
        top = 1.25 * max(sum(fact) for fact in found["attention"])
        sharing = _sharing(facts, side)
        for place in sharing:
            attention.axvspan(place - 0.5, place + 0.5, color="#f4e7d7", linewidth=0, zorder=0)
        attention_strip(attention, found["attention"], facts, top, width=0.8)
        head = result.details["readers"][side]
        titled(attention, named(results, result, f"head {head} (shaded: same {side} variable)"), "left")
        logit_bars(logits, found["direct"], facts[-1][3], {facts[place][3] for place in sharing})
    panels[-1][0].set_xlabel("fact of the sequence (the last is the query)")
    panels[-1][1].set_xlabel("variable")
    legend_below(figure, panels, 5)
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


def attention(*results: Result) -> Figure:
    """Heat maps of every head's attention on facts that share a variable with the query, by side and slot."""
    figure, panels = axes(2 * len(results), 3, (WIDE, 3.6 * len(results)))
    rows = [(result, side) for result in results for side in SIDES]
    for row, (result, side) in zip(panels, rows):
        for panel, (slot, name) in zip(row, SLOTS.items()):
            table = result.details["tables"][f"cancel_embedded.{side}.{slot}"]
            title = named(results, result, f"same {side}, {name}")
            head_map(panel, table, title, "Oranges" if slot == "comma_behind" else "Greens", MOST_ATTENTION)
            panel.title.set_fontsize(8.5)
    return figure


def attend_and_demote(*results: Result) -> Figure:
    """One point per head: attention on a side's facts against the change of their answers' direct logits."""
    figure, panels = by_model(results, 2, 2.6, WIDE, sharex=True, sharey=True)
    for row, result in zip(panels, results):
        for panel, side in zip(row, SIDES):
            named_heads = [result.details[role][side] for role in ("answer_heads", "readers", "demoters")]
            _scatter(panel, result.details["tables"], f"{SCATTERED}.{side}", named_heads)
            titled(panel, named(results, result, f"facts that share the {side} variable"))
        row[0].set_ylabel("change of their answers' logits")
    for panel in panels[-1]:
        panel.set_xlabel("attention on these facts (%)")
    legend_below(figure, panels, 8)
    return figure


def _scatter(panel: Any, tables: dict[str, Any], key: str, heads: list[str]) -> None:
    """Layers by colour and mark, with intervals; the heads that the text is about are named."""
    x, y = (np.array(tables[f"{key}.{name}"]) for name in ("fact", "change_in_group"))
    dx, dy = (np.array(tables[f"{key}.{name}.half"]) for name in ("fact", "change_in_group"))
    # the last layer is red however few there are, since readers are taken from it; beyond four, deep layers share red
    shades = ["#c9ccd2", COLOURS["identity"], COLOURS["associate"], COLOURS["cancel"]]
    for layer in range(len(x)):
        colour = shades[min(3, layer + max(0, 4 - len(x)))]
        panel.errorbar(100 * x[layer], y[layer], dy[layer], 100 * dx[layer], fmt=MARKERS[layer % len(MARKERS)],
                       markersize=4, color=colour,
                       elinewidth=0.7, label=f"layer {layer}")  # fmt: skip
    panel.axhline(0, color="#333333", linewidth=0.6)
    panel.margins(y=0.15)  # room for the names
    _name(panel, {name: (100 * x[_place(name)], y[_place(name)]) for name in heads})


def _place(name: str) -> tuple[int, int]:
    layer, head = map(int, name.split("."))
    return layer, head


def _name(panel: Any, points: dict[str, tuple[float, float]]) -> None:
    """Names away from the crowd at zero, beside one another where two points are close, with a line to each."""
    for i, (name, (x, y)) in enumerate(points.items()):
        close = sum(abs(x - u) < CLOSE for u, _ in list(points.values())[:i])
        rise = -15 if y < -NEAR_ZERO else 11
        panel.annotate(name, (x, y), (9 + 24 * close, rise), textcoords="offset points", fontsize=7.5,
                       arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "#888888", "shrinkB": 3})  # fmt: skip


FIGURES = (strips, attention, attend_and_demote)
