"""Shared by all figures: the style, curves with confidence bands, and SVG for the page.

panels.py        heat maps of heads, attention over a sequence, grids of panels
sweep_curves.py  curves of many training runs
compact.py       the SVG in fewer bytes

A figure is a function from a Result to a matplotlib Figure. Figures do not use pyplot, which keeps every figure in a
global list until it is closed. It takes the results of one model or of several, which it draws side by side:
draw(small) and draw(small, fast) are the same figure with one model and with two.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icalgebra.claims import published
from icalgebra.plotting.compact import compact
from icalgebra.results import Curve, Result, display_name

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

# One colour per model of ours throughout, by the name that is shown. Black is the paper's model, teal the ceiling, grey
# the mechanisms.
MODEL_COLOURS = {"small": COLOURS["model"], "fast": "#e07b00", "rerun": "#3d3ddb", "deep": "#5d8a1f"}
OTHER_MODELS = ("#8c564b", "#7f7fd1", "#b59b00", "#3a3a8c")  # in this order, for any other model
WIDTH = 7.2  # inches: a page on a wide screen, still legible on a telephone
WIDE = 10.0  # the whole column, for many panels with numbers
MARKERS = ("o", "s", "^", "D")  # of models, beside their colours
TITLE_SIZE, LEGEND_SIZE = 9.5, 8.5
WIDER = 1.12  # than its panel, and a title would reach into the next one
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

STYLE: dict[Any, Any] = {
    "figure.dpi": 100,
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": TITLE_SIZE,
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


def model_colours(results: Sequence[Result]) -> dict[str, str]:
    """A colour for each model: its own where it has one."""
    spare = iter(OTHER_MODELS * len(results))
    return {result.model: MODEL_COLOURS.get(display_name(result.model)) or next(spare) for result in results}


def by_model(
    results: Sequence[Result], columns: int, height: float, width: float = WIDTH, **options: Any
) -> tuple[Figure, Any]:
    """One row of panels per model; height is that of a row."""
    return axes(len(results), columns, (width, height * len(results) + 0.3), **options)


def named(results: Sequence[Result], result: Result, title: str) -> str:
    """A panel's title, with the model where the figure shows several."""
    return f"{result.model}: {title}" if len(results) > 1 else title


def log_axis(panel: Any, ticks: Iterable[float] = ()) -> None:
    """A logarithmic x axis whose labels are plain text: matplotlib sets powers of ten in another font."""
    panel.set_xscale("log")
    if ticks:
        panel.set_xticks(list(ticks))
    panel.xaxis.set_major_formatter(lambda value, _: power_label(value))
    panel.xaxis.set_minor_formatter(NullFormatter())
    if ticks:
        panel.minorticks_off()


def power_label(value: float) -> str:
    """'30', '1000', and beyond ten thousand '10⁵'."""
    if value < 1e5:
        return f"{value:g}"
    digits, power = f"{value:.0e}".split("e")
    return ("" if digits == "1" else f"{digits}·") + "10" + str(int(power)).translate(SUPERSCRIPTS)


def by_order(names: Iterable[str]) -> list[str]:
    """Groups by their numbers: C3 before C10."""
    return sorted(names, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


def line(panel: Any, curve: Curve, colour: str, label: str = "", **style: Any) -> None:
    """A curve of shares in per cent, with its confidence intervals as a band."""
    panel.plot(curve.x, [100 * y for y in curve.y], color=colour, label=label, **{"linewidth": 1.6, **style})
    low, high = ([100 * y for y in bound] for bound in (curve.low, curve.high))
    panel.fill_between(curve.x, low, high, color=colour, alpha=0.15, linewidth=0)


def published_line(panel: Any, figure: str, name: str) -> None:
    """The paper's curve of that name, if there is one."""
    points = published()["figures"][figure].get(name)
    if points:
        x, y = zip(*points)
        per_cent = [100 * value for value in y]
        panel.plot(x, per_cent, color=COLOURS["published"], linewidth=1, linestyle="--", label="the paper's model")


def legend_below(figure: Figure, panels: Any, columns: int = 4) -> None:
    """One legend for all panels, every label once, in as many columns as fit the figure's width, at most `columns`."""
    found: dict[str, Any] = {}
    for panel in panels.flat:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            found.setdefault(label, handle)
    if not found:
        return
    renderer = FigureCanvasAgg(figure).get_renderer()
    for n_columns in range(min(columns, len(found)), 0, -1):
        legend = figure.legend(
            list(found.values()), list(found), loc="outside lower left", ncols=n_columns, fontsize=LEGEND_SIZE,
            frameon=False, columnspacing=1.4, handlelength=2.4,  # long enough to tell dashes
        )  # fmt: skip
        if n_columns == 1 or legend.get_window_extent(renderer).width < 0.98 * figure.bbox.width:
            return
        legend.remove()


def in_style(figure: Figure) -> None:
    """Titles of all panels alike, and legends without frames.

    matplotlib takes the size of a title from the settings at the moment it is set, which are not those of STYLE.
    """
    for panel in figure.axes:
        for title in (panel.title, panel._left_title):  # type: ignore[attr-defined]  # no public name for the left one
            title.set_fontsize(min(title.get_fontsize(), TITLE_SIZE))
            title.set_fontweight("bold")
        legend = panel.get_legend()
        if legend is not None:
            legend.set_frame_on(False)


def fit_titles(figure: Figure) -> None:
    """A title 'model: what is shown' that is wider than its panel takes two lines."""
    long = [panel.title for panel in figure.axes if ": " in panel.title.get_text()]
    if long:
        figure.draw_without_rendering()
    for title in long:
        panel = title.axes
        assert panel is not None
        if title.get_window_extent().width > WIDER * panel.get_window_extent().width:
            title.set_text(title.get_text().replace(": ", ":\n", 1))


def svg(figure: Figure, words: str = "") -> str:
    """The figure as one <svg> element.

    `words` is the text for screen readers. It also salts the ids inside the drawing: ids must be unique on the page,
    since a reference that resolves into a collapsed section draws nothing.
    """
    text = io.StringIO()
    in_style(figure)
    fit_titles(figure)
    with rc_context({**STYLE, "svg.hashsalt": STYLE["svg.hashsalt"] + words}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    label = f'<svg role="img" aria-label="{escape(words)}"' if words else "<svg"
    return compact(label + drawn[drawn.index("<svg") + len("<svg") :])
