"""The compiled sampler: one loop for every distribution. Only kernels are here; distributions.py has the named specs.

A spec says what is held out of the context, which query is asked, which facts are required and what the context must
show. A sequence that does not meet it is drawn again as a whole, structures included: with rejection, the accepted
sequences follow exactly the conditional distribution.

The helpers are inlined by numba, since calling them with the world, a tuple with four arrays, is expensive. Without
inlining, sequences of 12 facts took 17 to 32 % longer; with only some helpers inlined, up to twice as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from icalgebra.compilation import njit
from icalgebra.data.packed_facts import (
    answer_of,
    draw_from,
    draw_passes,
    fill_cells,
    left_of,
    packed,
    remove_cell,
    right_of,
    write_tokens,
)
from icalgebra.data.required_facts import associate_facts, cancel_facts, fill_with_required
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.randomness import below, partial_shuffle, row_state, uniform
from icalgebra.solvers.kernels import add_fact, bit, by_cancellation, by_identity, empty_context

# What is held out of the context.
HOLD_NOTHING, HOLD_PAIR, HOLD_PAIR_AND_REVERSE = range(3)
# Which query is asked.
ANY_QUERY, NO_IDENTITY, HAS_IDENTITY, DISTINCT, COMMUTING = range(5)
# Which facts are required: those that a mechanism needs, alone or embedded in a hold-out sequence.
NO_FACTS, CANCEL_FACTS, ASSOCIATE_FACTS = range(3)
# What the context must show.
ANY_CONTEXT, SHOWS_PAIR, SHOWS_REVERSE, REVEALS_IDENTITY, NOT_BY_IDENTITY_OR_CANCEL = range(5)
# How elements are assigned to variables.
SHUFFLED, RESERVED_IDENTITY, UNSHUFFLED = range(3)
# How often a fact may be shown: each is drawn independently, or each once before any is shown again.
INDEPENDENT, IN_PASSES = range(2)
# The world's rule for drawing structures, in the order of MIXTURE_RULES.
MIX_FIT, MIX_STOP, MIX_ALL = range(3)

MAX_ATTEMPTS = 1_000_000


@njit(cache=True)
def max_attempts(n_facts):
    """Attempts per sequence: fewer for long ones, so that giving up takes about a second at any length."""
    return max(1000, MAX_ATTEMPTS * 200 // max(200, n_facts))


class DistributionSpec(NamedTuple):
    """A distribution, as the kernels read it."""

    held_out: int = HOLD_NOTHING
    query: int = ANY_QUERY
    required: int = NO_FACTS
    embedded: int = 0
    context: int = ANY_CONTEXT
    assignment: int = SHUFFLED
    repeats: int = INDEPENDENT


class WorldArrays(NamedTuple):
    """A world, as the kernels read it."""

    orders: np.ndarray  # [S]
    identities: np.ndarray  # [S], −1 where there is none
    latin: np.ndarray  # [S]
    tables: np.ndarray  # [S, largest order, largest order]
    n_variables: int
    reserved: int  # the reserved variable, or −1
    p_mix: float
    mixture_rule: int


@njit(cache=True, nogil=True)
def fill_rows(tokens, structures, assignment, key, start, world, spec):
    """Fill rows start, start + 1, … of the stream `key`.

    Returns the number of rows filled: fewer than asked for where a row did not meet the spec in all its attempts.
    """
    n_facts = tokens.shape[1] // FACT_LENGTH
    state = np.empty(1, dtype=np.uint64)
    drawn = np.empty(structures.shape[1], dtype=np.int64)
    variable_of = np.empty(world.n_variables, dtype=np.int64)
    facts = np.empty(n_facts, dtype=np.uint32)
    cells = np.empty(world.n_variables**2, dtype=np.uint32)
    required = np.empty(2 * world.n_variables + 3, dtype=np.uint32)
    pairs, singles = empty_context(world.n_variables)
    for row in range(len(tokens)):
        state[0] = row_state(key, start + row)
        attempts_left = max_attempts(n_facts)
        while not draw_sequence(state, world, spec, drawn, variable_of, facts, cells, required, pairs, singles):
            attempts_left -= 1
            if attempts_left == 0:
                return row
        write_tokens(facts, world.n_variables, tokens[row])
        structures[row] = drawn
        assignment[row] = variable_of
    return len(tokens)


@njit(cache=True, inline="always")
def draw_sequence(state, world, spec, drawn, variable_of, facts, cells, required, pairs, singles):
    """One attempt at a sequence; returns whether it meets the spec.

    facts: the context and, last, the query. drawn: the structures, then −1. variable_of: the variable of every element,
    one structure after the other, then −1. The other arrays are working memory.
    """
    context = facts[:-1]
    alone = spec.required != NO_FACTS and not spec.embedded
    count = draw_mixture(state, world, alone, drawn)
    place, x, y = draw_query(state, world, drawn, count)
    s = drawn[place]
    if not query_fits(world, spec, s, x, y):
        return False
    n_elements = assign(state, world, drawn, count, spec.assignment, place, variable_of)
    own = variable_of[offset_of(world, drawn, place) :]  # the variables of the query's structure
    query = packed(own[x], own[y], own[world.tables[s, x, y]])
    reverse = packed(own[y], own[x], own[world.tables[s, y, x]])
    n_required = 0
    if spec.required == CANCEL_FACTS:
        n_required = cancel_facts(state, world, s, x, y, own, len(context), required)
    elif spec.required == ASSOCIATE_FACTS:
        n_required = associate_facts(state, world, s, x, y, own, required)
    if spec.required != NO_FACTS and n_required == 0:
        return False
    if alone:
        fill_with_required(state, required, n_required, context)
    elif len(context) > 0:
        n_cells = fill_cells(world, drawn, count, variable_of, cells)
        if not draw_context(state, spec, query, reverse, cells, n_cells, context):
            return False
        embed_required(state, required, n_required, context)
    facts[-1] = query
    identity = own[world.identities[s]] if world.identities[s] >= 0 else -1
    if not context_shows(spec, context, query, identity, pairs, singles):
        return False
    drawn[count:] = -1
    variable_of[n_elements:] = -1
    return True


@njit(cache=True, inline="always")
def draw_mixture(state, world, only_one, drawn):
    """Draw the structures; returns their number."""
    n_structures = len(world.orders)
    if world.mixture_rule == MIX_ALL and not only_one:
        for i in range(n_structures):
            drawn[i] = i
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
        drawn[count] = chosen
        count += 1
        room -= world.orders[chosen]
        if only_one or uniform(state) >= world.p_mix:
            return count


@njit(cache=True, inline="always")
def draw_query(state, world, drawn, count):
    """A uniform cell of all tables: the place of its structure in `drawn`, and its two elements."""
    total = 0
    for i in range(count):
        total += world.orders[drawn[i]] ** 2
    cell = below(state, total)
    place = 0
    while cell >= world.orders[drawn[place]] ** 2:
        cell -= world.orders[drawn[place]] ** 2
        place += 1
    order = world.orders[drawn[place]]
    return place, cell // order, cell % order


@njit(cache=True, inline="always")
def query_fits(world, spec, s, x, y):
    identity = world.identities[s]
    if spec.assignment == RESERVED_IDENTITY and identity < 0:
        return False
    if spec.query == NO_IDENTITY:
        return x != identity and y != identity
    if spec.query == HAS_IDENTITY:
        return identity >= 0 and (x == identity or y == identity)
    if spec.query == DISTINCT:
        return x != y
    if spec.query == COMMUTING:
        return x != y and world.tables[s, x, y] == world.tables[s, y, x]
    return True


@njit(cache=True, inline="always")
def offset_of(world, drawn, place):
    """The index in `variable_of` of the first element of drawn[place]."""
    offset = 0
    for i in range(place):
        offset += world.orders[drawn[i]]
    return offset


@njit(cache=True, inline="always")
def assign(state, world, drawn, count, how, query_place, variable_of):
    """Assign the elements, one structure after the other, to distinct variables; returns the number of elements."""
    n_elements = offset_of(world, drawn, count)
    while True:
        for v in range(world.n_variables):
            variable_of[v] = v
        if how == UNSHUFFLED:
            return n_elements
        partial_shuffle(state, variable_of, n_elements)
        if how == RESERVED_IDENTITY:
            # Swapping two values turns a uniform assignment into a uniform one with this value fixed.
            identity = offset_of(world, drawn, query_place) + world.identities[drawn[query_place]]
            for v in range(world.n_variables):
                if variable_of[v] == world.reserved:
                    variable_of[v], variable_of[identity] = variable_of[identity], variable_of[v]
                    break
            return n_elements
        if not reserves_identity(world, drawn, count, variable_of):
            return n_elements


@njit(cache=True, inline="always")
def reserves_identity(world, drawn, count, variable_of):
    """Whether the reserved variable is the identity of a structure."""
    offset = 0
    for i in range(count):
        if world.identities[drawn[i]] >= 0 and variable_of[offset + world.identities[drawn[i]]] == world.reserved:
            return True
        offset += world.orders[drawn[i]]
    return False


@njit(cache=True, inline="always")
def draw_context(state, spec, query, reverse, cells, n_cells, context):
    """Fill the context with uniform facts that are not held out; False where all are."""
    if spec.held_out != HOLD_NOTHING:
        n_cells = remove_cell(cells, n_cells, query)
    if spec.held_out == HOLD_PAIR_AND_REVERSE and reverse != query:
        n_cells = remove_cell(cells, n_cells, reverse)
    if n_cells == 0:
        return False
    if spec.repeats == IN_PASSES:
        draw_passes(state, cells, n_cells, query, context)
    else:
        draw_from(state, cells, n_cells, context, 0)
    return True


@njit(cache=True, inline="always")
def embed_required(state, required, n_required, context):
    """Put the required facts at random positions of the context."""
    if n_required == 0:
        return
    positions = np.arange(len(context))
    partial_shuffle(state, positions, n_required)
    for i in range(n_required):
        context[positions[i]] = required[i]


@njit(cache=True, inline="always")
def context_shows(spec, context, query, identity, pairs, singles):
    """Whether the context meets the spec; identity: the identity's variable in the query's structure, or −1."""
    if spec.context == ANY_CONTEXT:
        return True
    left, right = left_of(query), right_of(query)
    if spec.context == NOT_BY_IDENTITY_OR_CANCEL:
        return not identity_or_cancel_solves(context, left, right, answer_of(query), pairs, singles)
    for fact in context:
        f_left, f_right = left_of(fact), right_of(fact)
        if spec.context == SHOWS_PAIR and f_left == left and f_right == right:
            return True
        if spec.context == SHOWS_REVERSE and f_left == right and f_right == left:
            return True
        if spec.context == REVEALS_IDENTITY and (f_left == identity or f_right == identity):
            return True
    return False


@njit(cache=True, inline="always")
def identity_or_cancel_solves(context, left, right, answer, pairs, singles):
    pairs[:] = 0
    singles[:] = 0
    for fact in context:
        add_fact(pairs, singles, left_of(fact), right_of(fact), answer_of(fact))
    return by_identity(singles, left, right) == bit(answer) or by_cancellation(singles, left, right) == bit(answer)
