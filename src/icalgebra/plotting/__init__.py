"""Figures: one file per figure. They read results and the published numbers, never a model.

Each figure is a function from the results it needs to a matplotlib figure; `svg` turns that into text for the page.
"""

from __future__ import annotations

import io
from html import escape
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from icalgebra.claims import published
from icalgebra.plotting.compact import compact
from icalgebra.results import Curve

# One colour a mechanism throughout, in the paper's order: green, purple, yellow, red, blue; black: published.
COLOURS = {
    "copy": "#4c9f70",
    "commute": "#8d6cab",
    "identity": "#e8b93e",
    "cancel": "#c8553d",
    "associate": "#4a7fb5",
    "total": "#555555",
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
    """Empty panels in the house style."""
    with plt.rc_context(STYLE):
        return plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, **options)


def line(panel: Any, curve: Curve, colour: str, label: str = "", **style: Any) -> None:
    """A curve of shares in percent, with its interval as a band."""
    panel.plot(curve.x, [100 * y for y in curve.y], color=colour, label=label, **{"linewidth": 1.6, **style})
    low, high = ([100 * y for y in bound] for bound in (curve.low, curve.high))
    panel.fill_between(curve.x, low, high, color=colour, alpha=0.15, linewidth=0)


def published_line(panel: Any, figure: str, name: str, label: str = "published model") -> None:
    """The paper's curve of that name, where it has one."""
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
    """The figure as one <svg> element; the figure is closed.

    The words are for those who cannot see it. They also salt the names of its parts, which must not occur in another
    drawing of the page: a reference into a folded section would find nothing to draw.
    """
    text = io.StringIO()
    with plt.rc_context({**STYLE, "svg.hashsalt": STYLE["svg.hashsalt"] + words}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    drawn = text.getvalue()
    label = f'<svg role="img" aria-label="{escape(words)}"' if words else "<svg"
    return compact(label + drawn[drawn.index("<svg") + len("<svg") :])
