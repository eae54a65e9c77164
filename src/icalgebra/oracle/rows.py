"""Kernels: batches of queries, and one query after every prefix of its context."""

from __future__ import annotations

import numpy as np
from numba import njit

from icalgebra.oracle.counting import count, countable, find_blocks, make_workspace
from icalgebra.oracle.embeddings import bit
from icalgebra.oracle.posterior_weights import (
    HOLDOUT,
    TRAIN,
    distinct_facts,
    holds_query,
    label_weights,
    multiset_weights,
    normalise,
    possible_multisets,
)

IMPOSSIBLE, GUESS, ENTAILED, TOO_MANY_BLOCKS = range(4)


@njit(cache=True)
def kind_of(probabilities):
    """Nothing possible ever has weight zero, so an answer is forced where it is the only one."""
    n = np.count_nonzero(probabilities)
    return GUESS if n > 1 else ENTAILED if n == 1 else IMPOSSIBLE


@njit(cache=True)
def count_query(arrays, workspace, facts, query, mode):
    """What the distinct facts say, whatever their number: the status, the two tables of counts, the variables seen."""
    distinct, consistent = distinct_facts(facts, arrays.n_variables)
    blocks = find_blocks(distinct, bit(query[0]) | bit(query[1]))
    status = GUESS
    if not consistent or (mode == HOLDOUT and holds_query(distinct, query)):
        status = IMPOSSIBLE
    elif not countable(arrays, blocks):
        status = TOO_MANY_BLOCKS
    if status != GUESS:
        blocks = find_blocks(distinct[:0], bit(query[0]) | bit(query[1]))
    placed, rest = count(arrays, workspace, distinct, blocks, query)
    return status, placed, rest, blocks.seen


@njit(cache=True)
def weigh_counts(arrays, counted, n_context, query, mode, probabilities):
    """Fill the answer's probabilities; the kind of the query and the log of the total weight come back."""
    status, placed, rest, seen = counted
    probabilities[:] = 0
    if status != GUESS:
        return status, -np.inf
    possible = possible_multisets(arrays, placed, rest)
    weights, largest = multiset_weights(arrays, possible, n_context, query, mode)
    total = normalise(arrays, label_weights(arrays, placed, rest, weights, seen), seen, probabilities)
    return kind_of(probabilities), largest + np.log(total) if total > 0 else -np.inf


@njit(cache=True)
def weigh_query(arrays, workspace, facts, query, mode, probabilities):
    counted = count_query(arrays, workspace, facts, query, mode)
    return weigh_counts(arrays, counted, len(facts), query, mode, probabilities)


@njit(cache=True, nogil=True)
def weigh_rows(arrays, facts, queries, mode, probabilities, kinds, log_weights):
    """A batch: facts [n, k−1, 3], queries [n, 2]."""
    workspace = make_workspace(arrays)
    for row in range(len(facts)):
        kinds[row], log_weights[row] = weigh_query(
            arrays, workspace, facts[row], queries[row], mode, probabilities[row]
        )


@njit(cache=True, nogil=True)
def weigh_last_after_prefixes(arrays, facts, queries, mode, probabilities, kinds):
    """The same query after 0, 1, … facts: facts [n, k−1, 3], probabilities [n, k, N], kinds [n, k].

    What is entailed stays so while the context is possible, and what is impossible stays impossible. A fact seen
    before changes only the likelihood, so the counts are kept.
    """
    workspace = make_workspace(arrays)
    for row in range(len(facts)):
        query, end = queries[row], facts.shape[1]
        p, kind = probabilities[row], kinds[row]
        kind[end], _ = weigh_query(arrays, workspace, facts[row], query, mode, p[end])
        counted = count_query(arrays, workspace, facts[row, :0], query, mode)
        kind[0], _ = weigh_counts(arrays, counted, 0, query, mode, p[0])
        for n in range(1, end):
            if kind[n - 1] == IMPOSSIBLE or (kind[n - 1] == ENTAILED and kind[end] == ENTAILED):
                kind[n], p[n] = kind[n - 1], p[n - 1]
                continue
            if not seen_before(facts[row], n - 1):
                counted = count_query(arrays, workspace, facts[row, :n], query, mode)
            kind[n], _ = weigh_counts(arrays, counted, n, query, mode, p[n])


