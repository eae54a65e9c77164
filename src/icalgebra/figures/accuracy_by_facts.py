"""Figure 2a and its appendix: hold-out accuracy against the number of facts; and what a long context changes."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.figures import COLOURS, axes, legend_below, line, published_line
from icalgebra.figures.panels import finish_grid
from icalgebra.results import Result

CAUSES = {
    "short": "25 facts",
    "long": "200 facts",
    "repeated": "the same 24 facts\nrepeated up to 199",
    "far": "25 facts, query at the\nposition of the 200th",
    "shifted": "25 facts, all at\nlater positions",
    "company": "200 facts, shared\nwith C8",
}
WIDTH = 0.38


def by_structure(result: Result) -> Figure:
    """One panel a training structure, and one for the mixture."""
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
    """C3 and C4 under changed circumstances, one bar a condition."""
    names = [name for name in ("C3", "C4") if f"decline.{name}.short" in result.values]
    figure, panels = axes(1, 1, (9.4, 3.0))
    panel = panels[0][0]
    for shift, (name, colour) in enumerate(zip(names, (COLOURS["associate"], COLOURS["cancel"]))):
        found = [result.values[f"decline.{name}.{cause}"].scaled(100) for cause in CAUSES]
        places = [place + (shift - 0.5) * WIDTH for place in range(len(CAUSES))]
        error = [[e.value - e.low for e in found], [e.high - e.value for e in found]]
        panel.bar(places, [e.value for e in found], WIDTH, yerr=error, color=colour, alpha=0.8, label=name, capsize=2)
    panel.set_xticks(range(len(CAUSES)), list(CAUSES.values()), fontsize=8)
    panel.set(ylabel="hold-out accuracy (%)", ylim=(0, 104))
    legend_below(figure, panels)
    return figure
