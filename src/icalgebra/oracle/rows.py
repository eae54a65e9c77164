"""Kernels: posteriors of whole batches, of single queries and of queries after every prefix of their context."""

from __future__ import annotations

import numpy as np

from icalgebra.compilation import njit
from icalgebra.oracle.budget import exhausted
from icalgebra.oracle.components import find_components
from icalgebra.oracle.counting import clear, count, countable, make_workspace
from icalgebra.oracle.posterior_weights import (
    HOLDOUT,
    TRAIN,
    contains_query,
    distinct_facts,
    label_weights,
    multiset_weights,
    normalise,
    possible_multisets,
)
from icalgebra.solvers.kernels import bit

IMPOSSIBLE, GUESS, ENTAILED, TOO_MANY_COMPONENTS, OVER_BUDGET = range(5)


@njit(cache=True)
def kind_of(probabilities):
    """A possible answer always has a positive weight, so an answer is entailed where it is the only one."""
    n = np.count_nonzero(probabilities)
    return GUESS if n > 1 else ENTAILED if n == 1 else IMPOSSIBLE


@njit(cache=True)
def count_query(arrays, workspace, facts, query, mode):
    """What depends on the distinct facts only: status (GUESS: counted), tables of counts, bit set of seen variables."""
    workspace.budget.spent[:] = 0
    distinct, consistent = distinct_facts(facts, arrays.n_variables)
    components = find_components(distinct, bit(query[0]) | bit(query[1]))
    status = GUESS
    if not consistent or (mode == HOLDOUT and contains_query(distinct, query)):
        status = IMPOSSIBLE
    elif not countable(arrays, components):
        status = TOO_MANY_COMPONENTS
    if status != GUESS:  # count the query alone, which is cheap: the tables are not read
        components = find_components(distinct[:0], bit(query[0]) | bit(query[1]))
    query_in, rest = count(arrays, workspace, distinct, components, query)
    if exhausted(workspace.budget):
        clear(workspace)
        status = OVER_BUDGET
    return status, query_in, rest, components.seen


@njit(cache=True)
def posterior_from_counts(arrays, budget, counted, n_context, query, mode, probabilities):
    """Fill in the answer's probabilities; returns the query's kind and the log of the total weight."""
    status, query_in, rest, seen = counted
    probabilities[:] = 0
    if status != GUESS:
        return status, -np.inf
    possible = possible_multisets(arrays, query_in, rest)
    weights, largest = multiset_weights(arrays, possible, n_context, query, mode)
    total = normalise(arrays, label_weights(arrays, budget, query_in, rest, weights, seen), seen, probabilities)
    if exhausted(budget):
        return OVER_BUDGET, -np.inf
    return kind_of(probabilities), largest + np.log(total) if total > 0 else -np.inf


@njit(cache=True)
def query_posterior(arrays, workspace, facts, query, mode, probabilities):
    counted = count_query(arrays, workspace, facts, query, mode)
    return posterior_from_counts(arrays, workspace.budget, counted, len(facts), query, mode, probabilities)


@njit(cache=True, nogil=True)
def query_posteriors(arrays, limits, facts, queries, mode, probabilities, kinds, log_weights):
    """A batch: facts [n, k−1, 3], queries [n, 2]."""
    workspace = make_workspace(arrays, limits[0])
    for row in range(len(facts)):
        kinds[row], log_weights[row] = query_posterior(
            arrays, workspace, facts[row], queries[row], mode, probabilities[row]
        )


@njit(cache=True, nogil=True)
def last_query_posteriors(arrays, limits, facts, queries, mode, probabilities, kinds):
    """The same query after 0, 1, … facts: facts [n, k−1, 3], probabilities [n, k, N], kinds [n, k].

    Most prefixes need no counting. An entailed answer stays entailed while the context is possible, which the whole
    context decides; an impossible context stays impossible; and a repeated fact changes only the likelihood.
    """
    workspace = make_workspace(arrays, limits[0])
    for row in range(len(facts)):
        query, end = queries[row], facts.shape[1]
        p, kind = probabilities[row], kinds[row]
        kind[end], _ = query_posterior(arrays, workspace, facts[row], query, mode, p[end])
        counted = count_query(arrays, workspace, facts[row, :0], query, mode)
        kind[0], _ = posterior_from_counts(arrays, workspace.budget, counted, 0, query, mode, p[0])
        for n in range(1, end):
            if kind[n - 1] == IMPOSSIBLE or (kind[n - 1] == ENTAILED and kind[end] == ENTAILED):
                kind[n], p[n] = kind[n - 1], p[n - 1]
                continue
            if not seen_before(facts[row], n - 1):
                counted = count_query(arrays, workspace, facts[row, :n], query, mode)
            kind[n], _ = posterior_from_counts(arrays, workspace.budget, counted, n, query, mode, p[n])


