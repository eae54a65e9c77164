"""One file per question the paper asks. The table below names them all.

An experiment is run(tier, seed, **settings) -> Result; one about a model also gets `subject`. Settings have two tiers:
quick for two cores and a few minutes, full for the committed results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any

from icalgebra.errors import unknown
from icalgebra.experiments.subject import Subject
from icalgebra.results import Result, provenance


@dataclass(frozen=True)
class Experiment:
    """What is asked, by which module, of data alone or of a model; seconds is the quick tier's time on two cores."""

    module: str
    title: str
    about_model: bool
    seconds: float
    quick: dict[str, Any]
    full: dict[str, Any]

    def settings(self, tier: str) -> dict[str, Any]:
        return self.quick if tier == "quick" else self.full


EXPERIMENTS: dict[str, Experiment] = {
    "coverage": Experiment(
        "icalgebra.experiments.coverage",
        "What could the five mechanisms answer?",
        about_model=False,
        seconds=5,
        quick={"n": 2000},
        full={"n": 20_000},
    ),
    "training": Experiment(
        "icalgebra.experiments.training",
        "How does hold-out accuracy rise?",
        about_model=True,
        seconds=1,
        quick={},
        full={},
    ),
    "ceiling": Experiment(
        "icalgebra.experiments.ceiling",
        "How well could anyone answer?",
        about_model=False,
        seconds=25,
        quick={"n": 400, "n_structure": 100},
        full={"n": 4000, "n_structure": 1000},
    ),
    "copying": Experiment(
        "icalgebra.experiments.copying",
        "Which heads copy?",
        about_model=True,
        seconds=55,
        quick={"n_pairs": 48, "n_sets": 16, "n_decode": 32, "n_variants": 16, "n_facts": 200},
        full={"n_pairs": 200, "n_sets": 200, "n_decode": 200, "n_variants": 200, "n_facts": 200},
    ),
    "identity": Experiment(
        "icalgebra.experiments.identity",
        "How is the identity recognised?",
        about_model=True,
        seconds=40,
        quick={"n_pca": 200, "n_identity": 48, "n_steer": 80, "n_facts": 200},
        full={"n_pca": 1000, "n_identity": 200, "n_steer": 5000, "n_facts": 200},
    ),
    "heads": Experiment(
        "icalgebra.experiments.heads",
        "What is each head for, and what is it worth?",
        about_model=True,
        seconds=30,
        quick={"n": 32, "n_facts": 100},
        full={"n": 200, "n_facts": 200},
    ),
}


def experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def run_experiment(name: str, tier: str, seed: int = 0, subject: Subject | None = None) -> Result:
    """Run one experiment of the table and stamp it with where and when."""
    chosen = experiment(name)
    begin = perf_counter()
    run: Callable[..., Result] = import_module(chosen.module).run
    about = {"subject": subject} if chosen.about_model else {}
    result = run(tier=tier, seed=seed, **about, **chosen.settings(tier))
    return Result(**{**vars(result), "provenance": provenance(perf_counter() - begin)})
