"""Figures 17 to 19: interchange accuracy by site and size, during fitting and beside controls; what heads write."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, axes, legend_below, line
from icalgebra.plotting.panels import number_map, titled
from icalgebra.results import Result

KINDS = {"closure": COLOURS["copy"], "cancellation": COLOURS["cancel"]}
FLAGS = {
    "no_identity": ("without identity facts", COLOURS["associate"]),
    "identity": ("with identity facts", COLOURS["cancel"]),
}
BARS = {
    "": "fitted", "shuffled": "fitted to shuffled targets", "principal": "principal directions", "random": "random",
    "whole": "whole space",
}  # fmt: skip

TITLES = {
    "attention": "attention output",
    "resid_mid": "residual, before the MLP",
    "MLP": "MLP output",
    "residual": "residual, after it",
}


def closure_sweep(result: Result) -> Figure:
    """Interchange accuracy of the closure set by site and number of dimensions."""
    return _sweep(result, "closure", "Greens")


def cancellation_sweep(result: Result) -> Figure:
    """Interchange accuracy of the cancellation set by site and number of dimensions."""
    return _sweep(result, "cancellation", "Reds")


def _sweep(result: Result, kind: str, colour: str) -> Figure:
    """Accuracy in per cent: layers in rows, sizes in columns, one panel per component in the sweep."""
    tables = {component: table for component, table in result.details["sweep"][kind].items() if table}
    tallest = max(len(table) for table in tables.values())
    figure, panels = axes(1, len(tables), (max(9.0, 3.1 * len(tables)), 1.1 + 0.42 * tallest))
    for panel, (component, table) in zip(panels[0], tables.items()):
        names = [f"layer {layer}" for layer in table]
        number_map(panel, list(table.values()), names, [str(k) for k in result.config["sizes"]], colour, 1.0,
                   factor=100, digits=0)  # fmt: skip
        titled(panel, TITLES[component])
        panel.set_xlabel("dimensions")
    return figure


def curves(result: Result) -> Figure:
    """Accuracy on fresh pairs during fitting; dotted: the share of hold-out queries that are not identity facts."""
    figure, panels = axes(1, 2, (9.0, 3.0), sharey=True)
    for panel, kind in zip(panels[0], KINDS):
        for flag, (label, colour) in FLAGS.items():
            line(panel, result.curves[f"{kind}.{flag}"], colour, label)
        share = 100 * result.values["holdout.not_identity"].value
        panel.axhline(share, color="#222222", linestyle=":", linewidth=1, label="queries that are not identity facts")
        titled(panel, f"{kind} subspace")
        panel.set_xlabel("step")
        panel.set_ylim(-2, 102)
    panels[0][0].set_ylabel("interchange accuracy (%)")
    legend_below(figure, panels, 3)
    return figure


def controls(result: Result) -> Figure:
    """Fitted subspaces beside their controls, on the other set's pairs, and on cancellations by one side only."""
    figure, panels = axes(1, 2, (9.0, 2.9), width_ratios=(1.7, 1.0))
    names = [*BARS.values(), "on the other set's pairs"]
    for place, (kind, colour) in enumerate(KINDS.items()):
        keys = [f"{kind}.no_identity" + (f".{key}" if key else "") for key in BARS]
        (other,) = [item for item in KINDS if item != kind]
        _bars(panels[0][0], result, [*keys, f"cross.{kind}_for_{other}"], place, colour, kind)
    panels[0][0].set_yticks(range(len(names)), names)
    panels[0][0].invert_yaxis()
    panels[0][0].set_xlim(0, 102)
    panels[0][0].set_xlabel("interchange accuracy (%), without identity facts")
    panels[0][0].legend(loc="center right", frameon=False)
    _sides(panels[0][1], result)
    return figure


def _bars(panel: Any, result: Result, keys: list[str], place: int, colour: str, label: str) -> None:
    estimates = [result.values[key].scaled(100) for key in keys]
    y = [i + 0.38 * (place - 0.5) for i in range(len(keys))]
    errors = [[max(0.0, e.value - e.low) for e in estimates], [max(0.0, e.high - e.value) for e in estimates]]
    panel.barh(y, [e.value for e in estimates], 0.36, xerr=errors, color=colour, label=label,
               error_kw={"elinewidth": 0.8, "ecolor": "#333333"})  # fmt: skip


def _sides(panel: Any, result: Result) -> None:
    sides = ("both", "left", "right")
    table = [[result.values[f"sides.{fitted}_on_{tested}"].value for tested in sides] for fitted in sides]
    number_map(panel, table, [f"fitted on {side}" for side in sides], sides, "Reds", 1.0, factor=100, digits=0)
    panel.set_xlabel("tested on cancellations by")
    titled(panel, "row (left), column (right) or both")


def heads(result: Result) -> Figure:
    """The share of each final-layer head's variation around its mean inside the two subspaces and a random one."""
    figure, panels = axes(1, 1, (9.0, 2.7))
    panel = panels[0][0]
    keys = [key for key in result.values if key.startswith("head.")]
    names = list(dict.fromkeys(key.split(".", 1)[1].rsplit(".", 1)[0] for key in keys))
    for place, (kind, colour) in enumerate({**KINDS, "random": "#9aa5b1"}.items()):
        estimates = [result.values[f"head.{name}.{kind}"].scaled(100) for name in names]
        errors = [[e.value - e.low for e in estimates], [e.high - e.value for e in estimates]]
        panel.bar([i + 0.27 * (place - 1) for i in range(len(names))], [e.value for e in estimates], 0.25, yerr=errors,
                  color=colour, label=f"{kind} subspace", error_kw={"elinewidth": 0.8})  # fmt: skip
    panel.set_xticks(range(len(names)), names)
    panel.set_xlabel("head")
    panel.set_ylabel("share inside (%)")
    legend_below(figure, panels, 3)
    return figure


FIGURES = (curves, controls, closure_sweep, cancellation_sweep, heads)