@njit(cache=True)
def seen_before(facts, n):
    for f in range(n):
        if facts[f, 0] == facts[n, 0] and facts[f, 1] == facts[n, 1] and facts[f, 2] == facts[n, 2]:
            return True
    return False


@njit(cache=True, nogil=True)
def every_query_posteriors(arrays, limits, facts, mode, probabilities, kinds):
    """Every fact as the query to the facts before it: facts [n, k, 3], probabilities [n, k, N], kinds [n, k].

    Where the whole context is possible, so is every prefix, and a pair that occurred before has its answer.
    """
    workspace = make_workspace(arrays, limits[0])
    for row in range(len(facts)):
        these, end = facts[row], facts.shape[1] - 1
        p, kind = probabilities[row], kinds[row]
        kind[end], _ = query_posterior(arrays, workspace, these[:end], these[end, :2], mode, p[end])
        for n in range(end):
            known = known_answer(these, n) if mode == TRAIN and kind[end] != IMPOSSIBLE else -1
            if known >= 0:
                kind[n], p[n, known] = ENTAILED, 1.0
            else:
                kind[n], _ = query_posterior(arrays, workspace, these[:n], these[n, :2], mode, p[n])


@njit(cache=True)
def known_answer(facts, n):
    """The answer that the pair of fact n had before, or −1."""
    for f in range(n):
        if facts[f, 0] == facts[n, 0] and facts[f, 1] == facts[n, 1]:
            return facts[f, 2]
    return -1


@njit(cache=True, nogil=True)
def slot_log_probabilities(arrays, limits, facts, log_left, log_pair, log_answer, kinds):
    """For every fact [n, k], the logs of P(facts before, left), P(facts before, pair), P(answer | pair, facts before).

    Variable a of structure G is the left operand of |G| cells out of all T, and in one of them it is squared. So
    P(facts, left a) is the weight of the query aa, with each structure's count multiplied by its order.
    """
    workspace, p = make_workspace(arrays, limits[0]), np.empty(arrays.n_variables)
    for row in range(len(facts)):
        for n in range(facts.shape[1]):
            before, pair, answer = facts[row, :n], facts[row, n, :2], facts[row, n, 2]
            square = np.array([pair[0], pair[0]])
            counted = count_query(arrays, workspace, before, square, TRAIN)
            for s in range(len(arrays.orders)):
                counted[1][:, s] *= arrays.orders[s]
            left_kind, log_left[row, n] = posterior_from_counts(arrays, workspace.budget, counted, n, square, TRAIN, p)
            pair_kind, log_pair[row, n] = query_posterior(arrays, workspace, before, pair, TRAIN, p)
            kinds[row, n] = max(left_kind, pair_kind)
            log_answer[row, n] = np.log(p[answer]) if p[answer] > 0 else -np.inf


@njit(cache=True, nogil=True)
def multiset_log_weights(arrays, limits, facts, queries, mode, log_weights, kinds):
    """Log of P(context, query pair, multiset) for every multiset; one query, as a batch of one row."""
    multiset_row(arrays, make_workspace(arrays, limits[0]), facts[0], queries[0], mode, log_weights[0], kinds)


@njit(cache=True)
def multiset_row(arrays, workspace, facts, query, mode, log_weights, kinds):
    unused = np.empty(arrays.n_variables)
    log_weights[:] = -np.inf
    status, query_in, rest, seen = count_query(arrays, workspace, facts, query, mode)
    kinds[0] = status
    if status != GUESS:
        return
    possible = possible_multisets(arrays, query_in, rest)
    for m in range(len(possible)):
        if possible[m]:
            only = np.zeros_like(possible)
            only[m] = True
            weights, largest = multiset_weights(arrays, only, len(facts), query, mode)
            total = normalise(
                arrays, label_weights(arrays, workspace.budget, query_in, rest, weights, seen), seen, unused
            )
            if exhausted(workspace.budget):
                kinds[0] = OVER_BUDGET
                return
            if total > 0:
                log_weights[m] = largest + np.log(total)
