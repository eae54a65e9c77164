"""Figure 9: training at five values of p_mix: loss, hold-out accuracy, and what the finished models can do."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.plotting import WIDTH, axes, legend_below
from icalgebra.plotting.skills import SKILLS
from icalgebra.plotting.sweep_curves import draw_run, shades_of
from icalgebra.results import Curve, Result

DASHES = ("-", (0, (6, 1.5)), (0, (3, 1.5)), (0, (6, 1.5, 1.5, 1.5)), (0, (1.5, 1)))  # colours alone are too alike
WORLDS = {"own": ("own world", "#6b7280", "s", 7), "p7": ("p_mix .7", "#c2410c", "o", 3)}  # one shows behind the other
SHOWN = ("holdout", *MECHANISMS)


def through_training(*results: Result) -> Figure:
    """training loss (dotted: its exact floor) and hold-out accuracy, each in the run's own world, by step."""
    (result,) = results
    figure, panels = axes(1, 2, (WIDTH, 3.4))
    runs = sorted(result.details["runs"], key=lambda run: run["p_mix"])
    shades = shades_of(sorted({run["p_mix"] for run in runs}))
    for run in runs:
        dashes = DASHES[list(shades).index(run["p_mix"]) % len(DASHES)]
        draw_run(
            panels[0], run["loss"], Curve(**run["holdout"]), shades[run["p_mix"]], f"p_mix {run['p_mix']:g}", dashes
        )
    for p, colour in shades.items():
        panels[0][0].axhline(result.values[f"p{p:g}.floor"].value, color=colour, linestyle=":", linewidth=0.9)
    panels[0][0].set(title="training loss", xlabel="training steps", ylabel="nats per token")
    panels[0][1].set(
        title="hold-out accuracy, own world", xlabel="training steps", ylabel="accuracy (%)", ylim=(0, 101)
    )
    legend_below(figure, panels, 5)
    return figure


def skills(*results: Result) -> Figure:
    """Every skill of the finished models: evaluated in their own world, and at p_mix .7."""
    (result,) = results
    figure, panels = axes(1, len(SHOWN), (WIDTH, 2.5), sharey=True)
    mixes = result.details["measured"]
    for panel, skill in zip(panels[0], SHOWN):
        for where, (label, colour, marker, size) in WORLDS.items():
            found = [(float(p), result.values.get(f"p{p}.{where}.{skill}")) for p in mixes]
            measured = [(p, e.scaled(100)) for p, e in found if e is not None]
            if measured:
                panel.errorbar(
                    [p for p, _ in measured],
                    [e.value for _, e in measured],
                    [[e.value - e.low for _, e in measured], [e.high - e.value for _, e in measured]],
                    color=colour, marker=marker, markersize=size, markerfacecolor="white" if where == "own" else colour,
                    linewidth=1.3, label=label,
                )  # fmt: skip
        panel.set(title=SKILLS[skill][0], ylim=(0, 102), xlabel="p_mix")
        panel.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    panels[0][0].set_ylabel("accuracy (%)")
    legend_below(figure, panels)
    return figure


FIGURES = (through_training, skills)
