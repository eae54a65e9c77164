"""How well the subspaces work in other sequences, and how the fits converge."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, WIDTH, axes, legend_below, line, named
from icalgebra.plotting.panels import titled
from icalgebra.results import Result

KINDS = {"closure": COLOURS["copy"], "cancellation": COLOURS["cancel"]}
BARS = {
    "accuracy": "fresh pairs of the same kind",
    "differ.2": "sets that differ in two members",
    "differ.3": "sets that differ in three",
    "cyclic_on_dihedral": "dihedral groups, fitted on cyclic",
    "dihedral_on_cyclic": "cyclic groups, fitted on dihedral",
    "natural": "natural sequences",
    "new_variables": "variables that were never targets",
    "untrained": "control: an untrained model, fitted anew",
    "shuffled": "control: fitted to shuffled targets",
    "random": "control: random subspaces",
    "dormant": "control: only directions that hardly vary",
}
HATCHES = {"closure": "", "cancellation": "////"}  # so that nobody depends on green and red
BAR = 0.36


def tests(*results: Result) -> Figure:
    """Interchange accuracy of both subspaces in other sequences, above their controls; a panel per model."""
    figure, panels = axes(1, len(results), (WIDTH, 4.2), sharey=True)
    for panel, result in zip(panels[0], results):
        for place, (kind, colour) in enumerate(KINDS.items()):
            found = {i: result.values[f"{kind}.{key}"].scaled(100) for i, key in enumerate(BARS)
                     if f"{kind}.{key}" in result.values}  # fmt: skip
            errors = [
                [max(0.0, e.value - e.low) for e in found.values()],
                [max(0.0, e.high - e.value) for e in found.values()],
            ]
            panel.barh([i + BAR * (place - 0.5) for i in found], [e.value for e in found.values()], BAR, xerr=errors,
                       color=colour, label=f"{kind} set", hatch=HATCHES[kind],
                       error_kw={"elinewidth": 0.8, "ecolor": "#333333"})  # fmt: skip
        panel.set(xlim=(0, 102), xlabel="interchange accuracy (%)", title=result.model if len(results) > 1 else "")
    panels[0][0].set_yticks(range(len(BARS)), list(BARS.values()))
    panels[0][0].invert_yaxis()
    legend_below(figure, panels)
    return figure


def convergence(*results: Result) -> Figure:
    """Accuracy on fresh pairs while the subspaces are fitted, at our learning rate and at the published one."""
    columns = [(result, prefix, title) for result in results for prefix, title in _widths(result).items()]
    figure, panels = axes(1, len(columns), (WIDTH, 2.9), sharey=True)
    for panel, (result, prefix, title) in zip(panels[0], columns):
        for kind, colour in KINDS.items():
            for name, style in (("ours", "-"), ("published", "--")):
                rate = result.config["learning_rate" if name == "ours" else "published_rate"]
                line(panel, result.curves[f"{prefix}{kind}.{name}"], colour, f"{kind}, {rate:g}", linestyle=style)
        titled(panel, named(results, result, title))
        panel.title.set_fontsize(8)
        panel.set(xlabel="step", ylim=(-2, 102))
    panels[0][0].set_ylabel("interchange accuracy (%)")
    legend_below(figure, panels, 4)
    return figure


def _widths(result: Result) -> dict[str, str]:
    """Prefixes of curves and their titles: the model, and the same model made wider."""
    groups = {"": f"d_model = {result.details['d_model']}, {result.config['n']} pairs"}
    for key in result.curves:
        if key.startswith("width."):
            width = key.split(".")[1]
            groups[f"width.{width}."] = f"d_model = {width}, {result.config['n_wide']} pairs"
    return groups


FIGURES = (tests, convergence)
