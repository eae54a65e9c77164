"""Figure 8 and Table 1: runs by layers, heads and width; hold-out accuracy beside the published one."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.experiments.architecture.reading import MIDDLE
from icalgebra.plotting import COLOURS, WIDTH, axes, legend_below
from icalgebra.plotting.sweep_curves import draw_run, legend_without_repeats, shades_of
from icalgebra.results import Curve, Result

OURS = "#c2410c"  # not the colour of a shipped model: these runs have other sizes
AXES = {"n_layers": "layers", "n_heads": "heads per layer", "d_model": "width (d_model)"}


def through_training(*results: Result) -> Figure:
    """One column per sweep: training loss above, hold-out accuracy below; one line per run."""
    (result,) = results
    figure, panels = axes(2, 3, (WIDTH, 4.8), sharex=True, sharey="row")
    for column, (field, title) in enumerate(AXES.items()):
        swept = sorted(_swept(result, field), key=lambda run: run[field])
        shades = shades_of(sorted({run[field] for run in swept}))
        for run in swept:
            draw_run(panels[:, column], run["loss"], Curve(**run["holdout"]), shades[run[field]], f"{run[field]}")
        panels[0][column].set_title(title)
        legend_without_repeats(panels[1][column])
        panels[1][column].set(xlabel="training steps", ylim=(0, 101))
        panels[1][column].tick_params(axis="x", labelsize=7.5)
    panels[0][0].set_ylabel("loss (nats per token)")
    panels[1][0].set_ylabel("hold-out accuracy (%)")
    return figure


def beside_published(*results: Result) -> Figure:
    """Hold-out accuracy of every setting, ours and the paper's."""
    (result,) = results
    settings = result.details["settings"]
    names = [f"{s['layers']} layers, {s['heads']} heads, width {s['d_model']}" for s in settings]
    figure, panels = axes(1, 1, (WIDTH, 0.9 + 0.26 * len(settings)))
    panel = panels[0][0]
    places = range(len(settings))
    panel.plot([s["published"]["holdout"] for s in settings], places, "D", color=COLOURS["published"], markersize=5,
               fillstyle="none", zorder=3, label="the paper")  # fmt: skip
    for place, setting in zip(places, settings):
        ours = result.values.get(f"{setting['label']}.holdout")
        if ours is None:
            panel.text(1, place, "not measured", va="center", fontsize=8, color="#888888")
            continue
        panel.plot([100 * ours.low, 100 * ours.high], [place] * 2, color=OURS, linewidth=2)
        panel.plot([100 * ours.value], [place], "o", color=OURS)
    panel.set_yticks(list(places), names)
    panel.set(xlabel="hold-out accuracy (%)", xlim=(0, 101.5))
    panel.invert_yaxis()
    panel.plot([], [], "o-", color=OURS, label="ours")
    legend_below(figure, panels)
    return figure


def _swept(result: Result, field: str) -> list[dict[str, Any]]:
    """The runs that differ from the middle setting in nothing but this field."""
    others = [name for name in AXES if name != field]
    return [run for run in result.details["runs"] if all(run[name] == getattr(MIDDLE, name) for name in others)]


FIGURES = (through_training, beside_published)
