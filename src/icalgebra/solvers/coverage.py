"""Coverage: the share of queries that each mechanism answers and no earlier one does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from icalgebra.language.vocabulary import ANSWER, FACT_LENGTH
from icalgebra.solvers import MECHANISMS, Queries, answer_sets
from icalgebra.statistics import Estimate, auc

UNSOLVED, NOT_ASKED = -1, -2  # not asked: a shorter sequence has no query after that many facts
ROWS_AT_ONCE = 256  # so that the answer sets stay in the CPU cache


@dataclass(frozen=True, eq=False)
class Coverage:
    """solved_by[i, j]: the first mechanism that answers sequence i after j facts, −1 (none) or −2 (not asked)."""

    solved_by: np.ndarray

    def hits(self, mechanism: str) -> np.ndarray:
        """Whether this mechanism ('total': any) solves the query after 1 … k−1 facts of context; NaN: not asked."""
        solved = self.solved_by[:, 1:]
        found = solved >= 0 if mechanism == "total" else solved == MECHANISMS.index(mechanism)
        return np.where(solved == NOT_ASKED, np.nan, found) if (solved == NOT_ASKED).any() else found

    def auc(self, mechanism: str) -> Estimate:
        return auc(self.hits(mechanism))

    def curve(self, mechanism: str) -> np.ndarray:
        """The share of queries it solves, at each number of context facts 1 … k−1."""
        return np.nanmean(self.hits(mechanism), axis=0)


def coverage(tokens: np.ndarray, queries: Queries, n_variables: int = 16, *, commute_any: bool = False) -> Coverage:
    """Apply the mechanisms in the published order. A query is solved by a single answer that is the true one.

    commute_any: a commutative copy counts even where its answer is wrong, as in the paper's listing.
    """
    parts = [
        _first_to_solve(tokens[i : i + ROWS_AT_ONCE], queries, n_variables, commute_any)
        for i in range(0, len(tokens), ROWS_AT_ONCE)
    ]
    return Coverage(np.concatenate(parts))


def _first_to_solve(tokens: np.ndarray, queries: Queries, n_variables: int, commute_any: bool) -> np.ndarray:
    answers = answer_sets(tokens, queries, n_variables)
    truth = tokens[:, ANSWER::FACT_LENGTH] if queries == "every" else tokens[:, -1:]
    solved = answers == (np.uint64(1) << truth.astype(np.uint64))[:, :, None]
    if commute_any:
        commute = MECHANISMS.index("commute")
        solved[:, :, commute] = answers[:, :, commute] != 0
    return np.where(solved.any(axis=2), solved.argmax(axis=2), UNSOLVED).astype(np.int8)
