"""The compiled sampler: one loop for every distribution. Only kernels live here; distributions.py names the laws.

A law says four things: what is held out of the context, which query is asked for, what is planted, and what the
context must show. A row that does not meet them is drawn again whole, structures included, so that conditioning
keeps the law it conditions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from icalgebra.data.packed_facts import draw_from, fill_cells, packed, remove_cell, write_row
from icalgebra.data.required_facts import fill_context, needed_for_associate, needed_for_cancel
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.randomness import below, partial_shuffle, row_state, uniform
from icalgebra.solvers.kernels import add_fact, bit, by_cancellation, by_identity, empty_context

# What is held out of the context.
HOLD_NOTHING, HOLD_PAIR, HOLD_PAIR_AND_REVERSE = range(3)
# Which query is asked for.
ANY_QUERY, NO_IDENTITY, HAS_IDENTITY, DISTINCT, COMMUTING = range(5)
# What is planted: the needed facts of a mechanism, alone (pure) or inside a natural sequence (embedded).
PLANT_NOTHING, PLANT_CANCEL, PLANT_ASSOCIATE = range(3)
# What the context must show.
ANY_CONTEXT, SHOWS_PAIR, SHOWS_REVERSE, REVEALS_IDENTITY, NOT_BY_IDENTITY_OR_CANCEL = range(5)
# How elements are assigned to variables.
SHUFFLED, RESERVED_IDENTITY, UNSHUFFLED = range(3)
# The world's rule for drawing structures, in the order of MIXTURE_RULES.
MIX_FIT, MIX_STOP, MIX_ALL = range(3)

MOST_ATTEMPTS = 1_000_000


@njit(cache=True)
def attempts(n_facts):
    """How often one row is tried: long sequences less often, so that giving up takes about a second at any length."""
    return max(1000, MOST_ATTEMPTS * 200 // max(200, n_facts))


class DistributionSpec(NamedTuple):
    """A distribution, as the kernel reads it."""

    held_out: int = HOLD_NOTHING
    query: int = ANY_QUERY
    plant: int = PLANT_NOTHING
    embedded: int = 0
    context: int = ANY_CONTEXT
    assignment: int = SHUFFLED


class WorldArrays(NamedTuple):
    """A world, as the kernel reads it."""

    orders: np.ndarray  # [S]
    identities: np.ndarray  # [S], −1 where there is none
    latin: np.ndarray  # [S]
    tables: np.ndarray  # [S, largest order, largest order]
    n_variables: int
    reserved: int
    p_mix: float
    mixture_rule: int


@njit(cache=True)
def draw_mixture(state, world, only_one, slots):
    """Draw the structures into `slots`; how many there are comes back."""
    n_structures = len(world.orders)
    if world.mixture_rule == MIX_ALL and not only_one:
        for i in range(n_structures):
            slots[i] = i
        return n_structures
    count, room = 0, world.n_variables
    while True:
        if world.mixture_rule == MIX_FIT:
            fitting = 0
            for i in range(n_structures):
                fitting += world.orders[i] <= room
            if fitting == 0:
                return count
            skip, chosen = below(state, fitting), -1
            while skip >= 0:
                chosen += 1
                skip -= world.orders[chosen] <= room
        else:
            chosen = below(state, n_structures)
            if world.orders[chosen] > room:
                return count
        slots[count] = chosen
        count += 1
        room -= world.orders[chosen]
        if only_one or uniform(state) >= world.p_mix:
            return count


@njit(cache=True)
def draw_query(state, world, slots, count):
    """A uniform cell of all tables: the place of its structure and its two elements."""
    total = 0
    for i in range(count):
        total += world.orders[slots[i]] ** 2
    cell = below(state, total)
    place = 0
    while cell >= world.orders[slots[place]] ** 2:
        cell -= world.orders[slots[place]] ** 2
        place += 1
    order = world.orders[slots[place]]
    return place, cell // order, cell % order


@njit(cache=True)
def query_fits(world, law, s, x, y):
    identity = world.identities[s]
    if law.query == NO_IDENTITY:
        return x != identity and y != identity
    if law.query == HAS_IDENTITY:
        return identity >= 0 and (x == identity or y == identity)
    if law.query == DISTINCT:
        return x != y
    if law.query == COMMUTING:
        return x != y and world.tables[s, x, y] == world.tables[s, y, x]
    return True


@njit(cache=True)
def assign(state, world, slots, count, how, query_place, variable_of):
    """Elements, structure after structure, to variables; False where the reserved variable became an identity."""
    total, query_identity = 0, -1
    for i in range(count):
        if i == query_place:
            query_identity = total + world.identities[slots[i]]
        total += world.orders[slots[i]]
    for v in range(world.n_variables):
        variable_of[v] = v
    if how == UNSHUFFLED:
        return total, True
    partial_shuffle(state, variable_of, total)
    if how == RESERVED_IDENTITY:
        # Exchanging two values maps the uniform law onto the uniform law with this value fixed.
        for v in range(world.n_variables):
            if variable_of[v] == world.reserved:
                variable_of[v], variable_of[query_identity] = variable_of[query_identity], variable_of[v]
                break
        return total, True
    element = 0
    for i in range(count):
        if world.identities[slots[i]] >= 0 and variable_of[element + world.identities[slots[i]]] == world.reserved:
            return total, False
        element += world.orders[slots[i]]
    return total, True


@njit(cache=True)
def plant(state, law, planted, n_planted, context):
    """Put the needed facts into the context: alone, repeated and shuffled, or at random places of what is there."""
    if not law.embedded:
        fill_context(state, planted, n_planted, context)
        return
    places = np.arange(len(context))
    partial_shuffle(state, places, n_planted)
    for i in range(n_planted):
        context[places[i]] = planted[i]


@njit(cache=True)
def context_shows(law, context, query, identity, pairs, singles):
    """Whether the context meets the law; `identity` is the variable of the identity of the query's structure."""
    if law.context == ANY_CONTEXT:
        return True
    left, right = query & 0xFF, (query >> 8) & 0xFF
    if law.context == NOT_BY_IDENTITY_OR_CANCEL:
        return not identity_or_cancel_solves(context, left, right, query >> 16, pairs, singles)
    for fact in context:
        f_left, f_right = fact & 0xFF, (fact >> 8) & 0xFF
        if law.context == SHOWS_PAIR and f_left == left and f_right == right:
            return True
        if law.context == SHOWS_REVERSE and f_left == right and f_right == left:
            return True
        if law.context == REVEALS_IDENTITY and (f_left == identity or f_right == identity):
            return True
    return False


