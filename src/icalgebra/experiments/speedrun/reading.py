"""What the section on speed says about one preset. The result is written by `icalgebra speedrun`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from icalgebra.experiments.shared import released
from icalgebra.experiments.shared.readings import Number, Stated, Values

SHAPE = ("n_layers", "n_heads", "d_model", "batch_size", "n_facts")
# A step of this shape does the same work as one of the released code, so that their times can be compared.
RELEASED_SHAPE = (*released.SIZE, released.BATCH_SIZE, released.N_FACTS)


@dataclass(frozen=True)
class Run:
    """A row of the table."""

    seed: int
    passed: bool
    accuracy: str  # in per cent with two digits: the target is 99
    steps: int
    million_tokens: str
    training_seconds: str
    seconds_in_all: str
    tflops_per_second: str
    share_of_chip: str  # empty where the chip's rate was not measured
    associate: str  # this and the next in per cent; empty in results from before they were measured
    share_of_ceiling: str


@dataclass(frozen=True)
class Reading:
    n_layers: int
    n_heads: int
    d_model: int
    batch_size: int
    n_facts: int
    device: str
    milliseconds_per_step: Number
    times_faster_than_released: Number | None  # None for another architecture or batch: their steps do not compare
    target: Stated
    n: int
    seconds_to_first_step: str | None  # from the command on, all compilation included
    float8: bool
    products: str  # the precision of matrix products
    as_released: bool  # fp32 products, the released architecture and batch
    transcribed: str | None  # how the numbers came into the file, where it was not written by the command
    runs: list[Run]

    @property
    def only_timed(self) -> bool:
        return not self.runs

    @property
    def seconds_to_target(self) -> list[str]:
        """Of the runs that reached it."""
        return [run.training_seconds for run in self.runs if run.passed]


def read(values: Values) -> Reading:
    training = values.config["training"]
    shape = {name: training[name] for name in SHAPE}
    same_work = tuple(shape.values()) == RELEASED_SHAPE
    return Reading(
        **shape,
        device=values.detail("device"),
        milliseconds_per_step=values.number("milliseconds_a_step", "ms"),
        times_faster_than_released=values.number("times_released", "") if same_work else None,
        target=Stated(round(100 * values.config["target"]), "%"),
        n=values.config["n"],
        seconds_to_first_step=f"{first:.1f}" if (first := values.result.details.get("seconds_to_first_step")) else None,
        float8=training.get("float8", False),  # results from before the option have no such field
        products=training["precision"] + (", partly 8 bits" if training.get("float8") else ""),
        as_released=same_work and training["precision"] == "fp32",
        transcribed=values.result.details.get("transcribed"),
        runs=[_run(run) for run in values.detail("runs")],
    )


def _run(run: dict[str, Any]) -> Run:
    quality = run.get("quality", {})
    return Run(
        seed=run["seed"],
        passed=run["passed"],
        accuracy=_percent(run["accuracy"], 2),
        steps=run["steps"],
        million_tokens=f"{run['tokens'] / 1e6:.0f}",
        training_seconds=f"{run['training_seconds']:.1f}",
        seconds_in_all=f"{run['seconds_in_all']:.1f}",
        tflops_per_second=f"{run['flops_a_second'] / 1e12:.0f}",
        share_of_chip=f"{100 * run['share_of_chip']:.0f} %" if run["share_of_chip"] else "",
        associate=_percent(quality["associate"]) if "associate" in quality else "",
        share_of_ceiling=_percent(quality["share_of_ceiling"]) if "share_of_ceiling" in quality else "",
    )


def _percent(estimate: dict[str, float], digits: int = 1) -> str:
    value, low, high = (f"{100 * estimate[key]:.{digits}f}" for key in ("value", "low", "high"))
    return f"{value} % [{low}, {high}]"
