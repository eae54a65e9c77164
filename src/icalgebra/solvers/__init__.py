"""The five symbolic mechanisms of the paper as programs, and the ladder of deduction above them.

    reference.py  slow, on text, with proofs: simple enough to check by reading
    kernels.py    compiled, on token arrays, at every context size
    coverage.py   the share of queries that each mechanism answers and the earlier ones do not
    ladder/       sound deduction in rungs, with proofs in words and a checker

A solver is a predictor like any other: `solver("cancel")(prompts)` returns probabilities over the variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from icalgebra.errors import unknown
from icalgebra.language.parsing import as_prompts
from icalgebra.language.vocabulary import FACT_LENGTH, MECHANISMS, Vocabulary
from icalgebra.records import argument
from icalgebra.solvers.kernels import N_MECHANISMS, answer_every, answer_last, fill_candidates
from icalgebra.solvers.reference import proof

if TYPE_CHECKING:
    from icalgebra.language.world import World

Queries = Literal["every", "last"]

__all__ = ["MECHANISMS", "Queries", "answer_sets", "candidate_sets", "proof", "solver"]


def answer_sets(tokens: np.ndarray, queries: Queries, n_variables: int = 16) -> np.ndarray:
    """The answers of each mechanism as bit sets over the variables: uint64 [n, k, 5]; index j has j facts of context.

    every: fact j is the query to the j facts before it. last: the last fact is the query to the first j facts.
    """
    Vocabulary(n_variables).check(tokens)
    n, length = tokens.shape
    n_facts = length // FACT_LENGTH
    answers = np.empty((n, n_facts, N_MECHANISMS), dtype=np.uint64)
    if queries == "every":
        answer_every(np.ascontiguousarray(tokens), answers, n_variables)
    else:
        answer_last(np.ascontiguousarray(tokens), answers, n_variables, n_facts, 0)
    return answers


def candidate_sets(tokens: np.ndarray, queries: Queries, n_variables: int = 16) -> np.ndarray:
    """Closure set − cancellation set as bit sets: uint64 [n, k]; index j has j facts of context, as in answer_sets."""
    Vocabulary(n_variables).check(tokens)
    candidates = np.empty((len(tokens), tokens.shape[1] // FACT_LENGTH), dtype=np.uint64)
    fill_candidates(np.ascontiguousarray(tokens), candidates, n_variables, queries == "every")
    return candidates


def solver(name: str, n_variables: int = 16, world: World | None = None) -> Callable[[np.ndarray], np.ndarray]:
    """A mechanism or a rung of the ladder as a predictor: prompts [n, 5k−1] to probabilities [n, N].

    A zero row where it has no answer. Mechanisms need the number of variables, rungs (chain, latin, associative, split)
    the world, by default the paper's.
    """
    from icalgebra.solvers.ladder import RUNGS, rung_predictor

    argument(str, name, "name")
    if name in RUNGS:
        return rung_predictor(name, world)
    if name not in MECHANISMS:
        raise unknown("mechanism or rung", name, (*MECHANISMS, *RUNGS))
    if world is not None:
        n_variables = world.n_variables
    index, vocabulary = MECHANISMS.index(name), Vocabulary(n_variables)

    def predict(rows: ArrayLike) -> np.ndarray:
        prompts = as_prompts(rows, vocabulary)
        n_facts = (prompts.shape[1] + 1) // FACT_LENGTH
        answers = np.empty((len(prompts), 1, N_MECHANISMS), dtype=np.uint64)
        answer_last(np.ascontiguousarray(prompts, dtype=np.uint8), answers, n_variables, n_facts, n_facts - 1)
        bits = (answers[:, 0, index, None] >> np.arange(n_variables, dtype=np.uint64)) & np.uint64(1)
        return bits / np.maximum(bits.sum(axis=1, keepdims=True), 1)

    return predict
