"""Every head's score for every role, and what ablating and patching the heads of each role does."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import WIDE, WIDTH, axes, named
from icalgebra.plotting.panels import head_map, number_map, titled
from icalgebra.results import Result


def roles(*results: Result) -> Figure:
    """A row per role and a column per model: the score of every head; a role's colour scale is that of all models."""
    names = list(dict.fromkeys(role for result in results for role in result.details["roles"]))
    figure, panels = axes(len(names), len(results), (WIDE, 1.6 * len(names)))
    for row, role in zip(panels, names):
        tables = [result.details["roles"].get(role, {}).get("scores") for result in results]
        best = max(value for table in tables if table for line in table for value in line)
        for panel, result, table in zip(row, results, tables):
            if table is None:
                panel.axis("off")
            else:
                head_map(panel, table, named(results, result, role), "Blues", max(best, 1e-6))
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
        number_map(panel, table, names, [c.replace("_", "\n") for c in columns], colour, 1.0)
        titled(panel, named(results, result, title), "left")
    return figure


def _listed(result: Result, role: str) -> str:
    heads = result.details["roles"][role]["heads"]
    return ", ".join(heads[:3]) + (" …" if len(heads) > 3 else "")


FIGURES = (roles, ablations)
