"""Figure 3a, 3b: stacked coverage of the five mechanisms in both settings, and all AUCs beside the published ones."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.claims import Claim
from icalgebra.experiments import experiment
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.plotting import COLOURS, WIDTH, axes, legend_below
from icalgebra.results import Result

SETTINGS = {"p7": "p_mix .7, no D2", "p5_d2": "p_mix .5, with D2"}
KINDS = {"train_any": "training sequences", "holdout": "hold-out sequences"}


def stacked(result: Result) -> Figure:
    """One panel per setting and kind of sequence: the share each mechanism adds, by number of context facts."""
    figure, panels = axes(2, 2, (WIDTH, 5.2), sharex=True, sharey=True)
    for row, (setting, setting_name) in enumerate(SETTINGS.items()):
        for column, (kind, kind_name) in enumerate(KINDS.items()):
            panel = panels[row][column]
            _stack(panel, result, f"{setting}.{kind}")
            panel.set_title(f"{kind_name}, {setting_name}")
    for panel in panels[1]:
        panel.set_xlabel("facts of context")
    for panel in panels[:, 0]:
        panel.set_ylabel("share of queries (%)")
    legend_below(figure, panels, 5)
    return figure


def _stack(panel: Any, result: Result, prefix: str) -> None:
    x = result.curves[f"{prefix}.total"].x
    shares = [[100 * y for y in result.curves[f"{prefix}.{name}"].y] for name in MECHANISMS]
    panel.stackplot(x, shares, labels=MECHANISMS, colors=[COLOURS[name] for name in MECHANISMS], linewidth=0)
    panel.set_xlim(1, x[-1])
    panel.set_ylim(0, 100)
    total = result.values[f"{prefix}.total"]
    panel.text(
        0.97, 0.06, f"total AUC {100 * total.value:.1f} %", transform=panel.transAxes, ha="right", weight="bold",
    )  # fmt: skip


def beside_published(result: Result) -> Figure:
    """Every published AUC and copyable share, with ours in both settings: which setting matches what."""
    chosen = experiment("coverage").claims()
    labels = list(dict.fromkeys((claim.row, _label(claim)) for claim in chosen))
    figure, panels = axes(1, 1, (WIDTH, 5.4))
    panel = panels[0][0]
    marks = {"p7": ("s", "#c8553d", 0.16), "p5_d2": ("o", "#4a7fb5", -0.16)}
    for claim in chosen:
        place = -labels.index((claim.row, _label(claim)))
        assert isinstance(claim.published, float | int)
        panel.plot([claim.published] * 2, [place - 0.36, place + 0.36], color=COLOURS["published"], linewidth=2)
        ours = claim.measure(result)
        if ours is not None:
            marker, colour, shift = marks[claim.value.split(".")[0]]
            error = [[ours.value - ours.low], [ours.high - ours.value]]
            panel.errorbar(ours.value, place + shift, xerr=error, fmt=marker, color=colour, markersize=4, capsize=2)
    panel.set_yticks([-i for i in range(len(labels))], [label for _, label in labels])
    panel.set_xlabel("share of queries (%)")
    panel.set_xlim(0, 100)
    _name_marks(panel, marks)
    legend_below(figure, panels, 3)
    return figure


def _name_marks(panel: Any, marks: dict[str, tuple[str, str, float]]) -> None:
    panel.plot([], [], color=COLOURS["published"], linewidth=2, label="the paper")
    for setting, (marker, colour, _) in marks.items():
        panel.plot([], [], marker, color=colour, label=f"ours, {SETTINGS[setting]}")


def _label(claim: Claim) -> str:
    _, kind, name = claim.value.split(".")
    if claim.row == "B2":
        return f"copyable at k={name[1:]}"
    if claim.row == "L3d":
        return "hold-out queries without identity"
    return f"{'training' if kind == 'train_any' else 'hold-out'}: {name}"


FIGURES = (stacked, beside_published)
