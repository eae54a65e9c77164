"""Panels that several figures share: tables of heads as heat maps, tables of shares, attention over a sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.plotting import COLOURS, legend_below
from icalgebra.results import Curve

VISIBLE, LABELLED = 0.002, 0.1  # least attention on a fact that is drawn, and that is labelled
DARK = 0.55  # luminance of a cell below which its number is white
SLOT_COLOURS = ("#9aa5b1", "#c7b299", "#8d6cab", "#4c9f70", "#d9822b")
SLOT_NAMES = ("left", "right", "=", "answer", "the ',' behind")


def head_map(
    panel: Any,
    table: Sequence[Sequence[float]],
    title: str,
    colour: str = "Greens",
    top: float = 1.0,
    size: float = 7.5,
) -> None:
    """Layers in rows, heads in columns; every cell shows its number in hundredths, which leaves room for large type."""
    layers, heads = ([str(i) for i in range(len(items))] for items in (table, table[0]))
    number_map(panel, table, layers, heads, colour, top, size=size)
    titled(panel, title)
    panel.set_xlabel("head")
    panel.set_ylabel("layer")


def titled(panel: Any, title: str, place: str = "center") -> None:
    panel.set_title(title, fontsize=9, fontweight="bold", loc=place)


def number_map(
    panel: Any, table: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], colour: str, top: float,
    size: float = 6.5,
) -> None:  # fmt: skip
    """A table of shares; every cell shows its number in hundredths."""
    panel.imshow(table, cmap=colour, vmin=0.0, vmax=top, aspect="auto")
    panel.grid(False)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.tick_params(length=0)
    panel.set_xticks(range(len(columns)), columns)
    panel.set_yticks(range(len(rows)), rows)
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            ink = "white" if _luminance(colour, value / top) < DARK else "#333333"
            panel.text(j, i, short(100 * value, 0), ha="center", va="center", fontsize=size, color=ink)


def _luminance(colour: str, share: float) -> float:
    """Of a colour of the scale, from 0 to 1."""
    red, green, blue, _ = matplotlib.colormaps[colour](min(1.0, max(0.0, share)))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def short(value: float, digits: int = 2) -> str:
    """'.52', '−.01', '1.30'; a value that rounds to zero is '0'."""
    text = f"{value:.{digits}f}".replace("-", "−")
    if not any(digit in text for digit in "123456789"):
        return "0"
    return text.replace("0.", ".", 1) if abs(value) < 1 and digits else text


def stack(panel: Any, curves: Mapping[str, Curve], names: Sequence[str]) -> None:
    """Curves of shares on top of each other, in the colours of their names."""
    x = curves[names[0]].x
    shares = [[100 * y for y in curves[name].y] for name in names]
    panel.stackplot(x, shares, labels=names, colors=[COLOURS[name] for name in names], linewidth=0, alpha=0.8)


def facts_in(text: str) -> list[str]:
    """',ab=c,de=f' to 'ab=c' and 'de=f'."""
    return [text[i + 1 : i + FACT_LENGTH] for i in range(0, len(text), FACT_LENGTH)]


def attention_strip(
    panel: Any, attention: Sequence[Sequence[float]], facts: Sequence[str], top: float = 1.02, width: float = 1.6
) -> None:
    """One stacked bar per fact, by slot; facts with much attention are labelled, the query without its answer."""
    seen = [place for place, fact in enumerate(attention) if sum(fact) > VISIBLE]
    bottom = [0.0] * len(seen)
    for slot, (colour, name) in enumerate(zip(SLOT_COLOURS, SLOT_NAMES)):
        heights = [attention[place][slot] for place in seen]
        panel.bar(seen, heights, width=width, bottom=bottom, color=colour, label=name)
        bottom = [low + height for low, height in zip(bottom, heights)]
    for place, total in zip(seen, bottom):
        if total > LABELLED:
            last = place == len(facts) - 1
            text = facts[place][:3] + "?" if last else facts[place]
            height = min(total, 0.84 * top)
            panel.annotate(text, (place, height), (-5, 0), textcoords="offset points", ha="right", fontsize=8)
    panel.set_xlim(-2, len(facts) + 1)
    panel.set_ylim(0, top)
    panel.set_ylabel("attention")


def finish_grid(figure: Figure, panels: Any, used: int, columns: int = 4) -> None:
    """Accuracy against facts in many panels: hide empty panels, label the outer axes, add one legend for all."""
    for panel in list(panels.flat)[used:]:
        panel.axis("off")
    for panel in panels[-1]:
        panel.set_xlabel("facts incl. query")  # longer ones would touch
    for panel in panels[:, 0]:
        panel.set_ylabel("accuracy (%)")
    legend_below(figure, panels, columns)
