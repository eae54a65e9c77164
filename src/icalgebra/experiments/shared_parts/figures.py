"""What each mechanism loses without each component; what heads add to the members' logits at two tokens."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, axes, legend_below
from icalgebra.plotting.panels import head_map, titled
from icalgebra.results import Result

SHOWN = {"identity": "o", "cancel": "s", "copy": "x"}


def losses(result: Result) -> Figure:
    """Accuracy lost on identity, cancel and copy queries without each head or MLP at '='."""
    figure, panels = axes(1, 1, (9.4, 3.0))
    panel, names = panels[0][0], result.details["components"]
    for name, marker in SHOWN.items():
        lost = [100 * value for value in result.details["lost"][name]]
        panel.plot(range(len(names)), lost, marker, color=COLOURS[name], label=name, markersize=4, linestyle="none")
    panel.axhline(0, color="#333333", linewidth=0.6)
    panel.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    panel.set(ylabel="accuracy lost (points)")
    legend_below(figure, panels, 3)
    return figure


def closure(result: Result) -> Figure:
    """What every head adds to the logits of the group's members above those of other variables, at two tokens."""
    found = {name: result.details["closure"].get(name) for name in ("left", "equals")}
    figure, panels = axes(1, 2, (6.4, 2.6))
    for panel, (name, table) in zip(panels[0], found.items()):
        if table is None:
            titled(panel, "not measured")
        else:
            head_map(panel, table, "at the left slot" if name == "left" else "at '='", "Greens")
    return figure


FIGURES = (losses, closure)
