"""Kernels: from counts of embeddings to posterior weights.

The weight of an answer is the sum, over the multisets of structures, of prior × likelihood × number of assignments that
satisfy the facts with this answer. Prior × likelihood is taken relative to its maximum over the possible multisets, so
that long contexts do not underflow.
"""

from __future__ import annotations

import numpy as np

from icalgebra.compilation import njit
from icalgebra.oracle.budget import spend
from icalgebra.oracle.embeddings import has
from icalgebra.solvers.kernels import bit, popcount

TRAIN, HOLDOUT = range(2)
MAX_LOG_RATIO = 400.0  # a possible multiset weighs at least e^−400 of the likeliest, so "possible" never becomes zero


@njit(cache=True)
def falling_factorial(n, k):
    product = 1.0
    for i in range(k):
        product *= n - i
    return product


@njit(cache=True)
def completions(n_variables, n_seen, elements, unseen_identities, reserved_open):
    """The number of ways to assign the remaining elements to the unseen variables.

    reserved_open: the reserved variable is unseen, so no unseen identity may be assigned to it.
    """
    remaining, free = elements - n_seen, n_variables - n_seen
    if remaining <= 0:
        return 1.0 if remaining == 0 else 0.0
    if not reserved_open:
        return falling_factorial(free, remaining)
    return falling_factorial(free - 1, remaining - 1) * (free - unseen_identities)


@njit(cache=True)
def log_likelihood(cells, n_context, query, mode):
    """Log-probability of the cells of context and query, given how many cells the tables have together.

    In a hold-out sequence the context is drawn from the cells other than the query's and its reverse.
    """
    if n_context == 0:
        return -np.log(cells)
    drawn_from = cells
    if mode == HOLDOUT:
        drawn_from -= 1 if query[0] == query[1] else 2
    return -n_context * np.log(drawn_from) - np.log(cells) if drawn_from > 0 else -np.inf


@njit(cache=True)
def possible_multisets(arrays, query_in, rest):
    """Which multisets have room for the query component, its answer and every other component."""
    n_sets = query_in.shape[2]
    possible = np.zeros(len(arrays.last), np.bool_)
    for s in range(query_in.shape[1]):
        for inside in range(n_sets):
            if not query_in[:, s, inside].any():
                continue
            for m in range(1, len(arrays.last)):
                without = arrays.without[m, s]
                if without >= 0 and not possible[m] and arrays.log_prior[m] > -np.inf:
                    possible[m] = rest[without, n_sets - 1 - inside].any()
    return possible


@njit(cache=True)
def multiset_weights(arrays, possible, n_context, query, mode):
    """Prior × likelihood of every possible multiset, relative to the largest, and the log of the largest."""
    weights = np.zeros(len(arrays.last))
    largest = -np.inf
    for m in range(len(weights)):
        if possible[m]:
            weights[m] = arrays.log_prior[m] + log_likelihood(arrays.cells[m], n_context, query, mode)
            largest = max(largest, weights[m])
    for m in range(len(weights)):
        if possible[m]:
            weights[m] = np.exp(max(weights[m] - largest, -MAX_LOG_RATIO)) if weights[m] > -np.inf else 0.0
    return weights, largest


@njit(cache=True)
def weight_elsewhere(arrays, rest, weights, s, outside, seen, n_seen, v):
    """The total weight of what can be outside structure s: the components `outside` in the rest of each multiset.

    v: whether the identity of s is seen.
    """
    total = 0.0
    reserved_open = arrays.reserved >= 0 and not has(seen, arrays.reserved)
    for m in range(1, len(weights)):
        without = arrays.without[m, s]
        if weights[m] == 0 or without < 0:
            continue
        for u in range(rest.shape[2]):
            ways = rest[without, outside, u]
            if ways > 0:
                ways *= completions(arrays.n_variables, n_seen, arrays.elements[m], u + 1 - v, reserved_open)
                total += arrays.copies[m, s] * weights[m] * ways
    return total


@njit(cache=True)
def label_weights(arrays, budget, query_in, rest, weights, seen):
    """The weight of every answer; entry N is that of any one variable that is neither seen nor reserved.

    What lies elsewhere depends on the answer only by whether it is a seen variable, the reserved one or a fresh one, so
    it is summed once for each of these three.
    """
    n_labels, n_structures, n_sets, _ = query_in.shape
    n_seen, found = popcount(seen), np.zeros(n_labels)
    elsewhere = np.full((3, n_structures, n_sets, 2), -1.0)
    for label in range(n_labels):
        new = label == arrays.n_variables or not has(seen, label)
        seen_with = seen | bit(label) if label < arrays.n_variables else seen
        sort = 2 if label == arrays.n_variables else 1 if new else 0
        for s in range(n_structures):
            for inside in range(n_sets):
                for v in range(2):
                    if query_in[label, s, inside, v] == 0:
                        continue
                    if elsewhere[sort, s, inside, v] < 0:
                        if spend(budget, len(weights)):
                            return found
                        elsewhere[sort, s, inside, v] = weight_elsewhere(
                            arrays, rest, weights, s, n_sets - 1 - inside, seen_with, n_seen + new, v
                        )
                    found[label] += query_in[label, s, inside, v] * elsewhere[sort, s, inside, v]
    return found


@njit(cache=True)
def normalise(arrays, found, seen, probabilities):
    """Turn weights by label into probabilities by variable; returns the sum of the weights."""
    for v in range(arrays.n_variables):
        fresh = not has(seen, v) and v != arrays.reserved
        probabilities[v] = found[arrays.n_variables] if fresh else found[v]
    total = probabilities.sum()
    if total > 0:
        probabilities /= total
    return total


@njit(cache=True)
def distinct_facts(facts, n_variables):
    """Facts [k, 3] without repeats, and True; no facts, and False, where one pair has two answers."""
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
def contains_query(facts, query):
    """Whether the query's pair or its reverse occurs."""
    for f in range(len(facts)):
        x, y = facts[f, 0], facts[f, 1]
        if (x == query[0] and y == query[1]) or (x == query[1] and y == query[0]):
            return True
    return False
