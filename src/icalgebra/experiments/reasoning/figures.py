"""Queries by rung against the number of facts, with the model's curve; accuracy by rung and depth beside its floor."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.plotting import COLOURS, WIDTH, axes, by_model, legend_below, line, log_axis, model_colours
from icalgebra.plotting.panels import stack
from icalgebra.results import Result

KINDS = {"train": "training sequences", "holdout": "hold-out sequences"}
RUNGS = ("chain", "latin", "associative", "split", "catalogue")
DEPTHS = {"1": "1", "2": "2", "3": "3", "4": "4", "5": "≥ 5"}


def by_facts(*results: Result) -> Figure:
    """What the mechanisms answer, what each rung adds up to all that is entailed, and the models' accuracy."""
    figure, panels = axes(1, 2, (WIDTH, 4.2), sharey=True)
    first = results[0]
    for panel, (kind, title) in zip(panels[0], KINDS.items()):
        names = (*MECHANISMS, *RUNGS)
        stack(panel, {name: first.curves[f"{kind}.{name}"] for name in names}, names)
        line(panel, first.curves[f"{kind}.ceiling"], COLOURS["ceiling"], "ceiling")
        for result, colour in zip(results, model_colours(results).values()):
            line(panel, result.curves[f"{kind}.model"], colour, result.model)
        panel.set(title=title, xlabel="facts of context", xlim=(1, first.curves[f"{kind}.model"].x[-1]), ylim=(0, 101))
        log_axis(panel, (1, 3, 10, 30))
    panels[0][0].set_ylabel("share of queries (%)")
    legend_below(figure, panels, 4)
    return figure


def by_depth(*results: Result) -> Figure:
    """The models' accuracy beyond the five mechanisms, by rung and by depth of the deduction, beside guessing."""
    figure, panels = by_model(results, 2, 2.9, sharey=True)
    parts = (("", {rung: rung for rung in RUNGS}, "lowest rung"), ("depth.", DEPTHS, "steps, each from the last"))
    for row, result in zip(panels, results):
        for panel, (prefix, names, label) in zip(row, parts):
            for kind, colour in (("holdout", model_colours(results)[result.model]), ("train", COLOURS["total"])):
                _points(panel, result, f"{kind}.{prefix}", names, colour, KINDS[kind])
            panel.set_xticks(range(len(names)), names.values(), fontsize=8)
            panel.set(xlabel=label, ylim=(0, 101), title=result.model if len(results) > 1 else "")
        row[0].set_ylabel("accuracy (%)")
    legend_below(figure, panels, 4)
    return figure


def _points(panel: Any, result: Result, prefix: str, names: dict[str, str], colour: str, title: str) -> None:
    shift = -0.08 if "train" in prefix else 0.08
    found = [(i, name) for i, name in enumerate(names) if f"{prefix}{name}.accuracy" in result.values]
    estimates = [result.values[f"{prefix}{name}.accuracy"] for _, name in found]
    floors = [100 * result.values[f"{prefix}{name}.floor"].value for _, name in found]
    x = [i + shift for i, _ in found]
    y = [100 * estimate.value for estimate in estimates]
    bars = [[100 * (e.value - e.low) for e in estimates], [100 * (e.high - e.value) for e in estimates]]
    panel.errorbar(x, y, yerr=bars, fmt="o", color=colour, markersize=5, capsize=2, label=title)
    panel.plot(x, floors, "_", color=colour, markersize=14, label=f"guessing, {title}")


FIGURES = (by_facts, by_depth)
