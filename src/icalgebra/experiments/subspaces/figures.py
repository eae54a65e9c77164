"""Figures 17 to 19: interchange accuracy by site and size, during fitting and beside controls; what heads write."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, WIDE, WIDTH, axes, by_model, legend_below, line, named
from icalgebra.plotting.panels import number_map, titled
from icalgebra.results import Result

KINDS = {"closure": COLOURS["copy"], "cancellation": COLOURS["cancel"]}
HATCHES = {"closure": "", "cancellation": "////"}  # so that nobody depends on green and red
SHADES = {"closure": "Greens", "cancellation": "Reds"}
FLAGS = {
    "no_identity": ("without identity facts", COLOURS["associate"]),
    "identity": ("with identity facts", COLOURS["cancel"]),
}
BARS = {
    "": "fitted", "shuffled": "shuffled targets", "principal": "principal directions", "random": "random",
    "whole": "whole space",
}  # fmt: skip

TITLES = {
    "attention": "attention output",
    "resid_mid": "residual before MLP",
    "MLP": "MLP output",
    "residual": "residual after MLP",
}


def sweep(*results: Result) -> Figure:
    """Interchange accuracy of both sets by site, layer and number of dimensions; rows: set and model."""
    rows = [(result, kind) for result in results for kind in KINDS]
    swept = [site for site in TITLES if any(_sites(result, kind).get(site) for result, kind in rows)]
    figure, panels = axes(len(rows), len(swept), (WIDE, 1.7 * len(rows)))
    for row, (result, kind) in zip(panels, rows):
        found = _sites(result, kind)
        for panel, component in zip(row, swept):  # a site in the same column for all models
            table = found.get(component)
            if table is None:
                panel.axis("off")
                continue
            sizes = [str(k) for k in result.config["sizes"]]
            number_map(panel, list(table.values()), list(table), sizes, SHADES[kind], 1.0, size=6.5)
            panel.tick_params(labelsize=7)
            titled(panel, TITLES[component])
            panel.title.set_fontsize(8.5)
        row[0].set_ylabel(f"{named(results, result, kind)}\nlayer", fontsize=8)
    for panel in panels[-1]:
        panel.set_xlabel("dimensions", fontsize=8)
    return figure


def _sites(result: Result, kind: str) -> dict[str, Any]:
    return {component: table for component, table in result.details["sweep"][kind].items() if table}


def curves(*results: Result) -> Figure:
    """Accuracy on fresh pairs during fitting; dotted: the share of hold-out queries that are not identity facts."""
    figure, panels = by_model(results, 2, 2.3, sharey=True, sharex=True)
    for row, result in zip(panels, results):
        for panel, kind in zip(row, KINDS):
            for flag, (label, colour) in FLAGS.items():
                line(panel, result.curves[f"{kind}.{flag}"], colour, label)
            share = 100 * result.values["holdout.not_identity"].value
            panel.axhline(share, color="#222222", linestyle=":", linewidth=1, label="queries without the identity")
            titled(panel, named(results, result, f"{kind} subspace"))
            panel.set_ylim(-2, 102)
        row[0].set_ylabel("interchange accuracy (%)")
    for panel in panels[-1]:
        panel.set_xlabel("step")
    legend_below(figure, panels, 3)
    return figure


def controls(*results: Result) -> Figure:
    """Fitted subspaces beside their controls and on the other set's pairs; a panel per model."""
    names = [*BARS.values(), "on the other set's pairs"]
    figure, panels = axes(1, len(results), (WIDTH, 3.0), sharey=True)
    for panel, result in zip(panels[0], results):
        for place, (kind, colour) in enumerate(KINDS.items()):
            keys = [f"{kind}.no_identity" + (f".{key}" if key else "") for key in BARS]
            (other,) = [item for item in KINDS if item != kind]
            _bars(panel, result, [*keys, f"cross.{kind}_for_{other}"], place, colour, kind)
        panel.set(xlim=(0, 102), xlabel="interchange accuracy (%)", title=result.model if len(results) > 1 else "")
    panels[0][0].set_yticks(range(len(names)), names)
    panels[0][0].invert_yaxis()
    legend_below(figure, panels)
    return figure


def _bars(panel: Any, result: Result, keys: list[str], place: int, colour: str, label: str) -> None:
    estimates = [result.values[key].scaled(100) for key in keys]
    y = [i + 0.38 * (place - 0.5) for i in range(len(keys))]
    errors = [[max(0.0, e.value - e.low) for e in estimates], [max(0.0, e.high - e.value) for e in estimates]]
    panel.barh(y, [e.value for e in estimates], 0.36, xerr=errors, color=colour, label=label, hatch=HATCHES[label],
               error_kw={"elinewidth": 0.8, "ecolor": "#333333"})  # fmt: skip


def sides(*results: Result) -> Figure:
    """Cancellations by facts of the row, the column or both: a subspace fitted on one kind is tested on all three."""
    figure, panels = axes(1, len(results), (WIDTH, 2.0), sharey=True)
    kinds = ("both", "left", "right")
    for panel, result in zip(panels[0], results):
        table = [[result.values[f"sides.{fitted}_on_{tested}"].value for tested in kinds] for fitted in kinds]
        number_map(panel, table, [f"fitted on {side}" for side in kinds], kinds, "Reds", 1.0)
        panel.set_xlabel("tested on cancellations by")
        titled(panel, named(results, result, "row (left), column (right), both"))
    return figure


def heads(*results: Result) -> Figure:
    """The share of each final-layer head's variation around its mean inside the two subspaces and a random one."""
    figure, panels = by_model(results, 1, 2.0)
    for panel, result in zip(panels[:, 0], results):
        keys = [key for key in result.values if key.startswith("head.")]
        names = list(dict.fromkeys(key.split(".", 1)[1].rsplit(".", 1)[0] for key in keys))
        for place, (kind, colour) in enumerate({**KINDS, "random": "#9aa5b1"}.items()):
            estimates = [result.values[f"head.{name}.{kind}"].scaled(100) for name in names]
            errors = [[e.value - e.low for e in estimates], [e.high - e.value for e in estimates]]
            panel.bar([i + 0.27 * (place - 1) for i in range(len(names))], [e.value for e in estimates], 0.25,
                      yerr=errors, color=colour, label=f"{kind} subspace", error_kw={"elinewidth": 0.8})  # fmt: skip
        panel.set_xticks(range(len(names)), names)
        panel.set(xlabel="head", ylabel="share inside (%)", title=result.model if len(results) > 1 else "")
    legend_below(figure, panels, 3)
    return figure


FIGURES = (controls, sweep, curves, sides, heads)
