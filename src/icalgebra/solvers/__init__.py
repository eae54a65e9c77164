"""The five symbolic mechanisms of the paper as programs.

    reference.py  slow, on text, with proofs: simple enough to check by reading
    kernels.py    compiled, on token arrays, at every context size
    coverage.py   the share of queries that each mechanism answers and the earlier ones do not

A solver is a predictor like any other: `solver("cancel")(prompts)` returns probabilities over the variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from icalgebra.errors import unknown
from icalgebra.language.vocabulary import FACT_LENGTH, MECHANISMS, Vocabulary
from icalgebra.solvers.kernels import N_MECHANISMS, answer_every, answer_last
from icalgebra.solvers.reference import proof

Queries = Literal["every", "last"]

__all__ = ["MECHANISMS", "Queries", "answer_sets", "proof", "solver"]


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


def solver(mechanism: str, n_variables: int = 16) -> Callable[[np.ndarray], np.ndarray]:
    """A mechanism as a predictor: prompts [n, 5k−1] to probabilities [n, N]; a zero row where it has no answer."""
    if mechanism not in MECHANISMS:
        raise unknown("mechanism", mechanism, MECHANISMS)
    index, vocabulary = MECHANISMS.index(mechanism), Vocabulary(n_variables)

    def predict(rows: ArrayLike) -> np.ndarray:
        prompts = vocabulary.prompts(rows)
        n_facts = (prompts.shape[1] + 1) // FACT_LENGTH
        answers = np.empty((len(prompts), 1, N_MECHANISMS), dtype=np.uint64)
        answer_last(np.ascontiguousarray(prompts, dtype=np.uint8), answers, n_variables, n_facts, n_facts - 1)
        bits = (answers[:, 0, index, None] >> np.arange(n_variables, dtype=np.uint64)) & np.uint64(1)
        return bits / np.maximum(bits.sum(axis=1, keepdims=True), 1)

    return predict
