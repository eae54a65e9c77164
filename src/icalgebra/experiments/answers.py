"""Who answers what: the model, the five mechanisms together and the best possible guesser, on the same sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icalgebra.errors import InputError
from icalgebra.evaluate_by_facts import asks_every, hits_by_facts
from icalgebra.experiments.subject import Subject
from icalgebra.oracle import Ceiling, ceiling_hits
from icalgebra.results import Curve
from icalgebra.sequences import Sequences
from icalgebra.solvers.coverage import coverage
from icalgebra.world import World


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
            f"model.{name}": Curve.of_hits(self.model, self.facts),
            f"solvers.{name}": Curve.of_hits(self.solvers, self.facts),
            f"ceiling.{name}": Curve.of_hits(self.ceiling, self.facts),
        }

    def at(self, k: int) -> int:
        """The column of k facts."""
        return self.facts.index(k)


def ask(subject: Subject, sequences: Sequences, facts: Sequence[int]) -> Answers:
    """Put the queries to all three; of training sequences every fact is a query, of others the last one."""
    columns = np.array(facts) - 2  # solvers and ceilings begin at one fact of context, which is k = 2
    solved = coverage(sequences.tokens, "every" if asks_every(sequences) else "last", subject.world.n_variables)
    ceiling = believed(sequences, subject.world)
    return Answers(
        tuple(facts),
        hits_by_facts(subject.model, sequences, facts),
        solved.hits("total")[:, columns],
        ceiling.hits[:, columns],
        ceiling.kinds[:, columns],
    )


def believed(sequences: Sequences, world: World) -> Ceiling:
    """The best guesses of one who believes in a world, for 1 … k−1 facts of context."""
    return ceiling_hits(sequences, "train" if asks_every(sequences) else "holdout", world=world)


def within_reach(facts: Sequence[int], subject: Subject) -> tuple[int, ...]:
    """The numbers of facts that the model's training length covers."""
    return tuple(k for k in facts if k <= subject.config.n_facts)


def some_within_reach(facts: Sequence[int], subject: Subject) -> tuple[int, ...]:
    """The same where it takes one of them at least."""
    found = within_reach(facts, subject)
    if not found:
        raise InputError(f"this asks for {min(facts)} facts or more, and {subject.name} knows {subject.config.n_facts}")
    return found
