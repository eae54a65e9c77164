"""Panels that several figures share: tables of heads as heat maps, tables of shares with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def head_map(
    panel: Any,
    table: Sequence[Sequence[float]],
    title: str,
    colour: str = "Greens",
    top: float = 1.0,
    size: float = 6.5,
) -> None:
    """Layers down, heads across; every cell carries its number."""
    layers, heads = ([str(i) for i in range(len(items))] for items in (table, table[0]))
    number_map(panel, table, layers, heads, colour, top, size=size)
    titled(panel, title)
    panel.set_xlabel("head")
    panel.set_ylabel("layer")


def titled(panel: Any, title: str, place: str = "center") -> None:
    panel.set_title(title, fontsize=9, fontweight="bold", loc=place)


def number_map(
    panel: Any, table: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], colour: str, top: float,
    factor: float = 1.0, digits: int = 2, size: float = 6.5,
) -> None:  # fmt: skip
    panel.imshow(table, cmap=colour, vmin=0.0, vmax=top, aspect="auto")
    panel.grid(False)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.tick_params(length=0)
    panel.set_xticks(range(len(columns)), columns)
    panel.set_yticks(range(len(rows)), rows)
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            ink = "white" if value > 0.6 * top else "#333333"
            panel.text(j, i, short(value * factor, digits), ha="center", va="center", fontsize=size, color=ink)


def short(value: float, digits: int = 2) -> str:
    """'.52', '−.01', '1.30'; what rounds to nothing is '0'."""
    text = f"{value:.{digits}f}".replace("-", "−")
    if not any(digit in text for digit in "123456789"):
        return "0"
    return text.replace("0.", ".", 1) if abs(value) < 1 and digits else text
