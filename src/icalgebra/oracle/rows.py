"""Kernels: batches of queries, and one query after every prefix of its context."""

from __future__ import annotations

import numpy as np
from numba import njit

from icalgebra.oracle.counting import MAX_BLOCKS, count, find_blocks, make_workspace
from icalgebra.oracle.embeddings import bit
from icalgebra.oracle.weighing import (
    HOLDOUT,
    distinct_facts,
    holds_query,
    label_weights,
    multiset_weights,
    possible_multisets,
    share_out,
)

IMPOSSIBLE, GUESS, ENTAILED, TOO_MANY_BLOCKS = range(4)


@njit(cache=True)
def kind_of(probabilities):
    """Nothing possible ever has weight zero, so an answer is forced where it is the only one."""
    n = np.count_nonzero(probabilities)
    return GUESS if n > 1 else ENTAILED if n == 1 else IMPOSSIBLE


@njit(cache=True)
def weigh_query(arrays, workspace, facts, query, mode, probabilities):
    """Fill the answer's probabilities; the kind of the query and the log of the total weight come back."""
    probabilities[:] = 0
    distinct, consistent = distinct_facts(facts, arrays.n_variables)
    if not consistent or (mode == HOLDOUT and holds_query(distinct, query)):
        return IMPOSSIBLE, -np.inf
    blocks = find_blocks(distinct, bit(query[0]) | bit(query[1]))
    if len(blocks.others) > MAX_BLOCKS:
        return TOO_MANY_BLOCKS, -np.inf
    placed, rest = count(arrays, workspace, distinct, blocks, query)
    possible = possible_multisets(arrays, placed, rest)
    weights, largest = multiset_weights(arrays, possible, len(facts), query, mode)
    found = label_weights(arrays, placed, rest, weights, blocks.seen)
    total = share_out(arrays, found, blocks.seen, probabilities)
    return kind_of(probabilities), largest + np.log(total) if total > 0 else -np.inf


@njit(cache=True, nogil=True)
def weigh_rows(arrays, facts, queries, mode, probabilities, kinds, log_total):
    """A batch: facts [n, k−1, 3], queries [n, 2]."""
    workspace = make_workspace(arrays)
    for row in range(len(facts)):
        kinds[row], log_total[row] = weigh_query(arrays, workspace, facts[row], queries[row], mode, probabilities[row])


@njit(cache=True, nogil=True)
def weigh_last_after_prefixes(arrays, facts, queries, mode, probabilities, kinds):
    """The same query after 0, 1, … facts: probabilities [n, k, N], kinds [n, k].

    A fact seen before changes nothing but the likelihood; and what is entailed stays so while the context is possible.
    """
    workspace = make_workspace(arrays)
    for row in range(len(facts)):
        n_facts = len(facts[row])
        kinds[row, n_facts], _ = weigh_query(
            arrays, workspace, facts[row], queries[row], mode, probabilities[row, n_facts]
        )
        for n in range(n_facts):
            settled = n > 0 and kinds[row, n - 1] == ENTAILED and kinds[row, n_facts] == ENTAILED
            if settled or (n > 0 and kinds[row, n - 1] == IMPOSSIBLE):
                kinds[row, n], probabilities[row, n] = kinds[row, n - 1], probabilities[row, n - 1]
            else:
                kinds[row, n], _ = weigh_query(
                    arrays, workspace, facts[row, :n], queries[row], mode, probabilities[row, n]
                )


@njit(cache=True, nogil=True)
def weigh_each(arrays, facts, mode, probabilities, kinds):
    """Every fact as the query to the facts before it: facts [n, k, 3], probabilities [n, k, N], kinds [n, k]."""
    workspace = make_workspace(arrays)
    for row in range(len(facts)):
        for n in range(facts.shape[1]):
            kinds[row, n], _ = weigh_query(
                arrays, workspace, facts[row, :n], facts[row, n, :2], mode, probabilities[row, n]
            )
