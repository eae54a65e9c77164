"""What right answers rest on, by number of facts: stacked bars."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.plotting import COLOURS, by_model, legend_below, named
from icalgebra.results import Result

KINDS = {"train": "training sequences", "holdout": "hold-out sequences"}
SHADES = {**{name: COLOURS[name] for name in MECHANISMS}, "any": "#9b9b9b", "none": "#e2e2e2"}
NAMES = {"any": "any of several", "none": "none clearly"}


def by_size(*results: Result) -> Figure:
    """The share of right answers that rest on each mechanism, at each number of facts; a row per model."""
    figure, panels = by_model(results, 2, 2.5, sharey=True)
    for row, result in zip(panels, results):
        for panel, (kind, title) in zip(row, KINDS.items()):
            sizes = [size for size in result.config["sizes"] if f"{kind}.{size}.used.none" in result.values]
            bottom = [0.0] * len(sizes)
            for name, colour in SHADES.items():
                shares = [100 * result.values[f"{kind}.{size}.used.{name}"].value for size in sizes]
                label = NAMES.get(name, name)
                panel.bar(range(len(sizes)), shares, bottom=bottom, color=colour, label=label, width=0.7)
                bottom = [low + share for low, share in zip(bottom, shares)]
            asked = [result.values[f"{kind}.{size}.used.none"].n for size in sizes]
            panel.set_xticks(range(len(sizes)), [f"{size} (n = {n})" for size, n in zip(sizes, asked)])
            panel.set(title=named(results, result, title), xlabel="facts of context", ylim=(0, 101))
        row[0].set_ylabel("right answers (%)")
    legend_below(figure, panels, 4)
    return figure


FIGURES = (by_size,)
