"""One file per question the paper asks. The table below names them all.

An experiment is run(tier, seed, **settings) -> Result; one about a model also gets `loaded`, one about finished runs
`runs`. Settings have two tiers: quick for two cores and a few minutes, full for the committed results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from time import perf_counter
from typing import Any

from icalgebra.errors import InputError, unknown
from icalgebra.experiments.shared.loaded_model import LoadedModel, Runs
from icalgebra.results import Result, provenance
from icalgebra.train.distributed import device_name


@dataclass(frozen=True)
class Experiment:
    """What is asked, by which module, of data alone or of a model; seconds is the quick tier's time on two cores."""

    module: str
    title: str
    about_model: bool
    seconds: float
    quick: dict[str, Any]
    full: dict[str, Any]
    about_runs: bool = False  # it reads finished runs or a sweep's table, which take a GPU to make

    def settings(self, tier: str) -> dict[str, Any]:
        return self.quick if tier == "quick" else self.full


# Numbers of facts for the quick tier: close together where accuracy moves.
FEW_FACTS = (*range(2, 21, 2), 25, 30, 40, 50, 60, 75, 100, 125, 150, 175, 198, 200)

EXPERIMENTS: dict[str, Experiment] = {
    "coverage": Experiment(
        "icalgebra.experiments.coverage.measure",
        "What could the five mechanisms answer?",
        about_model=False,
        seconds=2,
        quick={"n": 2000},
        full={"n": 20_000},
    ),
    "training": Experiment(
        "icalgebra.experiments.training.measure",
        "How does hold-out accuracy rise?",
        about_model=True,
        seconds=9,
        quick={"n": 100},
        full={"n": 3000},
    ),
    "ceiling": Experiment(
        "icalgebra.experiments.ceiling.measure",
        "How well could anyone answer?",
        about_model=False,
        seconds=5,
        quick={"n": 400, "n_structure": 100},
        full={"n": 4000, "n_structure": 1000},
    ),
    "accuracy_by_facts": Experiment(
        "icalgebra.experiments.accuracy_by_facts.measure",
        "How many facts does the model need?",
        about_model=True,
        seconds=58,
        quick={"n": 32, "facts": FEW_FACTS},
        full={"n": 400, "facts": tuple(range(2, 201))},
    ),
    "unseen_structures": Experiment(
        "icalgebra.experiments.unseen_structures.measure",
        "What does it make of structures it never saw?",
        about_model=True,
        seconds=58,
        quick={
            "n": 24,
            "n_large": 0,
            "n_tables": 20,
            "facts": (5, 10, 15, 25, 50, 100, 200),
            "cancel_facts": (25, 50, 200),
            "groups": ("C8", "D4", "C4xC2", "Q8", "C2xC2xC2", "C2xC2", "C3xC3", "A4"),
        },
        full={
            "n": 200,
            "n_large": 20,
            "n_tables": 20,
            "facts": tuple(range(5, 201)),
            "cancel_facts": (10, 25, 50, 75, 100, 150, 200),
            "groups": None,
        },
    ),
    "distributions": Experiment(
        "icalgebra.experiments.distributions.measure",
        "Which mechanisms does it show when each is asked for alone?",
        about_model=True,
        seconds=47,
        quick={"n": 40, "facts": (5, 10, 25, 50, 100, 200)},
        full={"n": 400, "facts": (5, 10, 25, 50, 75, 100, 150, 200)},
    ),
    "model_coverage": Experiment(
        "icalgebra.experiments.model_coverage.measure",
        "What does the model answer that the mechanisms do not?",
        about_model=True,
        seconds=23,
        quick={"n_train": 120, "n_holdout": 64},
        full={"n_train": 2000, "n_holdout": 2000},
    ),
    "copying": Experiment(
        "icalgebra.experiments.copying.measure",
        "Which heads copy?",
        about_model=True,
        seconds=43,
        quick={"n_pairs": 48, "n_sets": 16, "n_decode": 32, "n_variants": 16, "n_facts": 200},
        full={"n_pairs": 200, "n_sets": 200, "n_decode": 200, "n_variants": 200, "n_facts": 200},
    ),
    "identity": Experiment(
        "icalgebra.experiments.identity.measure",
        "How is the identity recognised?",
        about_model=True,
        seconds=28,
        quick={"n_pca": 200, "n_identity": 48, "n_steer": 80, "n_facts": 200},
        full={"n_pca": 1000, "n_identity": 200, "n_steer": 5000, "n_facts": 200},
    ),
    "heads": Experiment(
        "icalgebra.experiments.heads.measure",
        "What is each head for, and what is it worth?",
        about_model=True,
        seconds=25,
        quick={"n": 32, "n_facts": 100},
        full={"n": 200, "n_facts": 200},
    ),
    "closure": Experiment(
        "icalgebra.experiments.closure.measure",
        "Which variables belong together?",
        about_model=True,
        seconds=11,
        quick={"n": 96, "n_predictive": 32, "n_ladder": 16, "n_facts": 200},
        full={"n": 2000, "n_predictive": 2000, "n_ladder": 400, "n_facts": 200},
    ),
    "cancellation": Experiment(
        "icalgebra.experiments.cancellation.measure",
        "Which heads rule answers out?",
        about_model=True,
        seconds=10,
        quick={"n": 64, "n_ablate": 40, "n_facts": 100, "short_facts": 40},
        full={"n": 200, "n_ablate": 200, "n_facts": 200, "short_facts": 40},
    ),
    "subspaces": Experiment(
        "icalgebra.experiments.subspaces.measure",
        "Are closure and elimination sets kept in subspaces?",
        about_model=True,
        seconds=42,
        quick={
            "n": 320,
            "n_test": 128,
            "n_sides": 240,
            "n_sweep": 200,
            "n_line": 5000,
            "steps": 150,
            "steps_sweep": 60,
            "n_seeds": 1,
            "size": 16,
            "sizes": (2, 8, 16, 32),
            "sites": "last",
            "n_facts": 20,
        },
        full={
            "n": 2000,
            "n_test": 2000,
            "n_sides": 2000,
            "n_sweep": 2000,
            "n_line": 50_000,
            "steps": 250,
            "steps_sweep": 250,
            "n_seeds": 3,
            "size": 16,
            "sizes": (2, 4, 6, 8, 10, 12, 16, 20, 24, 32),
            "sites": "all",
            "n_facts": 20,
        },
    ),
    "probes": Experiment(
        "icalgebra.experiments.probes.measure",
        "What do the subspaces say about single variables?",
        about_model=True,
        seconds=18,
        quick={"n": 320, "steps": 150, "size": 16, "n_train": 400, "n_test": 200, "n_facts": 20},
        full={"n": 2000, "steps": 250, "size": 16, "n_train": 2000, "n_test": 2000, "n_facts": 20},
    ),
    "dynamics": Experiment(
        "icalgebra.experiments.dynamics.measure",
        "In which order do skills appear in training?",
        about_model=False,
        seconds=20,
        quick={"n": 8, "n_facts": 100},
        full={"n": 24, "n_facts": 200},
        about_runs=True,
    ),
    "architecture": Experiment(
        "icalgebra.experiments.architecture.measure",
        "What do layers, heads and width change?",
        about_model=False,
        seconds=1,
        quick={},
        full={},
        about_runs=True,
    ),
    "mixing": Experiment(
        "icalgebra.experiments.mixing.measure",
        "What does mixing structures change?",
        about_model=False,
        seconds=5,
        quick={"n": 64},
        full={"n": 1000},
        about_runs=True,
    ),
}


def experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def run_experiment(
    name: str, tier: str, seed: int = 0, loaded: LoadedModel | None = None, runs: Runs | None = None
) -> Result:
    """Run one experiment of the table and stamp it with where and when."""
    chosen = experiment(name)
    begin = perf_counter()
    run: Callable[..., Result] = import_module(chosen.module).run
    if chosen.about_runs and (runs is None or not runs.sources):
        raise InputError(f"{name} reads what training left: give --runs RUN … (dynamics) or --runs SWEEP")
    about: dict[str, Any] = {"loaded": loaded} if chosen.about_model else {}
    about |= {"runs": runs} if chosen.about_runs else {}
    result = run(tier=tier, seed=seed, **about, **chosen.settings(tier))
    device = device_name(loaded.device) if loaded else "cpu"
    return replace(result, provenance=provenance(perf_counter() - begin, device))
