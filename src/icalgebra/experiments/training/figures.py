"""Figure 2b: hold-out accuracy through training, by steps, compute and time; and the skills in their order."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icalgebra.claims import published
from icalgebra.language.world import PAPER_STRUCTURES
from icalgebra.plotting import COLOURS, axes
from icalgebra.results import Result
from icalgebra.train.presets import preset
from icalgebra.train.speedrun import flops_before

RELEASED_STEP_SECONDS = 1.157  # a step of the released code on an H200
RELEASED_STEP_FLOPS = flops_before(preset("paper"), 1)  # the same architecture and batch
SKILLS = {
    "structural": ("structural tokens", "#999999"),
    "closure_top_k": ("closure (top K)", "#d27f48"),
    "copy": ("copy", COLOURS["copy"]),
    "commute": ("commute", COLOURS["commute"]),
    "identity": ("identity", COLOURS["identity"]),
    "cancel": ("cancel", COLOURS["cancel"]),
    "associate": ("associate", COLOURS["associate"]),
    "holdout": ("hold-out", COLOURS["model"]),
}


def holdout(result: Result) -> Figure:
    """Hold-out accuracy by step, by compute and by second: ours and the published curve."""
    figure, panels = axes(1, 3, (9.6, 3.2), sharey=True)
    x, y = zip(*published()["figures"]["2b"]["phase"])
    curve = result.curves["holdout"]
    ours = [100 * value for value in curve.y]
    low, high = ([100 * value for value in bound] for bound in (curve.low, curve.high))
    seconds = result.details["seconds"]
    same_world = tuple(result.config["training"]["structures"]) == PAPER_STRUCTURES
    for panel, axis, theirs in (
        (panels[0][0], curve.x, list(x)),
        (panels[0][1], result.details["flops"], [step * RELEASED_STEP_FLOPS for step in x]),
        (panels[0][2], seconds, [step * RELEASED_STEP_SECONDS for step in x]),
    ):
        if same_world:
            panel.plot(theirs[1:], [100 * value for value in y[1:]], color=COLOURS["published"], label="published")
        panel.plot(axis, ours, color=COLOURS["associate"], label=f"ours ({result.model})")
        panel.fill_between(axis, low, high, color=COLOURS["associate"], alpha=0.2, linewidth=0)
        panel.set(xscale="log", ylim=(0, 101))
        panel.xaxis.set_minor_formatter(NullFormatter())
    panels[0][0].set(xlabel="training steps", ylabel="hold-out accuracy (%)")
    panels[0][1].set(xlabel="compute (FLOP)")
    panels[0][2].set(xlabel="seconds of training" + (" (published:\nsteps × 1.157 s)" if same_world else ""))
    panels[0][0].legend(loc="lower right")
    return figure


def skills(result: Result) -> Figure:
    """Loss by slot, and the order in which skills appear."""
    figure, panels = axes(2, 1, (9.2, 5.6), sharex=True, height_ratios=[1, 1.6])
    for name, colour in (("loss/right", "#888888"), ("loss/answer", COLOURS["cancel"])):
        curve = result.curves[name]
        panels[0][0].plot(curve.x, curve.y, color=colour, label=f"{name.split('/')[1]} slot")
    panels[0][0].set_ylabel("loss (nats)")
    panels[0][0].legend(loc="center right")
    for name, (label, colour) in SKILLS.items():
        if name in result.curves:
            curve = result.curves[name]
            width = 2.0 if name == "holdout" else 1.3
            panels[1][0].plot(curve.x, [100 * y for y in curve.y], color=colour, label=label, linewidth=width)
    panels[1][0].set(xscale="log", xlabel="training steps", ylabel="accuracy (%)", ylim=(0, 101))
    figure.legend(*panels[1][0].get_legend_handles_labels(), loc="outside lower center", ncols=8, fontsize=8)
    return figure


FIGURES = (holdout, skills)
