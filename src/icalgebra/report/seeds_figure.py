"""Claims about the inside whose values are shares: every model's value, so that one sees how far seeds differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, MODEL_COLOURS, WIDTH, axes, legend_below, svg
from icalgebra.report.universality import Cell, Row

# By claim, from top to bottom: what its value is a share of.
SHOWN = {
    "K1.copy_best": "strongest copying head, unrelated pairs: effect",
    "K4.share": "copying head, one fact differs: share of the effect",
    "I2.demotion": "one head has the identity lowest: share of queries",
    "I3.plus_distance": "steering along v1: a query variable is answered",
    "L5.left_slot": "left-cancellation head: attention to answer slots",
    "L5.right_slot": "right-cancellation head: attention to answer slots",
    "L2.without_identity": "closure exchanged, attention output",
    "L3.without_identity": "cancellation exchanged, attention output",
    "L6.closure": "closure exchanged, residual stream",
    "L6.cancellation": "cancellation exchanged, residual stream",
}
# Per set of seeds: the lane, above or below the row's line, and the colour.
LANES = {"adamw256": (-0.24, "#c8553d"), "sprint": (0.24, "#4a7fb5")}
OTHERS = {"published": "o", "small": "o", "fast": "s"}
MOST = 1.3  # a head can have more than the whole effect
ROW = 0.42  # inches


@dataclass(frozen=True)
class Strip:
    """A row of the figure."""

    label: str
    row: Row

    @property
    def published(self) -> float | None:
        claim = self.row.claim
        return None if isinstance(claim.published, str) else _share(self.row, claim.number)


def strips(rows: Sequence[Row]) -> list[Strip]:
    """Those of which any run of a set of seeds was measured."""
    by_claim = {row.claim.id: row for row in rows}
    found = [Strip(label, by_claim[name]) for name, label in SHOWN.items() if name in by_claim]
    return [strip for strip in found if strip.row.seeds]


def seeds_figure(rows: Sequence[Row]) -> Markup | None:
    """As SVG; None where no set of seeds was measured."""
    found = strips(rows)
    told = "; ".join(f"{strip.label}: {strip.row.spread}" for strip in found)
    return Markup(svg(draw(found), f"Values of the seeds. {told}.")) if found else None


def draw(found: Sequence[Strip]) -> Figure:
    """A row per claim, a point per model; seeds of AdamW above each line, seeds of Muon below it."""
    figure, panels = axes(1, 1, (WIDTH, ROW * len(found) + 0.9))
    panel = panels[0, 0]
    for at, strip in enumerate(found):
        panel.axhline(at, color="#d4d8dd", linewidth=0.8, zorder=1)
        for cell in strip.row.cells:
            _points(panel, at, strip.row, cell)
        if strip.published is not None:
            ink = {"markerfacecolor": "none", "markeredgecolor": COLOURS["published"]}
            panel.plot(strip.published, at, "D", markersize=7, linestyle="", label="paper", zorder=4, **ink)
    panel.set_yticks(range(len(found)), [strip.label for strip in found])
    panel.set_ylim(len(found) - 0.5, -0.5)
    panel.set_xlim(-0.03, MOST)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="y", visible=False)
    panel.spines["left"].set_visible(False)
    panel.set_xlabel("share")
    legend_below(figure, panels, columns=6)
    return figure


def _points(panel: Any, at: int, row: Row, cell: Cell) -> None:
    values = [_share(row, item.ours.value) for item in cell.judged if item.ours]
    if not values:
        return
    name = cell.source.shown
    if cell.source.seeds:
        lane, colour = LANES[cell.source.name]
        style = {"marker": "o", "markersize": 5, "color": colour, "alpha": 0.65, "markeredgewidth": 0}
        name = f"{name} seeds ({cell.source.recipe})"
    else:
        lane, colour = 0.0, MODEL_COLOURS[name]
        hollow = {} if cell.source.name == "published" else {"markerfacecolor": "white"}
        style = {"marker": OTHERS[cell.source.name], "markersize": 6, "color": colour, **hollow}
    panel.plot(values, [at + lane] * len(values), linestyle="", label=name, zorder=3, **style)


def _share(row: Row, value: float) -> float:
    return value / 100 if row.claim.unit == "%" else value
