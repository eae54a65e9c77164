"""What each mechanism loses without each component; what heads add to the members' logits at two tokens."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, WIDE, by_model, legend_below, named
from icalgebra.plotting.panels import head_map, titled
from icalgebra.results import Result

SHOWN = {"identity": "o", "cancel": "s", "copy": "x"}


def losses(*results: Result) -> Figure:
    """Accuracy lost on identity, cancel and copy queries without each head or MLP at '='; a panel per model."""
    figure, panels = by_model(results, 1, 2.5, WIDE, sharey=True)
    for panel, result in zip(panels[:, 0], results):
        names = result.details["components"]
        for name, marker in SHOWN.items():
            lost = [100 * value for value in result.details["lost"][name]]
            panel.plot(range(len(names)), lost, marker, color=COLOURS[name], label=name, markersize=5, linestyle="none")
        _name_needed(panel, result, names)
        panel.axhline(0, color="#333333", linewidth=0.6)
        panel.set_xticks(range(len(names)), names, rotation=90, fontsize=7.5)
        for place, name in enumerate(names[:-1]):
            if name.startswith("mlp"):  # the end of a layer
                panel.axvline(place + 0.5, color="#777777", linewidth=0.8)
        panel.set(ylabel="accuracy lost (points)", title=result.model if len(results) > 1 else "")
    legend_below(figure, panels, 3)
    return figure


def _name_needed(panel: Any, result: Result, names: list[str]) -> None:
    """The components that identity and cancel queries need most, by name."""
    for mechanism in ("identity", "cancel"):
        name = result.details["chosen"][mechanism]
        place, height = names.index(name), 100 * result.details["lost"][mechanism][names.index(name)]
        right = place < len(names) / 2  # the words stay inside the panel
        panel.annotate(f"{mechanism}: {name}", (place, height), (7 if right else -7, 0), textcoords="offset points",
                       fontsize=8, ha="left" if right else "right", va="center")  # fmt: skip


def closure(*results: Result) -> Figure:
    """What every head adds to the logits of the group's members above those of other variables, at two tokens."""
    figure, panels = by_model(results, 2, 2.2)
    for row, result in zip(panels, results):
        for panel, (name, title) in zip(row, {"left": "at the left slot", "equals": "at '='"}.items()):
            table = result.details["closure"].get(name)
            if table is None:
                titled(panel, "not measured")
            else:
                head_map(panel, table, named(results, result, title), "Greens")
    return figure


FIGURES = (losses, closure)
