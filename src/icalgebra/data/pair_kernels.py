"""Kernels: two sequences about one group that share all variables but a few. counterfactuals.py has the named specs.

The helpers are inlined by numba, for the reason given in sampler.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from icalgebra.compilation import njit
from icalgebra.data.packed_facts import packed, write_tokens
from icalgebra.data.required_facts import cancel_facts, fill_with_required, line_facts
from icalgebra.data.sampler import max_attempts
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.randomness import below, partial_shuffle, row_state

# Which set of the source is patched into the base run.
SWAP_CLOSURE, SWAP_CANCELLATION = range(2)
# Where the facts come from: the query's row and column, or one of them.
ROW_AND_COLUMN, ROW, COLUMN = range(3)
SOURCE, BASE = range(2)


class PairSpec(NamedTuple):
    """A kind of counterfactual pair, as the kernels read it."""

    swap: int
    facts: int = ROW_AND_COLUMN
    identity: int = 0  # whether queries and targets may be identity facts
    n_own: int = 1  # variables of each sequence that the other does not have


@njit(cache=True, nogil=True)
def fill_pairs(tokens, assignments, structures, targets, key, start, world, fitting, spec):
    """Fill rows start, start + 1, … of the stream `key`; tokens [2, n, 5k] and assignments [2, n, N]: source and base.

    Returns the number of rows filled: fewer than asked for where a row did not meet the spec in all its attempts.
    """
    n_facts = tokens.shape[2] // FACT_LENGTH
    state = np.empty(1, dtype=np.uint64)
    facts = np.empty((2, n_facts), dtype=np.uint32)  # of each sequence: the context and, last, the query
    variable_of = np.empty((2, world.n_variables), dtype=np.int64)
    required = np.empty(2 * world.n_variables + 3, dtype=np.uint32)
    for row in range(tokens.shape[1]):
        state[0] = row_state(key, start + row)
        attempts_left = max_attempts(n_facts)
        s, target = draw_pair(state, world, spec, fitting, variable_of, facts, required)
        while target < 0:
            attempts_left -= 1
            if attempts_left == 0:
                return row
            s, target = draw_pair(state, world, spec, fitting, variable_of, facts, required)
        structures[row, 0], structures[row, 1:] = s, -1
        targets[row] = target
        for side in range(2):
            write_tokens(facts[side], world.n_variables, tokens[side, row])
            assignments[side, row] = variable_of[side]
    return tokens.shape[1]


@njit(cache=True, inline="always")
def draw_pair(state, world, spec, fitting, variable_of, facts, required):
    """One attempt at a pair; returns its structure and its target variable, −1 where the spec is not met.

    variable_of [2, N] (the variables of the elements, then −1) and facts [2, k] are filled for source and base.
    """
    s = fitting[below(state, len(fitting))]
    order = world.orders[s]
    variable_of[:, order:] = -1
    x, y = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    target, met = draw_queries(state, world, spec, s, x, y, variable_of[:, :order], facts[:, -1])
    for side in range(2):
        if met:
            context, own = facts[side, :-1], variable_of[side, :order]
            met = draw_context(state, world, spec, s, x[side], y[side], own, required, context)
    return s, target if met else -1


@njit(cache=True, inline="always")
def draw_queries(state, world, spec, s, x, y, variable_of, queries):
    """Draw elements, variables and query of source and base; returns the first target and whether no rule is broken."""
    order, identity, n_own = world.orders[s], world.identities[s], spec.n_own
    pool = np.arange(world.n_variables)  # shuffled: order − n_own shared variables, the source's own, the base's own
    partial_shuffle(state, pool, order + n_own)
    met = True
    for side in range(2):
        x[side], y[side] = below(state, order), below(state, order)
        begin = order - n_own + side * n_own
        answer, own = world.tables[s, x[side], y[side]], pool[begin : begin + n_own]
        # The sequence that gives its cancellation set must rule out all shared variables: its answer is one of its own.
        answer_is_own = side == (BASE if spec.swap == SWAP_CLOSURE else SOURCE)
        met &= assign_elements(state, world, s, pool[: order - n_own], own, answer, answer_is_own, variable_of[side])
        met &= spec.identity or (x[side] != identity and y[side] != identity)
        queries[side] = packed(variable_of[side, x[side]], variable_of[side, y[side]], variable_of[side, answer])
    begin = order - n_own if spec.swap == SWAP_CLOSURE else order
    is_operand = False
    for target in pool[begin : begin + n_own]:
        is_operand |= target == variable_of[BASE, x[BASE]] or target == variable_of[BASE, y[BASE]]
    return pool[begin], met & (spec.identity or not is_operand)


@njit(cache=True, inline="always")
def assign_elements(state, world, s, shared, own, answer, answer_is_own, variable_of):
    """Assign the elements to the shared variables and the own ones; returns False where that breaks a rule.

    The answer must have an own variable, or must not; the identity must not have the reserved one.
    """
    variable_of[: len(shared)] = shared
    variable_of[len(shared) :] = own
    partial_shuffle(state, variable_of, len(variable_of))
    if answer_is_own:
        for element in range(len(variable_of)):  # a swap of two values keeps the assignment uniform
            if variable_of[element] == own[0]:
                variable_of[element], variable_of[answer] = variable_of[answer], variable_of[element]
                break
    identity, is_own = world.identities[s], False
    for variable in own:
        is_own |= variable_of[answer] == variable
    return is_own == answer_is_own and (identity < 0 or variable_of[identity] != world.reserved)


@njit(cache=True, inline="always")
def draw_context(state, world, spec, s, x, y, variable_of, required, context):
    """Only facts that the query requires, repeated and shuffled; False where they do not suffice or do not fit."""
    if spec.facts == ROW_AND_COLUMN:
        n_required = cancel_facts(state, world, s, x, y, variable_of, len(context), required)
    else:
        n_required = line_facts(world, s, x, y, variable_of, len(context), spec.facts == ROW, required)
    if n_required > 0:
        fill_with_required(state, required, n_required, context)
    return n_required > 0
