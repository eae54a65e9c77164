"""What one query may cost. Counting is exact, and for some contexts there is too much to count: four unconnected facts
in a structure of order 16 have half a billion embeddings. Such a query ends in an error, always at the same point: the
budget counts steps, not seconds. Ctrl-C stops the kernels in the middle of a query.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from icalgebra.compilation import njit

MAX_STEPS = 2_000_000_000  # steps of the innermost loops, several seconds
MAX_ENTRIES = 1 << 24  # embeddings and images that are kept, up to 64 bytes each: one gigabyte
MAX_BYTES = 1 << 30  # of the two tables of counts
QUICK_STEPS = 20_000_000  # a tenth of a second: longer queries run in a thread, so that Ctrl-C is heard
STEPS, ENTRIES, STOP = range(3)


class Budget(NamedTuple):
    """limits: the largest numbers of steps and entries of one query, and 1 in the last place to stop at once."""

    limits: np.ndarray
    spent: np.ndarray  # by the query at hand


def make_budget(steps: int = MAX_STEPS) -> np.ndarray:
    return np.array([steps, MAX_ENTRIES, 0], dtype=np.int64)


@njit(cache=True)
def spend(budget, steps, entries=0):
    """Record what was done; returns whether the query must be given up."""
    budget.spent[STEPS] += steps
    budget.spent[ENTRIES] += entries
    return exhausted(budget)


@njit(cache=True)
def exhausted(budget):
    limits, spent = budget.limits, budget.spent
    return spent[STEPS] > limits[STEPS] or spent[ENTRIES] > limits[ENTRIES] or limits[STOP] != 0
