"""Kernels: from counts to posterior weights.

Likelihoods are taken relative to the likeliest multiset that is still possible, so nothing that matters underflows;
a multiset far behind it keeps a weight of e^−FLOOR, so that what is possible never turns into zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from icalgebra.oracle.embeddings import bit, has, popcount

TRAIN, HOLDOUT = range(2)
FLOOR = 400.0


@njit(cache=True)
def falling(n, k):
    product = 1.0
    for i in range(k):
        product *= n - i
    return product


@njit(cache=True)
def completions(n_variables, n_seen, elements, unseen_identities, reserved_open):
    """Assignments of the elements not yet named to the variables not yet seen.

    reserved_open: the reserved variable is among the unseen, and no unseen identity may take it.
    """
    left, free = elements - n_seen, n_variables - n_seen
    if left <= 0:
        return 1.0 if left == 0 else 0.0
    if not reserved_open:
        return falling(free, left)
    return falling(free - 1, left - 1) * (free - unseen_identities)


@njit(cache=True)
def log_likelihood(cells, n_context, query, mode):
    """Of the context facts' cells and the query's cell, given the tables' number of cells."""
    if n_context == 0:
        return -np.log(cells)
    drawn_from = cells
    if mode == HOLDOUT:
        drawn_from -= 1 if query[0] == query[1] else 2
    return -n_context * np.log(drawn_from) - np.log(cells) if drawn_from > 0 else -np.inf


@njit(cache=True)
def possible_multisets(arrays, placed, rest):
    """Which multisets have room for the asked block, its answer and every other block."""
    n_sets = placed.shape[2]
    possible = np.zeros(len(arrays.last), np.bool_)
    for s in range(placed.shape[1]):
        for blocks in range(n_sets):
            if not placed[:, s, blocks].any():
                continue
            for m in range(1, len(arrays.last)):
                without = arrays.without[m, s]
                if without >= 0 and not possible[m] and arrays.log_prior[m] > -np.inf:
                    possible[m] = rest[without, n_sets - 1 - blocks].any()
    return possible


@njit(cache=True)
def multiset_weights(arrays, possible, n_context, query, mode):
    """Prior times likelihood of every possible multiset, relative to the largest, and the largest's log."""
    weights = np.zeros(len(arrays.last))
    largest = -np.inf
    for m in range(len(weights)):
        if possible[m]:
            weights[m] = arrays.log_prior[m] + log_likelihood(arrays.cells[m], n_context, query, mode)
            largest = max(largest, weights[m])
    for m in range(len(weights)):
        if possible[m]:
            weights[m] = np.exp(max(weights[m] - largest, -FLOOR)) if weights[m] > -np.inf else 0.0
    return weights, largest


@njit(cache=True)
def weigh_elsewhere(arrays, rest, weights, s, blocks, seen, n_seen, v):
    """The weight of everything outside structure s, when `blocks` are not in it and v says its identity is seen."""
    total = 0.0
    reserved_open = arrays.reserved >= 0 and not has(seen, arrays.reserved)
    for m in range(1, len(weights)):
        without = arrays.without[m, s]
        if weights[m] == 0 or without < 0:
            continue
        for u in range(rest.shape[2]):
            ways = rest[without, blocks, u]
            if ways > 0:
                ways *= completions(arrays.n_variables, n_seen, arrays.elements[m], u + 1 - v, reserved_open)
                total += arrays.copies[m, s] * weights[m] * ways
    return total


@njit(cache=True)
def label_weights(arrays, placed, rest, weights, seen):
    """The weight of every answer; entry N is that of one variable that is neither seen nor reserved."""
    n_labels, n_structures, n_sets, _ = placed.shape
    n_seen, found = popcount(seen), np.zeros(n_labels)
    for label in range(n_labels):
        new = label == arrays.n_variables or not has(seen, label)
        seen_with = seen | bit(label) if label < arrays.n_variables else seen
        for s in range(n_structures):
            for blocks in range(n_sets):
                for v in range(2):
                    if placed[label, s, blocks, v] > 0:
                        found[label] += placed[label, s, blocks, v] * weigh_elsewhere(
                            arrays, rest, weights, s, n_sets - 1 - blocks, seen_with, n_seen + new, v
                        )
    return found


@njit(cache=True)
def normalise(arrays, found, seen, probabilities):
    """Weights by label to probabilities by variable; the sum of the weights comes back."""
    for v in range(arrays.n_variables):
        fresh = not has(seen, v) and v != arrays.reserved
        probabilities[v] = found[arrays.n_variables] if fresh else found[v]
    total = probabilities.sum()
    if total > 0:
        probabilities /= total
    return total


@njit(cache=True)
def distinct_facts(facts, n_variables):
    """Facts [k, 3] without repeats; none at all, and False, where one pair has two answers."""
    answer = np.full((n_variables, n_variables), -1, np.int64)
    distinct, n = np.empty((len(facts), 3), np.int64), 0
    for f in range(len(facts)):
        x, y, z = facts[f]
        if answer[x, y] < 0:
            answer[x, y] = z
            distinct[n] = facts[f]
            n += 1
        elif answer[x, y] != z:
            return distinct[:0], False
    return distinct[:n], True


@njit(cache=True)
def holds_query(facts, query):
    for f in range(len(facts)):
        x, y = facts[f, 0], facts[f, 1]
        if (x == query[0] and y == query[1]) or (x == query[1] and y == query[0]):
            return True
    return False
