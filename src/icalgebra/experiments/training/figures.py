"""Figure 2b: hold-out accuracy through training, by steps, compute and time; and the skills in their order."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icalgebra.claims import published
from icalgebra.experiments.shared import released
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.language.world import PAPER_STRUCTURES
from icalgebra.model.flops import flops_a_sequence
from icalgebra.plotting import COLOURS, axes
from icalgebra.plotting.skills import SKILLS
from icalgebra.results import Result


class PaperModel(NamedTuple):
    """The paper's architecture, as far as it counts for compute."""

    n_layers: int = released.SIZE[0]
    d_model: int = released.SIZE[2]
    d_mlp: int = 4 * released.SIZE[2]
    d_vocab: int = Vocabulary(16).size


RELEASED_STEP_FLOPS = released.BATCH_SIZE * flops_a_sequence(PaperModel(), released.N_FACTS)


def holdout(result: Result) -> Figure:
    """Hold-out accuracy by step, by compute and by second: ours and the published curve."""
    figure, panels = axes(1, 3, (9.6, 3.2), sharey=True)
    x, y = zip(*published()["figures"]["2b"]["phase"][1:])  # without step 0, which a logarithmic axis does not have
    curve = result.curves["holdout"]
    ours, low, high = ([100 * value for value in column] for column in (curve.y, curve.low, curve.high))
    same_world = tuple(result.config["training"]["structures"]) == PAPER_STRUCTURES
    for panel, axis, theirs in (
        (panels[0][0], curve.x, list(x)),
        (panels[0][1], result.details["flops"], [step * RELEASED_STEP_FLOPS for step in x]),
        (panels[0][2], result.details["seconds"], [step * released.STEP_SECONDS for step in x]),
    ):
        if same_world:
            panel.plot(theirs, [100 * value for value in y], color=COLOURS["published"], label="published")
        panel.plot(axis, ours, color=COLOURS["associate"], label=f"ours ({result.model})")
        panel.fill_between(axis, low, high, color=COLOURS["associate"], alpha=0.2, linewidth=0)
        panel.set(xscale="log", ylim=(0, 101))
        panel.xaxis.set_minor_formatter(NullFormatter())
    panels[0][0].set(xlabel="training steps", ylabel="hold-out accuracy (%)")
    panels[0][1].set(xlabel="compute (FLOP)")
    converted = f" (published:\nsteps × {released.STEP_SECONDS} s)" if same_world else ""
    panels[0][2].set(xlabel=f"seconds of training{converted}")
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
