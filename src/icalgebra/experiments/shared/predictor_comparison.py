"""The model, the five mechanisms together and the best possible predictor, compared on the same queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icalgebra.errors import InputError
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.language.sequences import Sequences
from icalgebra.language.world import World
from icalgebra.model.prefix_accuracy import asks_every, hits_by_facts
from icalgebra.oracle import Ceiling, ceiling_hits
from icalgebra.results import Curve
from icalgebra.solvers.coverage import coverage


@dataclass(frozen=True, eq=False)
class PredictorHits:
    """Arrays [n, len(facts)]: hits of model and mechanisms, credit of the best predictor, kind of each query.

    The prior of the best predictor is the world the model was trained in, whatever the sequences are.
    """

    facts: tuple[int, ...]
    model: np.ndarray
    solvers: np.ndarray
    ceiling: np.ndarray
    kinds: np.ndarray

    def curves(self, name: str) -> dict[str, Curve]:
        return {
            f"model.{name}": Curve.from_hits(self.model, self.facts),
            f"solvers.{name}": Curve.from_hits(self.solvers, self.facts),
            f"ceiling.{name}": Curve.from_hits(self.ceiling, self.facts),
        }

    def at(self, k: int) -> int:
        """The column of k facts."""
        return self.facts.index(k)


def compare_predictors(loaded: LoadedModel, sequences: Sequences, facts: Sequence[int]) -> PredictorHits:
    """Evaluate all three. In training sequences every fact is a query, in others only the last one."""
    columns = np.array(facts) - 2  # column 0 of solvers and ceilings is one fact of context, which is k = 2
    solved = coverage(sequences.tokens, "every" if asks_every(sequences) else "last", loaded.world.n_variables)
    ceiling = ceiling_under_prior(sequences, loaded.world)
    return PredictorHits(
        tuple(facts),
        hits_by_facts(loaded.model, sequences, facts),
        solved.hits("total")[:, columns],
        ceiling.hits[:, columns],
        ceiling.kinds[:, columns],
    )


def ceiling_under_prior(sequences: Sequences, world: World) -> Ceiling:
    """The best predictor whose prior is a world, for 1 … k−1 facts of context."""
    return ceiling_hits(sequences, "train" if asks_every(sequences) else "holdout", world=world)


def within_training_length(facts: Sequence[int], loaded: LoadedModel) -> tuple[int, ...]:
    """The numbers of facts up to the model's training length."""
    return tuple(k for k in facts if k <= loaded.config.n_facts)


def require_training_length(facts: Sequence[int], loaded: LoadedModel) -> tuple[int, ...]:
    """The same; InputError if none is left."""
    found = within_training_length(facts, loaded)
    if not found:
        raise InputError(f"this needs {min(facts)} facts or more; {loaded.name} was trained on {loaded.config.n_facts}")
    return found
