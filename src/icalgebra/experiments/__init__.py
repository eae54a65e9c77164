"""One file per question the paper asks. An experiment is run(settings) -> Result; the table below names them all.

Settings come in two tiers: quick for two cores and a few minutes, full for the committed results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any

from icalgebra.errors import unknown
from icalgebra.results import Result, provenance


@dataclass(frozen=True)
class Experiment:
    """What is asked, by which module, on what; seconds is what the quick tier takes on two cores."""

    module: str
    title: str
    model: bool
    seconds: float
    quick: dict[str, Any]
    full: dict[str, Any]

    def settings(self, tier: str) -> dict[str, Any]:
        return self.quick if tier == "quick" else self.full


EXPERIMENTS: dict[str, Experiment] = {
    "coverage": Experiment(
        "icalgebra.experiments.coverage",
        "What could the five mechanisms answer?",
        model=False,
        seconds=10,
        quick={"n": 2000},
        full={"n": 20_000},
    ),
}


def run_experiment(name: str, tier: str, seed: int = 0) -> Result:
    """Run one experiment of the table and stamp it with where and when."""
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    experiment = EXPERIMENTS[name]
    begin = perf_counter()
    run: Callable[..., Result] = import_module(experiment.module).run
    result = run(tier=tier, seed=seed, **experiment.settings(tier))
    return _stamped(result, perf_counter() - begin)


def _stamped(result: Result, seconds: float) -> Result:
    return Result(**{**vars(result), "provenance": provenance(seconds)})
