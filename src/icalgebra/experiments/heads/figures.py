"""Every head's score for every role, and what ablating and patching the heads of each role does."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import axes
from icalgebra.plotting.panels import head_map, number_map, titled
from icalgebra.results import Result

COLOURS = ("Greens", "Purples", "YlOrBr", "RdPu", "Reds", "Oranges", "Blues")


def roles(result: Result) -> Figure:
    """One heat map per role: the score of every head, with the colour scale ending at the best one."""
    found = result.details["roles"]
    figure, panels = axes(2, 4, (9.0, 4.6))
    for panel, colour, (role, table) in zip(panels.flat, COLOURS, found.items()):
        best = max(max(row) for row in table["scores"])
        head_map(panel, table["scores"], role, colour, max(best, 1e-6), size=5.2)
    for panel in panels.flat[len(found) :]:
        panel.axis("off")
    return figure


def ablations(result: Result) -> Figure:
    """Tables by role and distribution: accuracy with its heads mean-ablated, and with only its heads patched in."""
    found = list(result.details["roles"])
    keys = [*(role.replace(" ", "_") for role in found), "last_layer", "all"]
    names = [f"{role} ({_listed(result, role)})" for role in found] + ["the last layer", "all heads"]
    columns = [key.split(".", 1)[1] for key in result.values if key.startswith("plain.")]
    figure, panels = axes(2, 1, (9.0, 6.2))
    kinds = (("necessary.{}.{}.mean", "accuracy (%) with these heads' outputs replaced by their mean", "Blues"),
             ("sufficient.{}.{}", "answers (%) with only these heads patched into another run", "Greens"))  # fmt: skip
    for panel, (pattern, title, colour) in zip(panels[:, 0], kinds):
        table = [[result.values[pattern.format(key, column)].value for column in columns] for key in keys]
        number_map(panel, table, names, [c.replace("_", "\n") for c in columns], colour, 1.0, factor=100, digits=0)
        titled(panel, title, "left")
    return figure


def _listed(result: Result, role: str) -> str:
    heads = result.details["roles"][role]["heads"]
    return ", ".join(heads[:3]) + (" …" if len(heads) > 3 else "")


FIGURES = (roles, ablations)
