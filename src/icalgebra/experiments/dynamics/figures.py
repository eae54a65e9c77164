"""Figures 6 and 7: loss by slot with its exact floor, and the skills as they appear; each seed; the roles of heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icalgebra.plotting import COLOURS, axes, legend_below, line
from icalgebra.plotting.skills import SKILLS
from icalgebra.results import Result

SLOT_COLOURS = {"left": "#4a7fb5", "right": "#999999", "answer": COLOURS["cancel"]}
SEED_COLUMNS = 3
ROLES = {
    "copy": ("copy", COLOURS["copy"]),
    "commute": ("commute", COLOURS["commute"]),
    "query promotion": ("query promotion", COLOURS["identity"]),
    "identity demotion": ("identity demotion", "#a57b13"),
    "left cancellation": ("left cancellation", COLOURS["cancel"]),
    "right cancellation": ("right cancellation", "#e59a89"),
    "closure promotion": ("closure promotion", "#d27f48"),
}


def phases(result: Result) -> Figure:
    """Top: loss by slot, with its floor dashed. Bottom: accuracy on each skill, with a mark where it appears."""
    figure, panels = axes(2, 1, (9.2, 6.4), sharex=True, height_ratios=[1, 1.5])
    for slot, colour in SLOT_COLOURS.items():
        for i, run in enumerate(result.details["runs"]):
            label = f"{slot} slot" if i == 0 else ""
            panels[0][0].plot(run["steps"], run["values"][f"loss/{slot}"], color=colour, linewidth=1.2, label=label)
        floor = result.values.get(f"floor.{slot}")
        if floor is not None:
            panels[0][0].axhline(floor.value, color=colour, linestyle="--", linewidth=1, label=f"{slot}: floor")
    panels[0][0].set(ylabel="loss (nats)", ylim=(0, None))
    for place, (name, (label, colour)) in enumerate(SKILLS.items()):
        if name in result.curves:
            line(panels[1][0], result.curves[name], colour, label)
            _mark(panels[1][0], result, name, colour, 103 + 2.6 * place)
    panels[1][0].axhline(50, color="#bbbbbb", linewidth=0.8, linestyle=":")
    panels[1][0].set(xlabel="training steps", ylabel="accuracy (%)", ylim=(0, 104 + 2.6 * len(SKILLS)))
    panels[1][0].set_yticks(range(0, 101, 20))
    _log_axis(panels[1][0])
    legend_below(figure, panels, columns=5)
    return figure


def _mark(panel: Any, result: Result, name: str, colour: str, height: float) -> None:
    """The onset with its interval, above the curves."""
    found = result.values.get(f"onset.{name}")
    if found is not None:
        panel.plot([found.low, found.high], [height] * 2, color=colour, linewidth=2)
        panel.plot([found.value], [height], "o", color=colour, markersize=4)


def seeds(result: Result) -> Figure:
    """Training loss, hold-out accuracy and every skill, one line per run."""
    names = ["loss", "holdout", *(name for name in SKILLS if name in result.curves and name != "holdout")]
    rows = -(-len(names) // SEED_COLUMNS)
    figure, panels = axes(rows, SEED_COLUMNS, (9.4, 2.2 * rows), sharex=True)
    runs = result.details["runs"]
    shades = np.linspace(1.0, 0.4, len(runs))
    for panel, name in zip(panels.flat, names):
        label, colour = ("training loss", "#444444") if name == "loss" else SKILLS[name]
        for run, shade in zip(runs, shades):
            x, y = zip(*run["loss"]) if name == "loss" else (run["steps"], [100 * v for v in run["values"][name]])
            panel.plot(x, y, color=colour, alpha=shade, linewidth=1.2)
        panel.set(title=label)
        _log_axis(panel)
        if name == "loss":
            panel.set_ylabel("nats per token")
        else:
            panel.set(ylim=(0, 102))
    for panel in panels.flat[len(names) :]:
        panel.axis("off")
    for panel in panels[-1]:
        panel.set_xlabel("training steps")
    for panel in (panels[0][1], *panels[1:, 0]):
        panel.set_ylabel("accuracy (%)")
    return figure


def roles(result: Result) -> Figure:
    """For each role, the score of its final head through training, as a share of its maximum; one line per run."""
    figure, panels = axes(2, 4, (9.4, 4.4), sharex=True, sharey=True)
    runs = [run for run in result.details["runs"] if run["roles"]]
    shades = np.linspace(1.0, 0.4, len(runs))
    for panel, (role, (label, colour)) in zip(panels.flat, ROLES.items()):
        for run, shade in zip(runs, shades):
            found = run["roles"][role]
            top = max(*found["own"]["y"], 1e-9)
            shares = [100 * y / top for y in found["own"]["y"]]
            name = f"{found['head']} (seed {run['config']['seed']})"
            panel.plot(found["own"]["x"], shares, "o-", color=colour, alpha=shade, markersize=2.5, label=name)
        skill = result.values.get(f"onset.{role}")
        if skill is not None:
            panel.axvspan(skill.low, skill.high, color="#dddddd", alpha=0.7, linewidth=0)
        panel.set(title=label, ylim=(-25, 108))
        if runs:
            panel.legend(fontsize=6.5, loc="center left")
        _log_axis(panel)
    panels.flat[-1].axis("off")
    panels[0][-1].tick_params(labelbottom=True)
    for panel in (*panels[-1], panels[0][-1]):
        panel.set_xlabel("training steps")
    for panel in panels[:, 0]:
        panel.set_ylabel("share of its maximum (%)")
    return figure


def _log_axis(panel: Any) -> None:
    panel.set_xscale("log")
    panel.xaxis.set_minor_formatter(NullFormatter())


FIGURES = (phases, seeds, roles)
