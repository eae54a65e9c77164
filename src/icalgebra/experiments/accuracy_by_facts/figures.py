"""Figure 2a and its appendix: hold-out accuracy against the number of facts; and the long-context controls."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, WIDTH, axes, by_order, legend_below, line, model_colours, published_line
from icalgebra.plotting.panels import finish_grid
from icalgebra.results import Result

CAUSES = {
    "short": "25 facts",
    "long": "{k} facts",
    "repeated": "24 facts repeated\nup to {before}",
    "far": "25 facts, query\nat the {kth}",
    "shifted": "25 facts, all\nat later positions",
    "company": "{k} facts, shared\nwith C8",
}
PUBLISHED_LENGTH = 200  # for results that do not state their model's sequence length
BAR = 0.8  # the width of all bars of one condition together


def by_structure(*results: Result) -> Figure:
    """One panel per training structure, and one for the mixture: all models, the mechanisms and the ceiling."""
    first, colours = results[0], model_colours(results)
    found = [key.removeprefix("model.") for key in first.curves if key.startswith("model.")]
    names = [*by_order(name for name in found if name != "mixture"), *(["mixture"] if "mixture" in found else [])]
    columns = 4
    rows = -(-len(names) // columns)
    figure, panels = axes(rows, columns, (WIDTH, 1.6 * rows + 0.7), sharex=True, sharey=True)
    for panel, name in zip(panels.flat, names):
        line(panel, first.curves[f"ceiling.{name}"], COLOURS["ceiling"], "ceiling (training world)", linewidth=1.2)
        line(panel, first.curves[f"solvers.{name}"], COLOURS["total"], "the five mechanisms", linewidth=1)
        for result in results:
            if f"model.{name}" in result.curves:
                line(panel, result.curves[f"model.{name}"], colours[result.model], result.model, linewidth=1.3)
        published_line(panel, "2a", name)
        panel.set(title=name, xlim=(0, first.curves[f"model.{name}"].x[-1]), ylim=(0, 102))
    finish_grid(figure, panels, len(names))
    return figure


def causes(*results: Result) -> Figure:
    """C3 and C4 in the control conditions, one bar per condition and model."""
    names = [name for name in ("C3", "C4") if any(f"decline.{name}.short" in result.values for result in results)]
    figure, panels = axes(max(1, len(names)), 1, (WIDTH, 1.9 * max(1, len(names)) + 0.7), sharex=True)
    width = BAR / len(results)
    for panel, name in zip(panels.flat, names):
        for shift, (result, colour) in enumerate(zip(results, model_colours(results).values())):
            keys = {place: f"decline.{name}.{cause}" for place, cause in enumerate(CAUSES)}
            found = {place: result.values[key].scaled(100) for place, key in keys.items() if key in result.values}
            places = [place + width * (shift - (len(results) - 1) / 2) for place in found]
            error = [[e.value - e.low for e in found.values()], [e.high - e.value for e in found.values()]]
            heights = [e.value for e in found.values()]
            panel.bar(places, heights, width, yerr=error, color=colour, alpha=0.8, label=result.model, capsize=2)
        panel.set(title=name, ylabel="accuracy (%)", ylim=(0, 104))
    panels[-1][0].set_xticks(
        range(len(CAUSES)), labels(results[0].config.get("n_facts", PUBLISHED_LENGTH)), fontsize=7.5
    )
    legend_below(figure, panels)
    return figure


def labels(k: int) -> list[str]:
    """The names of the conditions for a model whose sequences have k facts."""
    ending = "th" if k // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return [name.format(k=k, before=k - 1, kth=f"{k}{ending}") for name in CAUSES.values()]


FIGURES = (by_structure, causes)
