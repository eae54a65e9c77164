"""Figure 2b: hold-out accuracy through training, by steps, compute and time; and the skills in their order."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure

from icalgebra.claims import published
from icalgebra.experiments.shared import released
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.language.world import PAPER_STRUCTURES
from icalgebra.model.flops import flops_a_sequence
from icalgebra.plotting import COLOURS, WIDTH, axes, legend_below, log_axis, model_colours
from icalgebra.plotting.skills import SKILLS
from icalgebra.results import Result


class PaperModel(NamedTuple):
    """The paper's architecture, as far as it counts for compute."""

    n_layers: int = released.SIZE[0]
    d_model: int = released.SIZE[2]
    d_mlp: int = 4 * released.SIZE[2]
    d_vocab: int = Vocabulary(16).size


RELEASED_STEP_FLOPS = released.BATCH_SIZE * flops_a_sequence(PaperModel(), released.N_FACTS)


def holdout(*results: Result) -> Figure:
    """Hold-out accuracy by step, by compute and by second: our models and the published curve."""
    figure, panels = axes(1, 3, (WIDTH, 3.0), sharey=True)
    x, y = zip(*published()["figures"]["2b"]["phase"][1:])  # without step 0, which a logarithmic axis does not have
    same_world = all(tuple(result.config["training"]["structures"]) == PAPER_STRUCTURES for result in results)
    factors = (1, RELEASED_STEP_FLOPS, released.STEP_SECONDS)
    for panel, factor in zip(panels[0], factors):
        if same_world:
            theirs = [100 * value for value in y]
            panel.plot([step * factor for step in x], theirs, color=COLOURS["published"], label="the paper's model")
        log_axis(panel)
        panel.set(ylim=(0, 101))
    for result in results:
        curve, colour = result.curves["holdout"], model_colours(results)[result.model]
        ours, low, high = ([100 * value for value in column] for column in (curve.y, curve.low, curve.high))
        for panel, axis in zip(panels[0], (curve.x, result.details["flops"], result.details["seconds"])):
            panel.plot(axis, ours, color=colour, label=result.model)
            panel.fill_between(axis, low, high, color=colour, alpha=0.2, linewidth=0)
    for panel, name in zip(panels[0], ("training steps", "compute (FLOP)", "seconds of training")):
        panel.set_xlabel(name)
    panels[0][0].set_ylabel("hold-out accuracy (%)")
    legend_below(figure, panels)
    return figure


def skills(*results: Result) -> Figure:
    """A column per model: loss by slot, and the order in which skills appear."""
    figure, panels = axes(2, len(results), (WIDTH, 5.0), sharey="row", height_ratios=[1, 1.6])
    for (loss, accuracy), result in zip(panels.T, results):
        for name, colour in (("loss/right", "#888888"), ("loss/answer", "#7a3b2e")):
            curve = result.curves[name]
            loss.plot(curve.x, curve.y, color=colour, label=f"loss, {name.split('/')[1]} slot")
        loss.set_title(result.model)
        for name, (label, colour) in SKILLS.items():
            if name in result.curves:
                curve = result.curves[name]
                width = 2.0 if name == "holdout" else 1.3
                accuracy.plot(curve.x, [100 * y for y in curve.y], color=colour, label=label, linewidth=width)
        accuracy.set(xlabel="training steps", ylim=(0, 101))
        for panel in (loss, accuracy):
            log_axis(panel)
    panels[0][0].set_ylabel("loss (nats)")
    panels[1][0].set_ylabel("accuracy (%)")
    legend_below(figure, panels, 5)
    return figure


FIGURES = (holdout, skills)
