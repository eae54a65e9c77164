"""What the section on the price says: GPU seconds and parameters to a share of the ceiling's hold-out AUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from icalgebra.experiments.shared.readings import NotMeasured, Number, Shown, Values
from icalgebra.results import NotMeasuredError
from icalgebra.statistics import Estimate

GOALS = (0.95, 0.96, 0.97, 0.98)  # of the ceiling's AUC
TARGET = GOALS[-1]
WINNER = "winner"


@dataclass(frozen=True)
class Variant:
    """A row of the table."""

    name: str
    why: str
    winner: bool  # the long run of the variant that won the search
    layers: int
    blocks: int  # with weights of their own; fewer than layers where they are looped
    width: int
    parameters: str  # in millions
    milliseconds_per_step: str
    steps: int
    seconds: str
    share: Shown  # at its last evaluation
    to_goals: tuple[str, ...]  # training seconds to each goal; empty where it was not reached
    failed: str


@dataclass(frozen=True)
class Goal:
    """The least that a share of the ceiling cost; everything is empty where no variant reached it."""

    share: str
    seconds: str
    by: str
    parameters: str
    smallest: str  # the variant with the fewest parameters that reached it,
    smallest_parameters: str
    smallest_seconds: str

    @property
    def reached(self) -> bool:
        return bool(self.by)


@dataclass(frozen=True)
class Skill:
    """Accuracy of the best run at its last evaluation. ceiling: on hold-out sequences."""

    name: str
    facts: str
    accuracy: Number
    ceiling: Shown


@dataclass(frozen=True)
class Reading:
    n: int
    n_last: int
    n_facts: int
    seconds: str
    device: str
    variants: tuple[Variant, ...]
    goals: tuple[Goal, ...]
    best: str  # the run with the highest share at its last evaluation
    best_share: Shown
    best_seconds: str
    target: str
    target_reached: bool
    highest_reached: str  # the highest goal that was reached; empty if none was
    long_run: bool  # whether a winner has been trained
    skills: tuple[Skill, ...]


def read(values: Values) -> Reading:
    records = [record for record in values.detail("variants") if record["points"] or record.get("failed")]
    measured = [record for record in records if record["points"]]
    if not measured:
        raise NotMeasuredError("details.variants")
    goals = tuple(_goal(share, measured) for share in GOALS)
    best = max(measured, key=lambda record: record["points"][-1]["share"]["value"])
    reached = [goal.share for goal in goals if goal.reached]
    return Reading(
        n=values.config["n"],
        n_last=values.config["n_last"],
        n_facts=values.config["n_facts"],
        seconds=f"{values.config['seconds']:.0f}",
        device=values.detail("device"),
        variants=tuple(_variant(record) for record in records),
        goals=goals,
        best=best["name"],
        best_share=_share(best),
        best_seconds=f"{best['points'][-1]['seconds']:.0f}",
        target=_per_cent(TARGET),
        target_reached=goals[-1].reached,
        highest_reached=reached[-1] if reached else "",
        long_run=any(record["stage"] == WINNER for record in measured),
        skills=_skills(best["points"][-1], values.result.details.get("ceiling", {})),
    )


def seconds_to(record: dict[str, Any], share: float) -> float | None:
    """Training seconds until the first evaluation with at least this share."""
    return next((point["seconds"] for point in record["points"] if point["share"]["value"] >= share), None)


def _goal(share: float, records: list[dict[str, Any]]) -> Goal:
    seconds = {i: at for i, record in enumerate(records) if (at := seconds_to(record, share)) is not None}
    if not seconds:
        return Goal(_per_cent(share), "", "", "", "", "", "")
    fastest = min(seconds, key=lambda i: seconds[i])
    smallest = min(seconds, key=lambda i: (records[i]["parameters"], seconds[i]))
    return Goal(
        _per_cent(share),
        f"{seconds[fastest]:.0f}",
        records[fastest]["name"],
        _millions(records[fastest]["parameters"]),
        records[smallest]["name"],
        _millions(records[smallest]["parameters"]),
        f"{seconds[smallest]:.0f}",
    )


def _variant(record: dict[str, Any]) -> Variant:
    to_goals = [seconds_to(record, share) for share in GOALS]
    layers, loops = record["n_layers"], record["n_loops"]
    return Variant(
        name=record["name"],
        why=record["why"],
        winner=record["stage"] == WINNER,
        layers=layers,
        blocks=layers // loops,
        width=record["d_model"],
        parameters=_millions(record["parameters"]),
        milliseconds_per_step=f"{record['milliseconds_per_step']:.1f}" if "milliseconds_per_step" in record else "",
        steps=record["points"][-1]["step"] if record["points"] else 0,
        seconds=f"{record['points'][-1]['seconds']:.0f}" if record["points"] else "",
        share=_share(record),
        to_goals=tuple("" if at is None else f"{at:.0f}" for at in to_goals),
        failed=record.get("failed", ""),
    )


def _share(record: dict[str, Any]) -> Shown:
    return _number(record["points"][-1]["share"]) if record["points"] else NotMeasured()


def _number(plain: dict[str, Any]) -> Number:
    return Number(Estimate(**plain))


def _skills(point: dict[str, Any], ceiling: dict[str, Any]) -> tuple[Skill, ...]:
    """Hold-out accuracy by facts, then the mechanisms' own sequences."""
    holdout = [
        Skill("hold-out", facts, _number(found), _number(ceiling[facts]) if facts in ceiling else NotMeasured())
        for facts, found in point["accuracy"].items()
    ]
    mechanisms = [
        Skill(name, facts, _number(found), NotMeasured())
        for key, found in point["mechanisms"].items()
        for name, _, facts in [key.partition("/")]
    ]
    return (*holdout, *mechanisms)


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _millions(parameters: int) -> str:
    return f"{parameters / 1e6:.1f}"
