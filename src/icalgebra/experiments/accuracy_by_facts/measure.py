"""Accuracy against the number of facts (B1): each training structure alone, and the training mixture.

Beside the model: the five mechanisms together, and the ceiling of a predictor that knows the training world but not
that only one structure occurs. The published C3 and C4 fall at long contexts; long_context_controls.py tests possible
causes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.experiments.accuracy_by_facts.long_context_controls import measure_decline, prevalence
from icalgebra.experiments.shared.estimates import boolean_estimate
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.experiments.shared.predictor_comparison import PredictorHits, compare_predictors, within_training_length
from icalgebra.model.accuracy import accuracy_estimate
from icalgebra.results import Curve, Result
from icalgebra.statistics import Estimate, auc, difference

MIXTURE = "mixture"
PUBLISHED_FACTS = tuple(range(2, 199, 2))  # Figure 2a's grid
SHOWN = (10, 25, 50, 100, 200)
FALLS_FROM = {"C3": 25, "C4": 50}  # where the published curves peak


def run(tier: str, seed: int, loaded: LoadedModel, n: int, facts: tuple[int, ...]) -> Result:
    facts = within_training_length(facts, loaded)
    values: dict[str, Estimate] = {}
    curves: dict[str, Curve] = {}
    falls: dict[str, list[int] | None] = {}
    for name in (*(structure.name for structure in loaded.world.pool), MIXTURE):
        answers = _compared(loaded, name, n, facts, seed)
        values |= _values(name, answers)
        curves |= answers.curves(name)
        falls[name] = first_fall(answers)
    values["monotonic"] = boolean_estimate(not any(falls.values()), n * len(falls))
    for name in FALLS_FROM:
        if f"{name}_fall" in values:
            values |= measure_decline(loaded, name, n, seed)
    details = {"falls": falls, "prevalence": {name: prevalence(loaded.world, name) for name in FALLS_FROM}}
    config = {"n": n, "facts": list(facts), "n_facts": loaded.config.n_facts}
    return result_about(loaded, "accuracy_by_facts", tier, seed, config, values, curves, details)


def _compared(loaded: LoadedModel, name: str, n: int, facts: tuple[int, ...], seed: int) -> PredictorHits:
    world = loaded.world if name == MIXTURE else replace(loaded.world, structures=(name,), p_mix=0.0, d2=False)
    sequences = sample("holdout", n, max(facts), seed, world, stream=f"accuracy_by_facts/{name}")
    return compare_predictors(loaded, sequences, facts)


def _values(name: str, answers: PredictorHits) -> dict[str, Estimate]:
    """AUC over the published grid, accuracy at a few numbers of facts, and the fall where the paper has one."""
    hits = answers.model
    grid = [k for k in PUBLISHED_FACTS if k <= max(answers.facts)]
    values = {
        f"published_grid.{name}": auc(between(hits, answers.facts, grid)),
        f"published_grid_ceiling.{name}": auc(between(answers.ceiling, answers.facts, grid)),
    }
    values |= {f"at.{k}.{name}": accuracy_estimate(hits[:, answers.at(k)]) for k in SHOWN if k in answers.facts}
    if name in FALLS_FROM and FALLS_FROM[name] in answers.facts:
        values[f"{name}_fall"] = difference(
            accuracy_estimate(hits[:, answers.at(FALLS_FROM[name])]), accuracy_estimate(hits[:, -1])
        )
        values[f"{name}_falls"] = boolean_estimate(values[f"{name}_fall"].low > 0, len(hits))
    return values


def between(hits: np.ndarray, facts: tuple[int, ...], wanted: list[int]) -> np.ndarray:
    """Each sequence's hits at the wanted numbers of facts, interpolated linearly: the quick tier measures only some."""
    return np.array([np.interp(wanted, facts, row) for row in hits.astype(float)])


def first_fall(answers: PredictorHits) -> list[int] | None:
    """The first pair of numbers of facts between which accuracy falls significantly: the intervals do not overlap."""
    shares = [accuracy_estimate(column) for column in answers.model.T]
    for later, found in enumerate(shares):
        for earlier in range(later):
            if found.high < shares[earlier].low:
                return [answers.facts[earlier], answers.facts[later]]
    return None
