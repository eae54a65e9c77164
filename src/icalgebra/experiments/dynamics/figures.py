"""Figures 6 and 7: loss by slot with its exact floor, and the skills as they appear; each seed; the roles of heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from icalgebra.plotting import COLOURS, WIDE, WIDTH, axes, legend_below, line, log_axis, model_colours
from icalgebra.plotting.skills import SKILLS, STYLES
from icalgebra.results import Result

SLOT_COLOURS = {"left": "#111111", "right": "#8a8a8a", "answer": "#8c6d31"}  # of no skill
SEED_COLUMNS = 3
WITHOUT_ONSET = "holdout"  # a mixture of skills
ROLES = {
    "copy": ("copy", COLOURS["copy"]),
    "commute": ("commute", COLOURS["commute"]),
    "query promotion": ("query promotion", COLOURS["identity"]),
    "identity demotion": ("identity demotion", "#a57b13"),
    "left cancellation": ("left cancellation", COLOURS["cancel"]),
    "right cancellation": ("right cancellation", "#e59a89"),
    "closure promotion": ("closure promotion", "#d27f48"),
}


def phases(*results: Result) -> Figure:
    """Top: loss by slot, with its floor dashed. Middle: the onset of each skill. Bottom: accuracy on each skill."""
    figure, panels = axes(3, len(results), (WIDE, 7.0), sharex="col", sharey="row", height_ratios=[1, 0.8, 1.5])
    for (loss, onsets, accuracy), result in zip(panels.T, results):
        _losses(loss, result)
        for place, (name, (_, colour)) in enumerate(SKILLS.items()):
            if name in result.curves:
                line(accuracy, result.curves[name], colour, linestyle=STYLES[place])
            if name != WITHOUT_ONSET:  # the key to the curves, too
                onsets.axhline(place, color=colour, linestyle=STYLES[place], linewidth=1, alpha=0.6)
                _mark(onsets, result, name, colour, place)
        accuracy.axhline(50, color="#bbbbbb", linewidth=0.8, linestyle=":")
        accuracy.set(xlabel="training steps", ylim=(0, 102))
        log_axis(accuracy)
        loss.set_title(result.model if len(results) > 1 else "")
    panels[0][0].set(ylabel="loss (nats)", ylim=(0, None))
    panels[0][0].legend(fontsize=8, loc="lower left")
    keyed = [item for name, item in SKILLS.items() if name != WITHOUT_ONSET]
    panels[1][0].set(ylabel="onset", ylim=(-0.7, len(keyed) - 0.3))
    for panel in panels[1]:
        panel.grid(False, axis="y")
    panels[1][0].set_yticks(range(len(keyed)), [label for label, _ in keyed])
    for text, (_, colour) in zip(panels[1][0].get_yticklabels(), keyed):
        text.set_color(colour)
    panels[2][0].set_ylabel("accuracy (%)")
    return figure


def _losses(panel: Any, result: Result) -> None:
    for slot, colour in SLOT_COLOURS.items():
        for i, run in enumerate(result.details["runs"]):
            label = f"{slot} slot" if i == 0 else ""
            panel.plot(run["steps"], run["values"][f"loss/{slot}"], color=colour, linewidth=1.2, label=label)
        floor = result.values.get(f"floor.{slot}")
        if floor is not None:
            panel.axhline(floor.value, color=colour, linestyle="--", linewidth=1)


def _mark(panel: Any, result: Result, name: str, colour: str, height: float) -> None:
    """The onset with its interval, in the skill's colour."""
    found, onsets = result.values.get(f"onset.{name}"), result.details["onsets"]
    n = sum(run[name]["step"] is not None for run in onsets if name in run)
    if n < len(onsets) and name in onsets[0]:
        words = f"in {n} of {len(onsets)} runs" if n else "not by the end"
        panel.annotate(words, (0.01, height), xycoords=("axes fraction", "data"), xytext=(0, 2),
                       textcoords="offset points", fontsize=7.5, color=colour)  # fmt: skip
    if found is not None:
        panel.plot([found.low, found.high], [height] * 2, color=colour, linewidth=3.5)
        panel.plot([found.value], [height], "o", color=colour, markersize=6)


def seeds(*results: Result) -> Figure:
    """Training loss, hold-out accuracy and every skill, one line per run, one colour per recipe."""
    found = [name for name in SKILLS if any(name in result.curves for result in results) and name != "holdout"]
    names, colours = ["loss", "holdout", *found], model_colours(results)
    rows = -(-len(names) // SEED_COLUMNS)
    figure, panels = axes(rows, SEED_COLUMNS, (WIDTH, 1.7 * rows + 0.3), sharex=True)
    for panel, name in zip(panels.flat, names):
        for result in results:
            runs = result.details["runs"]
            for run, shade in zip(runs, np.linspace(1.0, 0.4, len(runs))):
                x, y = zip(*run["loss"]) if name == "loss" else (run["steps"], [100 * v for v in run["values"][name]])
                panel.plot(x, y, color=colours[result.model], alpha=shade, linewidth=1.1, label=result.model)
        panel.set(title="training loss (nats)" if name == "loss" else SKILLS[name][0])
        log_axis(panel)
        if name != "loss":
            panel.set(ylim=(0, 102))
    for panel in panels.flat[len(names) :]:
        panel.axis("off")
    for panel in panels[-1]:
        panel.set_xlabel("training steps")
    for panel in (panels[0][1], *panels[1:, 0]):
        panel.set_ylabel("accuracy (%)")
    legend_below(figure, panels)
    return figure


def roles(*results: Result) -> Figure:
    """For each role, the score of its final head through training, as a share of its maximum; one line per run."""
    figure, panels = axes(2, 4, (WIDTH, 4.2), sharex=True, sharey=True)
    for panel, (role, (label, colour)) in zip(panels.flat, ROLES.items()):
        heads = [head for result in results for head in _role(panel, result, role, colour)]
        panel.set(ylim=(-25, 108))
        panel.set_title(f"{label}\n{', '.join(heads)}", fontsize=8)
        log_axis(panel)
    panels.flat[-1].axis("off")
    panels[0][-1].tick_params(labelbottom=True)
    for panel in (*panels[-1], panels[0][-1]):
        panel.set_xlabel("training steps")
    for panel in panels[:, 0]:
        panel.set_ylabel("share of maximum (%)")
    return figure


def _role(panel: Any, result: Result, role: str, colour: str) -> list[str]:
    """Draw one role in all runs of a recipe; returns the heads, in the order of the seeds."""
    runs = [run for run in result.details["runs"] if run["roles"]]
    for run, shade in zip(runs, np.linspace(1.0, 0.4, len(runs))):
        own = run["roles"][role]["own"]
        top = max(*own["y"], 1e-9)
        panel.plot(own["x"], [100 * y / top for y in own["y"]], "o-", color=colour, alpha=shade, markersize=2.5)
    skill = result.values.get(f"onset.{role}")
    if skill is not None:
        panel.axvspan(skill.low, skill.high, color="#dddddd", alpha=0.7, linewidth=0)
    return [run["roles"][role]["head"] for run in runs]


FIGURES = (phases, seeds, roles)
