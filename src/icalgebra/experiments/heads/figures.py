"""Every head's score for every role, and what ablating and patching the heads of each role does."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import WIDTH, axes, named
from icalgebra.plotting.panels import head_map, number_map, titled
from icalgebra.results import Result

COLOURS = ("Greens", "Purples", "YlOrBr", "RdPu", "Reds", "Oranges", "Blues")


def roles(*results: Result) -> Figure:
    """One heat map per role and model: the score of every head; each colour scale ends at the panel's best head."""
    figure, panels = axes(2 * len(results), 4, (WIDTH, 3.3 * len(results)))
    for place, result in enumerate(results):
        found, own = result.details["roles"], panels[2 * place : 2 * place + 2].flat
        for panel, colour, (role, table) in zip(own, COLOURS, found.items()):
            best = max(max(row) for row in table["scores"])
            head_map(panel, table["scores"], named(results, result, role), colour, max(best, 1e-6), size=4.2)
            panel.title.set_fontsize(7.5)
        for panel in panels[2 * place : 2 * place + 2].flat[len(found) :]:
            panel.axis("off")
    return figure


def ablations(*results: Result) -> Figure:
    """Tables by role and distribution: accuracy with its heads mean-ablated, and with only its heads patched in."""
    kinds = (("necessary.{}.{}.mean", "accuracy (%) without these heads", "Blues"),
             ("sufficient.{}.{}", "answers (%) with only these heads", "Greens"))  # fmt: skip
    figure, panels = axes(2 * len(results), 1, (WIDTH, 5.0 * len(results)))
    rows = [(result, *kind) for result in results for kind in kinds]
    for panel, (result, pattern, title, colour) in zip(panels[:, 0], rows):
        found = list(result.details["roles"])
        keys = [*(role.replace(" ", "_") for role in found), "last_layer", "all"]
        names = [f"{role} ({_listed(result, role)})" for role in found] + ["the last layer", "all heads"]
        columns = [key.split(".", 1)[1] for key in result.values if key.startswith("plain.")]
        table = [[result.values[pattern.format(key, column)].value for column in columns] for key in keys]
        number_map(panel, table, names, [c.replace("_", "\n") for c in columns], colour, 1.0, factor=100, digits=0)
        titled(panel, named(results, result, title), "left")
    return figure


def _listed(result: Result, role: str) -> str:
    heads = result.details["roles"][role]["heads"]
    return ", ".join(heads[:3]) + (" …" if len(heads) > 3 else "")


FIGURES = (roles, ablations)
