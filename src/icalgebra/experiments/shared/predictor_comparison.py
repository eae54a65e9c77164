"""Who answers what: the model, the five mechanisms together and the best possible guesser, on the same sequences."""

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
class Answers:
    """Arrays [n, len(facts)]: hits of model and mechanisms, the credit the best guesser wins, the kind of each query.

    The guesser believes in the world the model was trained in, whatever the sequences are.
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


def ask(loaded: LoadedModel, sequences: Sequences, facts: Sequence[int]) -> Answers:
    """Put the queries to all three; of training sequences every fact is a query, of others the last one."""
    columns = np.array(facts) - 2  # solvers and ceilings begin at one fact of context, which is k = 2
    solved = coverage(sequences.tokens, "every" if asks_every(sequences) else "last", loaded.world.n_variables)
    ceiling = believed(sequences, loaded.world)
    return Answers(
        tuple(facts),
        hits_by_facts(loaded.model, sequences, facts),
        solved.hits("total")[:, columns],
        ceiling.hits[:, columns],
        ceiling.kinds[:, columns],
    )


def believed(sequences: Sequences, world: World) -> Ceiling:
    """The best guesses of one who believes in a world, for 1 … k−1 facts of context."""
    return ceiling_hits(sequences, "train" if asks_every(sequences) else "holdout", world=world)


def within_reach(facts: Sequence[int], loaded: LoadedModel) -> tuple[int, ...]:
    """The numbers of facts that the model's training length covers."""
    return tuple(k for k in facts if k <= loaded.config.n_facts)


def some_within_reach(facts: Sequence[int], loaded: LoadedModel) -> tuple[int, ...]:
    """The same where it takes one of them at least."""
    found = within_reach(facts, loaded)
    if not found:
        raise InputError(f"this asks for {min(facts)} facts or more, and {loaded.name} knows {loaded.config.n_facts}")
    return found
