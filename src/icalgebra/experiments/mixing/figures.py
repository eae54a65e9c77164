"""Figure 9: training at five values of p_mix: loss, hold-out accuracy, and what the finished models can do."""

from __future__ import annotations

from matplotlib.figure import Figure

from icalgebra.experiments.architecture.figures import draw_run, once_legend, shades_of
from icalgebra.plotting import COLOURS, axes
from icalgebra.results import Result

SKILLS = ("holdout", "copy", "commute", "identity", "cancel", "associate")


def courses(result: Result) -> Figure:
    """Loss (dashed: the least that world allows) and hold-out accuracy in the run's own world, by step."""
    figure, panels = axes(1, 2, (9.2, 3.6))
    runs = sorted(result.details["runs"], key=lambda run: run["p_mix"])
    shades = shades_of(sorted({run["p_mix"] for run in runs}))
    for run in runs:
        draw_run(panels[0], run, shades[run["p_mix"]], f"p_mix {run['p_mix']:g}")
    for p, colour in shades.items():
        panels[0][0].axhline(result.values[f"p{p:g}.floor"].value, color=colour, linestyle="--", linewidth=0.9)
    panels[0][0].set(title="training loss", xlabel="training steps", ylabel="nats a token")
    panels[0][1].set(title="hold-out accuracy, own world", xlabel="training steps", ylabel="%", ylim=(0, 101))
    once_legend(panels[0][0])
    return figure


def skills(result: Result) -> Figure:
    """Every skill of the finished models: asked in their own world, and at p_mix .7."""
    figure, panels = axes(1, len(SKILLS), (9.6, 2.8), sharey=True)
    mixes = result.details["measured"]
    x = [float(p) for p in mixes]
    for panel, skill in zip(panels[0], SKILLS):
        for where, colour, label in (("own", COLOURS["model"], "own world"), ("p7", COLOURS["ceiling"], "p_mix .7")):
            found = [result.values.get(f"p{p}.{where}.{skill}") for p in mixes]
            told = [(p, e) for p, e in zip(x, found) if e is not None]
            if told:
                panel.errorbar(
                    [p for p, _ in told],
                    [100 * e.value for _, e in told],
                    [[100 * (e.value - e.low) for _, e in told], [100 * (e.high - e.value) for _, e in told]],
                    color=colour, marker="o", markersize=3, linewidth=1.3, label=label,
                )  # fmt: skip
        panel.set(title="hold-out" if skill == "holdout" else skill, ylim=(0, 102), xlabel="p_mix")
        panel.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    panels[0][0].set_ylabel("accuracy (%)")
    panels[0][0].legend(fontsize=7.5, loc="lower right")
    return figure


FIGURES = (courses, skills)
