"""Kernels: two sequences about one group that share all variables but one; counterfactuals.py names the laws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from icalgebra.data.packed_facts import packed, write_row
from icalgebra.data.required_facts import fill_context, needed_for_cancel, needed_in_line
from icalgebra.data.sampler import attempts
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.randomness import below, partial_shuffle, row_state

# Which set of the source goes into the base run.
SWAP_CLOSURE, SWAP_CANCELLATION = range(2)
# Where the facts come from: the query's row and column, or one of them.
ROW_AND_COLUMN, ROW, COLUMN = range(3)


class PairLaw(NamedTuple):
    """A law of counterfactual pairs, as the kernel reads it."""

    swap: int
    facts: int = ROW_AND_COLUMN
    identity: int = 0  # whether queries and targets may be identity facts


@njit(cache=True)
def name_elements(state, world, s, shared, own, answer, answer_is_own, names):
    """Elements to the shared variables and one of its own; False where that breaks a rule.

    The answer's element gets the own variable, or must not get it; the identity never gets the reserved one.
    """
    names[:-1] = shared
    names[-1] = own
    partial_shuffle(state, names, len(names))
    if answer_is_own:
        for element in range(len(names)):  # exchanging two values keeps the law uniform
            if names[element] == own:
                names[element], names[answer] = names[answer], names[element]
                break
    identity = world.identities[s]
    return (names[answer] == own) == answer_is_own and (identity < 0 or names[identity] != world.reserved)


@njit(cache=True)
def draw_queries(state, world, law, s, x, y, names, queries):
    """Elements, names and query of source and base; the target comes back, and whether no rule is broken."""
    order, identity = world.orders[s], world.identities[s]
    variables = np.arange(world.n_variables)
    partial_shuffle(state, variables, order + 1)
    met = True
    for side in range(2):  # source, base
        x[side], y[side] = below(state, order), below(state, order)
        answer, own = world.tables[s, x[side], y[side]], variables[order - 1 + side]
        # The one whose cancellation set counts cancels all shared variables: its answer is its own one.
        answer_is_own = side == (1 if law.swap == SWAP_CLOSURE else 0)
        met &= name_elements(state, world, s, variables[: order - 1], own, answer, answer_is_own, names[side])
        met &= law.identity or (x[side] != identity and y[side] != identity)
        queries[side] = packed(names[side, x[side]], names[side, y[side]], names[side, answer])
    target = variables[order - 1 if law.swap == SWAP_CLOSURE else order]
    return target, met & (law.identity or (target != names[1, x[1]] and target != names[1, y[1]]))


@njit(cache=True)
def draw_context(state, world, law, s, x, y, names, planted, context):
    """Only facts that the query needs, repeated and shuffled; False where they do not suffice or do not fit."""
    if law.facts == ROW_AND_COLUMN:
        n_planted = needed_for_cancel(state, world, s, x, y, names, len(context), planted)
    else:
        n_planted = needed_in_line(world, s, x, y, names, len(context), law.facts == ROW, planted)
    if n_planted > 0:
        fill_context(state, planted, n_planted, context)
    return n_planted > 0


@njit(cache=True, nogil=True)
def fill_pairs(tokens, assignments, structures, targets, key, start, world, fitting, law):
    """Fill rows start … of the stream `key`; how many were filled before one could not be met comes back.

    tokens [2, n, 5k] and assignments [2, n, N]: the source's and the base's.
    """
    n_context = tokens.shape[2] // FACT_LENGTH - 1
    state = np.empty(1, dtype=np.uint64)
    contexts = np.empty((2, n_context), dtype=np.uint32)
    planted = np.empty(2 * world.n_variables + 3, dtype=np.uint32)
    queries, x, y = np.empty(2, dtype=np.uint32), np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    for row in range(tokens.shape[1]):
        state[0] = row_state(key, start + row)
        met = False
        for _ in range(attempts(n_context + 1)):
            s = fitting[below(state, len(fitting))]
            order = world.orders[s]
            names = np.empty((2, order), dtype=np.int64)
            target, met = draw_queries(state, world, law, s, x, y, names, queries)
            for side in range(2):
                met = met and draw_context(state, world, law, s, x[side], y[side], names[side], planted, contexts[side])
            if met:
                break
        if not met:
            return row
        structures[row, 0], structures[row, 1:] = s, -1
        targets[row] = target
        for side in range(2):
            write_row(tokens[side, row], contexts[side], queries[side], world.n_variables)
            assignments[side, row, :order], assignments[side, row, order:] = names[side], -1
    return tokens.shape[1]
