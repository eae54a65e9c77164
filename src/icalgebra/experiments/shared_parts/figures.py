"""What each mechanism loses without each component; what heads add to the members' logits at two tokens."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, by_model, legend_below, named
from icalgebra.plotting.panels import head_map, titled
from icalgebra.results import Result

SHOWN = {"identity": "o", "cancel": "s", "copy": "x"}


def losses(*results: Result) -> Figure:
    """Accuracy lost on identity, cancel and copy queries without each head or MLP at '='; a panel per model."""
    figure, panels = by_model(results, 1, 2.4)
    for panel, result in zip(panels[:, 0], results):
        names = result.details["components"]
        for name, marker in SHOWN.items():
            lost = [100 * value for value in result.details["lost"][name]]
            panel.plot(range(len(names)), lost, marker, color=COLOURS[name], label=name, markersize=4, linestyle="none")
        panel.axhline(0, color="#333333", linewidth=0.6)
        panel.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        panel.set(ylabel="accuracy lost (points)", title=result.model if len(results) > 1 else "")
    legend_below(figure, panels, 3)
    return figure


def closure(*results: Result) -> Figure:
    """What every head adds to the logits of the group's members above those of other variables, at two tokens."""
    figure, panels = by_model(results, 2, 2.2)
    for row, result in zip(panels, results):
        for panel, (name, title) in zip(row, {"left": "at the left slot", "equals": "at '='"}.items()):
            table = result.details["closure"].get(name)
            if table is None:
                titled(panel, "not measured")
            else:
                head_map(panel, table, named(results, result, title), "Greens", size=6)
    return figure


FIGURES = (losses, closure)
