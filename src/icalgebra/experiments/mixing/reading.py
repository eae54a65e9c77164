"""What the section on mixing says about one sweep. All of its decisions compare intervals: no threshold but them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from icalgebra.experiments.shared.emergence import LEARNED, PLATEAU_END
from icalgebra.experiments.shared.readings import Number, Shown, Stated, Values


@dataclass(frozen=True)
class Row:
    """The models trained at one p_mix."""

    p_mix: str
    loss: Number
    floor: Number
    regret: Number
    own_holdout: Number
    common_holdout: Shown  # at p_mix .7, the same for all
    steps_to_50: Shown
    steps_to_90: Shown


@dataclass(frozen=True)
class Answer:
    """A predicate of measure.py, which leaves it out where schedules differ or a p_mix is missing."""

    compared: bool
    holds: bool


@dataclass(frozen=True)
class Losses:
    rises: Answer  # with every p_mix
    regret_0: Number
    regret_1: Number
    # Why the loss at p_mix 1 is higher than at 0, by how far each is above its floor; None where it is not higher.
    cause: Literal["nearer to its floor", "partly the model", "the world"] | None


@dataclass(frozen=True)
class Reading:
    n_runs: int
    several_runs: bool
    steps: int
    batch_size: int
    width: int
    devices: list[str]
    measured: list[str]
    missing: list[str]
    one_schedule: bool
    in_bf16: list[str]
    rows: list[Row]
    losses: Losses | None
    zero_never_learns: bool  # p_mix 0 does not reach LEARNED within this schedule
    one_run_at_zero: bool
    one_over_zero: Shown
    zero_slowest: Answer  # to LEARNED
    plateau_end: Stated
    learned: Stated


def read(values: Values) -> Reading:
    recipe, runs = values.config["recipes"][0], values.detail("runs")
    return Reading(
        n_runs=len(runs),
        several_runs=len(runs) > 1,
        steps=recipe["steps"],
        batch_size=recipe["batch_size"],
        width=runs[0]["d_model"],
        devices=values.detail("devices"),
        measured=values.detail("measured"),
        missing=values.detail("missing"),
        one_schedule=values.detail("one_recipe"),
        in_bf16=values.detail("in_bf16"),
        rows=[_row(values, p) for p in values.detail("measured")],
        losses=_losses(values),
        zero_never_learns="0" in values.detail("never_90"),
        one_run_at_zero=sum(run["p_mix"] == 0 for run in runs) == 1,
        one_over_zero=values.optional("one_over_zero", "points"),
        zero_slowest=_answer(values, "zero_is_slowest"),
        plateau_end=Stated(100 * PLATEAU_END, "%"),
        learned=Stated(100 * LEARNED, "%"),
    )


def _row(values: Values, p: str) -> Row:
    return Row(
        p_mix=p,
        loss=values.number(f"p{p}.loss", ""),
        floor=values.number(f"p{p}.floor", ""),
        regret=values.number(f"p{p}.regret", "nats"),
        own_holdout=values.number(f"p{p}.own.holdout"),
        common_holdout=values.optional(f"p{p}.p7.holdout"),
        steps_to_50=values.optional(f"p{p}.steps_to_50", "steps"),
        steps_to_90=values.optional(f"p{p}.steps_to_90", "steps"),
    )


def _losses(values: Values) -> Losses | None:
    if "p0.loss" not in values or "p1.loss" not in values:
        return None
    regret_0, regret_1 = values.number("p0.regret", "nats"), values.number("p1.regret", "nats")
    cause: Literal["nearer to its floor", "partly the model", "the world"] | None = None
    if values.number("p1.loss").low > values.number("p0.loss").high:
        cause = "the world"
        if regret_1.high < regret_0.low:
            cause = "nearer to its floor"
        elif regret_1.low > regret_0.high:
            cause = "partly the model"
    return Losses(
        rises=_answer(values, "loss_rises_with_mixing"),
        regret_0=regret_0,
        regret_1=regret_1,
        cause=cause,
    )


def _answer(values: Values, key: str) -> Answer:
    compared = key in values
    return Answer(compared, holds=compared and bool(values.number(key).value))
