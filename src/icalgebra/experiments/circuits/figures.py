"""Maps of single components, graphs of the paths between them, and what attention knock-out leaves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from icalgebra.language.vocabulary import SLOTS
from icalgebra.plotting import COLOURS, WIDE, WIDTH, axes, by_model, named
from icalgebra.plotting.panels import head_map, number_map, short, titled
from icalgebra.results import Result

WRITTEN = 0.05  # the least share whose number is written into a cell
SIGNS = {"comma": ",", "equals": "=", "comma behind": ", behind", "operands": "l+r"}
BLOCKED = ("comma", "left", "right", "equals", "operands", "all")
# The columns of a graph: the changed fact with the ',' behind it, then the query.
PLACES = (
    *(f"the fact's {name}" for name in ("left", "right", "equals", "answer", "comma behind")),
    *(f"the query's {name}" for name in ("comma", "left", "right", "equals")),
)
INPUTS = {"query": "q", "key": "k", "value": "v", "residual": ""}
SPREAD = 0.3  # between heads of one layer at one token
ALONG = (0.45, 0.35, 0.55, 0.28, 0.62, 0.7)  # where on an arrow its numbers may stand, best first
LABEL = (0.26, 0.19)  # about the width and height of two lines of numbers, in columns and layers
ASIDE = 0.25  # MLPs stand beside heads, away from where arrows go, so that arrows past them can be seen


def _sign(name: str) -> str:
    return SIGNS.get(name, name)


# --- maps -------------------------------------------------------------------------------------------------------------


def maps(*results: Result) -> Figure:
    """One heat map per mechanism and model: components in rows, tokens of the query in columns, effects as shares."""
    columns = max(len(result.details["mechanisms"]) for result in results)
    figure, panels = by_model(results, columns, 6.0, sharey="row")
    for row, result in zip(panels, results):
        for panel, (name, mechanism) in zip(row, result.details["mechanisms"].items()):
            total = result.values[f"{name}.total.logit_difference"].value
            _share_map(panel, mechanism["maps"]["denoise"], total)
            titled(panel, named(results, result, name))
        for panel in row[len(result.details["mechanisms"]) :]:
            panel.axis("off")
    return figure


def _share_map(panel: Any, table: dict[str, Any], total: float) -> None:
    """Shares in colours from −1 to 1; None is left white."""
    shares = np.array(table["logit_difference"], dtype=float) / total
    panel.imshow(shares, cmap="PiYG", vmin=-1, vmax=1, aspect="auto")
    panel.grid(False)
    panel.tick_params(length=0)
    panel.set_xticks(range(len(table["tokens"])), [_sign(token) for token in table["tokens"]])
    panel.set_yticks(range(len(table["rows"])), table["rows"], fontsize=6.5)
    for (row, column), value in np.ndenumerate(shares):
        if abs(value) >= WRITTEN:
            ink = "white" if abs(value) > 0.7 else "#333333"
            panel.text(column, row, short(value), ha="center", va="center", fontsize=6.5, color=ink)
    for row, name in enumerate(table["rows"][:-1]):
        if name.startswith("mlp"):
            panel.axhline(row + 0.5, color="#bbbbbb", linewidth=0.7)


# --- graphs -----------------------------------------------------------------------------------------------------------


def graphs(*results: Result) -> Figure:
    """One graph per mechanism and model: components at tokens, layers upwards, paths with the share each carries."""
    found = [(result, name) for result in results for name in result.details["mechanisms"]]
    rows = (len(found) + 1) // 2
    figure, panels = axes(rows, 2, (WIDTH, 3.6 * rows))
    for panel, (result, name) in zip(panels.flat, found):
        _graph(panel, result.details["mechanisms"][name]["edges"], COLOURS[name])
        titled(panel, named(results, result, name))
    for panel in list(panels.flat)[len(found) :]:
        panel.axis("off")
    return figure


def _graph(panel: Any, edges: list[dict[str, Any]], colour: str) -> None:
    places = _positions(edge[end] for edge in edges for end in ("sender", "receiver"))
    parallel: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for edge in edges:
        parallel.setdefault((_node(edge["sender"]), _node(edge["receiver"])), []).append(edge)
    taken = list(places.values())
    for (sender, receiver), same in parallel.items():
        _arrow(panel, places[sender], places[receiver], same, colour, taken)
    for (component, _, _), (x, y) in places.items():
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#555555", "linewidth": 0.8}
        panel.text(x, y, component, ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    _frame(panel, places)


def _node(end: dict[str, Any]) -> tuple[str, str, int]:
    return end["component"], end["token"], end["layer"]


def _positions(ends: Iterable[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[float, float]]:
    """Used tokens in columns from left to right; an MLP stands half a layer above the heads that it follows."""
    nodes = sorted({_node(end) for end in ends})
    columns = [place for place in PLACES if any(token == place for _, token, _ in nodes)]
    rows: dict[tuple[str, float], list[tuple[str, str, int]]] = {}
    for node in nodes:
        component, token, layer = node
        rows.setdefault((token, layer + 0.5 * component.startswith("mlp")), []).append(node)
    found = {}
    for (token, height), together in rows.items():
        for i, node in enumerate(together):
            found[node] = (
                columns.index(token) + _aside(node[0], token) + SPREAD * (i - (len(together) - 1) / 2),
                height,
            )
    return found


def _aside(component: str, token: str) -> float:
    """MLPs to the right of the query's heads; to the left of the fact's, whose arrows all go to the right."""
    if component == "logits":
        return 0.0
    return ASIDE if component.startswith("mlp") == token.startswith("the query") else -ASIDE


def _arrow(
    panel: Any, begin: tuple[float, float], end: tuple[float, float], edges: list[dict[str, Any]], colour: str,
    taken: list[tuple[float, float]],
) -> None:  # fmt: skip
    """One arrow between two nodes; paths through different inputs share it, each with its number.

    The numbers stand where no node and no earlier number does, if there is such a place on the arrow.
    """
    strongest = max(abs(edge["share"]) for edge in edges)
    style = {
        "arrowstyle": "-|>",
        "color": colour,
        "linewidth": 0.6 + 2.4 * min(strongest, 1),
        "shrinkA": 9,
        "shrinkB": 9,
    }
    panel.annotate("", end, begin, arrowprops=style, zorder=1)
    text = "\n".join(f"{INPUTS[edge['input']]} {short(edge['share'])}".strip() for edge in edges)
    places = [((1 - t) * begin[0] + t * end[0], (1 - t) * begin[1] + t * end[1]) for t in ALONG]
    middle = next((place for place in places if not any(_close(place, other) for other in taken)), places[0])
    taken.append(middle)
    patch = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    panel.text(*middle, text, ha="center", va="center", fontsize=7, bbox=patch, zorder=2)


def _close(place: tuple[float, float], other: tuple[float, float]) -> bool:
    return abs(place[0] - other[0]) < LABEL[0] and abs(place[1] - other[1]) < LABEL[1]


def _frame(panel: Any, places: dict[tuple[str, str, int], tuple[float, float]]) -> None:
    panel.grid(False)
    if not places:
        panel.axis("off")
        panel.text(0.5, 0.5, "no path carries a tenth", ha="center", transform=panel.transAxes)
        return
    columns = [place for place in PLACES if any(token == place for _, token, _ in places)]
    panel.set_xticks(range(len(columns)), [_place_name(column) for column in columns], fontsize=7.5)
    panel.set_xlim(-0.6, len(columns) - 0.4)
    heights = [height for _, height in places.values()]
    panel.set_ylim(min(heights) - 0.5, max(heights) + 0.5)
    layers = range(int(np.ceil(min(heights))), int(max(heights)))
    panel.set_yticks([layer for layer in layers if layer >= 0])
    panel.set_ylabel("layer")


def _place_name(place: str) -> str:
    owner, name = place.removeprefix("the ").split(" ", 1)
    return f"{owner}\n{_sign(name)}"


# --- knock-out --------------------------------------------------------------------------------------------------------


def knockout(*results: Result) -> Figure:
    """One table per distribution and model: the slot that may not be read in rows, the reading token in columns."""
    names = list(results[0].details["knockout"]["tables"])
    figure, panels = by_model(results, len(names), 2.2, WIDE, sharey=True)
    for row, result in zip(panels, results):
        for panel, name in zip(row, names):
            table = [[result.values[f"knockout.{name}.{slot}.{token}"].value for token in BLOCKED] for slot in SLOTS]
            rows, columns = [_sign(slot) for slot in SLOTS], [_sign(token) for token in BLOCKED]
            number_map(panel, table, rows, columns, "Blues_r", 1.0, size=7.5)
            panel.tick_params(labelsize=7.5)
            titled(panel, named(results, result, name))
            panel.set_xlabel("read by", fontsize=8.5)
        row[0].set_ylabel("slot not read")
    return figure


def commas(*results: Result) -> Figure:
    """One heat map per distribution and model: accuracy where one head of one layer may not read ','."""
    names = list(results[0].details["knockout"]["tables"])
    figure, panels = by_model(results, len(names), 1.7, WIDE)
    for row, result in zip(panels, results):
        for panel, name in zip(row, names):
            table = result.details["knockout"]["tables"][name]["heads"]
            head_map(panel, table, named(results, result, name), size=6.5)
    return figure


FIGURES = (maps, graphs, knockout, commas)