@njit(cache=True)
def seen_before(facts, n):
    for f in range(n):
        if facts[f, 0] == facts[n, 0] and facts[f, 1] == facts[n, 1] and facts[f, 2] == facts[n, 2]:
            return True
    return False


@njit(cache=True, nogil=True)
def weigh_each(arrays, facts, mode, probabilities, kinds):
    """Every fact as the query to the facts before it: facts [n, k, 3], probabilities [n, k, N], kinds [n, k].

    Where the whole context is possible so is every prefix, and a pair that has occurred has its answer.
    """
    workspace = make_workspace(arrays)
    for row in range(len(facts)):
        these, end = facts[row], facts.shape[1] - 1
        p, kind = probabilities[row], kinds[row]
        kind[end], _ = weigh_query(arrays, workspace, these[:end], these[end, :2], mode, p[end])
        for n in range(end):
            known = known_answer(these, n) if mode == TRAIN and kind[end] != IMPOSSIBLE else -1
            if known >= 0:
                kind[n], p[n, known] = ENTAILED, 1.0
            else:
                kind[n], _ = weigh_query(arrays, workspace, these[:n], these[n, :2], mode, p[n])


@njit(cache=True)
def known_answer(facts, n):
    """The answer that fact n's pair had before, or −1."""
    for f in range(n):
        if facts[f, 0] == facts[n, 0] and facts[f, 1] == facts[n, 1]:
            return facts[f, 2]
    return -1


@njit(cache=True, nogil=True)
def weigh_slots(arrays, facts, log_left, log_pair, log_answer, kinds):
    """Logs of P(facts before, left), P(facts before, pair) and P(answer | pair, facts before) for every fact: [n, k].

    A variable is drawn to the left in |G| of the T cells, and squared in one of them: so its weight is that of its
    square as a query, each structure counted as often as it has elements.
    """
    workspace, p = make_workspace(arrays), np.empty(arrays.n_variables)
    for row in range(len(facts)):
        for n in range(facts.shape[1]):
            before, pair, answer = facts[row, :n], facts[row, n, :2], facts[row, n, 2]
            square = np.array([pair[0], pair[0]])
            counted = count_query(arrays, workspace, before, square, TRAIN)
            for s in range(len(arrays.orders)):
                counted[1][:, s] *= arrays.orders[s]
            of_left, log_left[row, n] = weigh_counts(arrays, counted, n, square, TRAIN, p)
            of_pair, log_pair[row, n] = weigh_query(arrays, workspace, before, pair, TRAIN, p)
            kinds[row, n] = max(of_left, of_pair)
            log_answer[row, n] = np.log(p[answer]) if p[answer] > 0 else -np.inf


@njit(cache=True)
def weigh_multisets(arrays, facts, query, mode, log_weights):
    """Log of P(context, query pair, multiset) for every multiset, as the counts stand after the context."""
    workspace, unread = make_workspace(arrays), np.empty(arrays.n_variables)
    log_weights[:] = -np.inf
    status, placed, rest, seen = count_query(arrays, workspace, facts, query, mode)
    if status != GUESS:
        return
    possible = possible_multisets(arrays, placed, rest)
    for m in range(len(possible)):
        if possible[m]:
            only = np.zeros_like(possible)
            only[m] = True
            weights, largest = multiset_weights(arrays, only, len(facts), query, mode)
            total = normalise(arrays, label_weights(arrays, placed, rest, weights, seen), seen, unread)
            if total > 0:
                log_weights[m] = largest + np.log(total)
