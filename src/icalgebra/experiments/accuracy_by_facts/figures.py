"""Figure 2a and its appendix: hold-out accuracy against the number of facts; and the long-context controls."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, axes, legend_below, line, published_line
from icalgebra.plotting.panels import finish_grid
from icalgebra.results import Result

CAUSES = {
    "short": "25 facts",
    "long": "{k} facts",
    "repeated": "the same 24 facts\nrepeated up to {before}",
    "far": "25 facts, query at the\nposition of the {kth}",
    "shifted": "25 facts, all at\nlater positions",
    "company": "{k} facts, shared\nwith C8",
}
PUBLISHED_LENGTH = 200  # for results that do not state their model's sequence length
WIDTH = 0.38


def by_structure(result: Result) -> Figure:
    """One panel per training structure, and one for the mixture."""
    names = [key.removeprefix("model.") for key in result.curves if key.startswith("model.")]
    columns = 4
    rows = -(-len(names) // columns)
    figure, panels = axes(rows, columns, (9.4, 2.1 * rows + 0.6), sharex=True, sharey=True)
    for panel, name in zip(panels.flat, names):
        line(panel, result.curves[f"ceiling.{name}"], COLOURS["ceiling"], "ceiling (training world)")
        line(panel, result.curves[f"solvers.{name}"], COLOURS["total"], "the five mechanisms", linewidth=1)
        line(panel, result.curves[f"model.{name}"], COLOURS["model"], "model")
        published_line(panel, "2a", name)
        panel.set(title=name, xlim=(0, result.curves[f"model.{name}"].x[-1]), ylim=(0, 102))
    finish_grid(figure, panels, len(names))
    return figure


def causes(result: Result) -> Figure:
    """C3 and C4 in the control conditions, one bar per condition."""
    names = [name for name in ("C3", "C4") if f"decline.{name}.short" in result.values]
    figure, panels = axes(1, 1, (9.4, 3.0))
    panel = panels[0][0]
    for shift, (name, colour) in enumerate(zip(names, (COLOURS["associate"], COLOURS["cancel"]))):
        keys = {place: f"decline.{name}.{cause}" for place, cause in enumerate(CAUSES)}
        found = {place: result.values[key].scaled(100) for place, key in keys.items() if key in result.values}
        places = [place + (shift - 0.5) * WIDTH for place in found]
        error = [[e.value - e.low for e in found.values()], [e.high - e.value for e in found.values()]]
        heights = [e.value for e in found.values()]
        panel.bar(places, heights, WIDTH, yerr=error, color=colour, alpha=0.8, label=name, capsize=2)
    panel.set_xticks(range(len(CAUSES)), labels(result.config.get("n_facts", PUBLISHED_LENGTH)), fontsize=8)
    panel.set(ylabel="hold-out accuracy (%)", ylim=(0, 104))
    legend_below(figure, panels)
    return figure


def labels(k: int) -> list[str]:
    """The names of the conditions for a model whose sequences have k facts."""
    ending = "th" if k // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return [name.format(k=k, before=k - 1, kth=f"{k}{ending}") for name in CAUSES.values()]


FIGURES = (by_structure, causes)