@njit(cache=True)
def identity_or_cancel_solves(context, left, right, answer, pairs, singles):
    pairs[:] = 0
    singles[:] = 0
    for fact in context:
        add_fact(pairs, singles, fact & 0xFF, (fact >> 8) & 0xFF, fact >> 16)
    return by_identity(singles, left, right) == bit(answer) or by_cancellation(singles, left, right) == bit(answer)


@njit(cache=True, nogil=True)
def fill_rows(tokens, structures, assignment, key, start, world, law):
    """Fill rows start … of the stream `key`; how many were filled before one could not be met comes back."""
    n_rows = len(tokens)
    n_context = tokens.shape[1] // FACT_LENGTH - 1
    only_one = law.plant != PLANT_NOTHING and not law.embedded
    state = np.empty(1, dtype=np.uint64)
    slots = np.empty(structures.shape[1], dtype=np.int64)
    variable_of = np.empty(world.n_variables, dtype=np.int64)
    cells = np.empty(world.n_variables**2, dtype=np.uint32)
    context = np.empty(n_context, dtype=np.uint32)
    pairs, singles = empty_context(world.n_variables)
    planted = np.empty(2 * world.n_variables + 3, dtype=np.uint32)
    for row in range(n_rows):
        state[0] = row_state(key, start + row)
        met = False
        for _ in range(attempts(n_context + 1)):
            count = draw_mixture(state, world, only_one, slots)
            place, x, y = draw_query(state, world, slots, count)
            s = slots[place]
            if not query_fits(world, law, s, x, y):
                continue
            if law.assignment == RESERVED_IDENTITY and world.identities[s] < 0:
                continue
            total, allowed = assign(state, world, slots, count, law.assignment, place, variable_of)
            while not allowed:
                total, allowed = assign(state, world, slots, count, law.assignment, place, variable_of)
            offset = 0
            for i in range(place):
                offset += world.orders[slots[i]]
            names = variable_of[offset : offset + world.orders[s]]
            query = packed(names[x], names[y], names[world.tables[s, x, y]])
            n_planted = 0
            if law.plant == PLANT_CANCEL:
                n_planted = needed_for_cancel(state, world, s, x, y, names, n_context, planted)
            elif law.plant == PLANT_ASSOCIATE:
                n_planted = needed_for_associate(state, world, s, x, y, names, planted)
            if law.plant != PLANT_NOTHING and n_planted == 0:
                continue
            if not only_one and n_context > 0:
                n_cells = fill_cells(world, slots, count, variable_of, cells)
                if law.held_out != HOLD_NOTHING:
                    n_cells = remove_cell(cells, n_cells, query)
                    if law.held_out == HOLD_PAIR_AND_REVERSE and x != y:
                        reverse = packed(names[y], names[x], names[world.tables[s, y, x]])
                        n_cells = remove_cell(cells, n_cells, reverse)
                if n_cells == 0:
                    continue
                draw_from(state, cells, n_cells, context, 0)
            if n_planted > 0:
                plant(state, law, planted, n_planted, context)
            identity = names[world.identities[s]] if world.identities[s] >= 0 else -1
            if context_shows(law, context, query, identity, pairs, singles):
                met = True
                break
        if not met:
            return row
        write_row(tokens[row], context, query, world.n_variables)
        for i in range(structures.shape[1]):
            structures[row, i] = slots[i] if i < count else -1
        for v in range(world.n_variables):
            assignment[row, v] = variable_of[v] if v < total else -1
    return n_rows
