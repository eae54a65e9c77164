"""Queries by the lowest rung of the ladder that decides them, after every prefix of a context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.model.prefix_accuracy import asks_every
from icalgebra.solvers.ladder import RUNGS, decide_by_facts, decide_queries

# In the order of the ladder. five: a mechanism has the right answer, as in coverage; catalogue: entailed, and no rung
# below decides it; guess: not entailed.
LABELS = ("five", *RUNGS, "catalogue", "guess")
BEYOND = (*RUNGS, "catalogue")  # entailed queries that the five mechanisms do not answer
FIVE, GUESS = LABELS.index("five"), LABELS.index("guess")


@dataclass(frozen=True, eq=False)
class QueryRungs:
    """Arrays [n, context sizes 1 … k−1]: index into LABELS, and the depth of the deduction.

    depths: on chain, latin and associative only, whether or not a mechanism also answers; elsewhere −1.
    """

    labels: np.ndarray
    depths: np.ndarray
    decided: np.ndarray  # the lowest of RUNGS that decides the query, or −1, whatever the mechanisms say

    def at(self, label: str) -> np.ndarray:
        return self.labels == LABELS.index(label)


def query_rungs(sequences: Sequences, solved: np.ndarray, kinds: np.ndarray) -> QueryRungs:
    """solved: whether a mechanism answers [n, k−1]; kinds: of the oracle, [n, k−1].

    A case distinction is tried only on entailed queries that need it: it takes milliseconds, and where the answer is
    not entailed it cannot succeed.
    """
    every = asks_every(sequences)
    found = decide_by_facts(sequences.tokens, "every" if every else "last", sequences.world)
    entailed = kinds == "entailed"
    decided = found.rungs.copy()
    for row, column in zip(*np.nonzero(entailed & (decided < 0) & ~solved), strict=True):
        prompt = prefix_prompt(sequences, int(row), int(column) + 1)
        decided[row, column] = decide_queries(prompt, sequences.world, "split", "split").rungs[0]
    labels = np.where(decided >= 0, decided + 1, np.where(entailed, LABELS.index("catalogue"), GUESS))
    return QueryRungs(np.where(solved, FIVE, labels), found.depths, decided)


def prefix_prompt(sequences: Sequences, row: int, n_context: int) -> np.ndarray:
    """The prompt [1, T] of the query that a sequence asks after n_context facts."""
    tokens, end = sequences.tokens[row], n_context * FACT_LENGTH
    query = tokens[end:] if asks_every(sequences) else tokens[-FACT_LENGTH:]
    return np.concatenate([tokens[:end], query[: FACT_LENGTH - 1]])[None]
