"""Queries by rung against the number of facts, with the model's curve; accuracy by rung and depth beside its floor."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.plotting import COLOURS, WIDE, axes, by_model, legend_below, log_axis, model_colours
from icalgebra.results import Result

KINDS = {"train": "training sequences", "holdout": "hold-out sequences"}
RUNGS = ("chain", "latin", "associative", "split", "catalogue")
LAYERS = {  # fewer than rungs and mechanisms, so that they can be told apart
    "the five mechanisms": (MECHANISMS, "#cfcfcf"),
    "deduction by rules: chain, latin, associative": (RUNGS[:3], "#93c4e0"),
    "by contradiction or the list of groups: split, catalogue": (RUNGS[3:], "#f3d694"),
}
DEPTHS = {"1": "1", "2": "2", "3": "3", "4": "4", "5": "≥ 5"}


def by_facts(*results: Result) -> Figure:
    """What the mechanisms answer, what deduction adds up to all that is entailed, and the models' accuracy."""
    figure, panels = axes(1, 2, (WIDE, 4.2), sharey=True)
    first = results[0]
    for panel, (kind, title) in zip(panels[0], KINDS.items()):
        _layers(panel, first, kind)
        lines = [(first.curves[f"{kind}.ceiling"], COLOURS["ceiling"], "ceiling")]
        lines += [(result.curves[f"{kind}.model"], colour, result.model)
                  for result, colour in zip(results, model_colours(results).values())]  # fmt: skip
        for curve, colour, label in lines:  # bands would hide the layers; by_depth() has intervals
            panel.plot(curve.x, [100 * y for y in curve.y], color=colour, label=label, linewidth=1.8)
        panel.set(title=title, xlabel="facts of context", xlim=(1, first.curves[f"{kind}.model"].x[-1]), ylim=(0, 101))
        log_axis(panel, (1, 3, 10, 30))
    panels[0][0].set_ylabel("share of queries (%)")
    legend_below(figure, panels, 3)
    return figure


def _layers(panel: Any, result: Result, kind: str) -> None:
    curves = {label: [result.curves[f"{kind}.{name}"] for name in names] for label, (names, _) in LAYERS.items()}
    shares = [[100 * sum(parts) for parts in zip(*(curve.y for curve in part))] for part in curves.values()]
    x = result.curves[f"{kind}.{MECHANISMS[0]}"].x
    panel.stackplot(x, shares, labels=list(LAYERS), colors=[colour for _, colour in LAYERS.values()], linewidth=0)


def by_depth(*results: Result) -> Figure:
    """The models' accuracy beyond the five mechanisms, by rung and by depth of the deduction, beside guessing."""
    figure, panels = by_model(results, 2, 2.7, WIDE, sharey=True)
    parts = (("", {rung: rung for rung in RUNGS}, "lowest rung"), ("depth.", DEPTHS, "steps, each from the last"))
    for row, result in zip(panels, results):
        for panel, (prefix, names, label) in zip(row, parts):
            for kind in ("holdout", "train"):
                _points(panel, result, f"{kind}.{prefix}", names, model_colours(results)[result.model])
            panel.set_xticks(range(len(names)), names.values(), fontsize=8)
            panel.set(xlabel=label, ylim=(0, 101), title=result.model if len(results) > 1 else "")
        row[0].set_ylabel("accuracy (%)")
    _explain(panels[0][0])
    legend_below(figure, panels, 3)
    return figure


def _explain(panel: Any) -> None:
    """Labels in grey: the marks mean the same in every model's colour."""
    grey: dict[str, Any] = {"color": "#555555", "linestyle": "none"}
    panel.plot([], [], "o", **grey, label=KINDS["holdout"])
    panel.plot([], [], "o", **grey, markerfacecolor="white", label=KINDS["train"])
    panel.plot([], [], "_", **grey, markersize=12, label="guessing")


def _points(panel: Any, result: Result, prefix: str, names: dict[str, str], colour: str) -> None:
    fill = "white" if "train" in prefix else colour
    shift = -0.08 if "train" in prefix else 0.08
    found = [(i, name) for i, name in enumerate(names) if f"{prefix}{name}.accuracy" in result.values]
    estimates = [result.values[f"{prefix}{name}.accuracy"] for _, name in found]
    floors = [100 * result.values[f"{prefix}{name}.floor"].value for _, name in found]
    x = [i + shift for i, _ in found]
    y = [100 * estimate.value for estimate in estimates]
    bars = [[100 * (e.value - e.low) for e in estimates], [100 * (e.high - e.value) for e in estimates]]
    panel.errorbar(x, y, yerr=bars, fmt="o", color=colour, markerfacecolor=fill, markersize=5, capsize=2)
    panel.plot(x, floors, "_", color=colour, markersize=14)


FIGURES = (by_facts, by_depth)
