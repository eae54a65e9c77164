"""Shared by all figures: the style, curves with confidence bands, and SVG for the page.

panels.py        heat maps of heads, attention over a sequence, grids of panels
sweep_curves.py  curves of many training runs
compact.py       the SVG in fewer bytes

A figure is a function from a Result to a matplotlib Figure. Figures do not use pyplot, which keeps every figure in a
global list until it is closed.
"""

from __future__ import annotations

import io
from html import escape
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from icalgebra.claims import published
from icalgebra.plotting.compact import compact
from icalgebra.results import Curve

# One colour per mechanism throughout, in the paper's order: green, purple, yellow, red, blue; black: published.
COLOURS = {
    "copy": "#4c9f70",
    "commute": "#8d6cab",
    "identity": "#e8b93e",
    "cancel": "#c8553d",
    "associate": "#4a7fb5",
    "total": "#555555",
    "chain": "#1f6f6f",  # the rungs of the ladder
    "latin": "#3d9a94",
    "associative": "#74bfb8",
    "split": "#a9d9d3",
    "catalogue": "#d5ece9",
    "published": "#222222",
    "ceiling": "#00808a",
    "model": "#b5307a",
}

STYLE: dict[Any, Any] = {
    "figure.dpi": 100,
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "icalgebra",
}


def axes(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """Empty panels in the common style."""
    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False, **options)


def line(panel: Any, curve: Curve, colour: str, label: str = "", **style: Any) -> None:
    """A curve of shares in per cent, with its confidence intervals as a band."""
    panel.plot(curve.x, [100 * y for y in curve.y], color=colour, label=label, **{"linewidth": 1.6, **style})
    low, high = ([100 * y for y in bound] for bound in (curve.low, curve.high))
    panel.fill_between(curve.x, low, high, color=colour, alpha=0.15, linewidth=0)


def published_line(panel: Any, figure: str, name: str, label: str = "published model") -> None:
    """The paper's curve of that name, if there is one."""
    points = published()["figures"][figure].get(name)
    if points:
        x, y = zip(*points)
        panel.plot(
            x, [100 * value for value in y], color=COLOURS["published"], linewidth=1, linestyle="--", label=label
        )


def legend_below(figure: Figure, panels: Any, columns: int = 4) -> None:
    """One legend for all panels, every label once."""
    found: dict[str, Any] = {}
    for panel in panels.flat:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            found.setdefault(label, handle)
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns)


def svg(figure: Figure, words: str = "") -> str:
    """The figure as one <svg> element.

    `words` is the text for screen readers. It also salts the ids inside the drawing: ids must be unique on the page,
    since a reference that resolves into a collapsed section draws nothing.
    """
    text = io.StringIO()
    with rc_context({**STYLE, "svg.hashsalt": STYLE["svg.hashsalt"] + words}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    label = f'<svg role="img" aria-label="{escape(words)}"' if words else "<svg"
    return compact(label + drawn[drawn.index("<svg") + len("<svg") :])
