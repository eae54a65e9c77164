"""Kernels: the connected components of a context. Facts that share variables lie in one structure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from icalgebra.compilation import njit
from icalgebra.solvers.kernels import bit


class Components(NamedTuple):
    """Bit sets of variables."""

    query: np.uint64
    others: np.ndarray
    seen: np.uint64  # all variables of the context and the query


@njit(cache=True)
def find_components(facts, query_variables):
    """The connected components of the facts; those that contain a variable of the query are merged."""
    parts, n = np.empty(len(facts) + 1, np.uint64), 0
    for f in range(len(facts)):
        joined = bit(facts[f, 0]) | bit(facts[f, 1]) | bit(facts[f, 2])
        kept = 0
        for i in range(n):
            if parts[i] & joined:
                joined |= parts[i]
            else:
                parts[kept] = parts[i]
                kept += 1
        parts[kept] = joined
        n = kept + 1
    query, seen = query_variables, query_variables
    others, n_others = np.empty(n, np.uint64), 0
    for i in range(n):
        seen |= parts[i]
        if parts[i] & query_variables:
            query |= parts[i]
        else:
            others[n_others] = parts[i]
            n_others += 1
    return Components(query, others[:n_others], seen)


@njit(cache=True)
def smallest_two(plans):
    """The sizes of the two smallest components; 64, larger than any structure, in place of a missing one."""
    smallest, second = 64, 64
    for plan in plans:
        n = len(plan.variable)
        if n < smallest:
            smallest, second = n, smallest
        elif n < second:
            second = n
    return smallest, second
