"""Compiled state of the ladder: what is known about the query's structure, as bit sets.

A state is a tuple of arrays (products, in_row, in_column, open, sets). products[x, y] is the answer or −1; in_row[x, z]
and in_column[y, z] are the other operand or −1; open[x, y] is the set of answers that nothing excludes; sets[…] holds
the single sets named below, and from FIRST_COMPONENT on the component of each variable.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from icalgebra.compilation import njit
from icalgebra.language.world import World
from icalgebra.solvers.kernels import bit, lowest, popcount
from icalgebra.solvers.ladder.deductions import ASSOCIATIVE
from icalgebra.solvers.ladder.membership import order_lists

IDENTITIES, NOT_IDENTITIES, MEMBERS, POSSIBLE, CONFLICT, OWN = range(6)
FIRST_COMPONENT = 6


@lru_cache(maxsize=32)
def orders_array(world: World) -> np.ndarray:
    """The world's lists of orders as rows, filled up with zeros."""
    lists = order_lists(world)
    array = np.zeros((len(lists), max(map(len, lists))), dtype=np.int64)
    for row, orders in enumerate(lists):
        array[row, : len(orders)] = orders
    return array


# --- who belongs to the query's structure (membership.py) -----------------------------------------------------------


@njit(cache=True)
def fits(sizes, room):
    """Whether components can be packed into the room of the structures; sizes from large to small.

    A search with steps back, written as a loop: numba crashed on loading a recursive kernel from its cache.
    """
    chosen = np.full(len(sizes) + 1, -1, dtype=np.int64)
    i = 0
    while i < len(sizes):
        if chosen[i] >= 0:
            room[chosen[i]] += sizes[i]
        chosen[i] += 1
        while chosen[i] < len(room) and room[chosen[i]] < sizes[i]:
            chosen[i] += 1
        if chosen[i] < len(room):
            room[chosen[i]] -= sizes[i]
            i += 1
            chosen[i] = -1
        elif i == 0:
            return False
        else:
            i -= 1
    for i in range(len(sizes)):
        room[chosen[i]] += sizes[i]
    return True


@njit(cache=True)
def find_members(sets, orders, n_variables):
    """Set MEMBERS and POSSIBLE; a conflict where no structures fit."""
    own = sets[OWN]
    parts = np.empty(n_variables, dtype=np.uint64)
    n_parts, seen = 0, own
    for v in range(n_variables):
        part = sets[FIRST_COMPONENT + v]
        if part and not part & seen:
            seen |= part
            parts[n_parts] = part
            n_parts += 1
    sizes = np.array([popcount(part) for part in parts[:n_parts]])
    order = np.argsort(-sizes)
    sizes, parts = sizes[order], parts[:n_parts][order]
    n_own = popcount(own)
    n_unseen = n_variables - n_own - sizes.sum()
    can, can_not = np.zeros(n_parts + 1, dtype=np.bool_), np.zeros(n_parts + 1, dtype=np.bool_)  # the last: unseen
    possible = False
    for row in range(len(orders)):
        room = orders[row].copy()
        total = room.sum()
        for i in range(len(room)):
            if room[i] < n_own or room[i] == 0:
                continue
            room[i] -= n_own
            if fits(sizes, room):
                possible = True
                for p in range(n_parts + 1):
                    size = 1 if p == n_parts else sizes[p]
                    if p == n_parts and not n_unseen:
                        continue
                    left = sizes if p == n_parts else np.concatenate((sizes[:p], sizes[p + 1 :]))
                    if not can[p] and room[i] >= size:
                        room[i] -= size
                        can[p] = fits(left, room)
                        room[i] += size
                    if p == n_parts and total < n_variables:
                        can_not[p] = True
                    for j in range(len(room)):
                        if not can_not[p] and j != i and room[j] >= size:
                            room[j] -= size
                            can_not[p] = fits(left, room)
                            room[j] += size
            room[i] += n_own
    everything = (np.uint64(1) << np.uint64(n_variables)) - np.uint64(1)
    sets[MEMBERS] = own
    sets[POSSIBLE] = own
    for p in range(n_parts + 1):
        part = everything & ~seen if p == n_parts else parts[p]
        if can[p]:
            sets[POSSIBLE] |= part
        if not can_not[p]:
            sets[MEMBERS] |= part
    if not possible:
        sets[CONFLICT] = 1


# --- what is known --------------------------------------------------------------------------------------------------


@njit(cache=True)
def make_state(n_variables):
    products = np.empty((n_variables, n_variables), dtype=np.int8)
    in_row, in_column = np.empty_like(products), np.empty_like(products)
    open_answers = np.empty((n_variables, n_variables), dtype=np.uint64)
    sets = np.empty(FIRST_COMPONENT + n_variables, dtype=np.uint64)
    return products, in_row, in_column, open_answers, sets


@njit(cache=True)
def copy_state(state, other):
    other[0][:] = state[0]
    other[1][:] = state[1]
    other[2][:] = state[2]
    other[3][:] = state[3]
    other[4][:] = state[4]


@njit(cache=True)
def start(state, facts, query, rung, reserved, orders):
    products, in_row, in_column, open_answers, sets = state
    n_variables = len(products)
    products[:] = -1
    in_row[:] = -1
    in_column[:] = -1
    open_answers[:] = (np.uint64(1) << np.uint64(n_variables)) - np.uint64(1)
    sets[:] = 0
    link(sets, query[0], query[1], query[1], n_variables)
    for f in range(len(facts)):
        x, y, z = facts[f, 0], facts[f, 1], facts[f, 2]
        link(sets, x, y, z, n_variables)
        add_product(state, x, y, z, rung)
    sets[OWN] = sets[FIRST_COMPONENT + query[0]]
    prepare(state, rung, reserved, orders)


@njit(cache=True)
def link(sets, x, y, z, n_variables):
    """Join the components of three variables."""
    joined = bit(x) | bit(y) | bit(z)
    components = sets[FIRST_COMPONENT:]
    joined |= components[x] | components[y] | components[z]
    if components[x] == joined and components[y] == joined and components[z] == joined:
        return
    for v in range(n_variables):
        if joined & bit(v):
            components[v] = joined


@njit(cache=True)
def add_product(state, x, y, z, rung):
    products, in_row, in_column, open_answers, sets = state
    n_variables = len(products)
    if products[x, y] == z:
        return
    if not open_answers[x, y] & bit(z) or products[x, y] >= 0:
        sets[CONFLICT] = 1
        return
    products[x, y], in_row[x, z], in_column[y, z] = z, y, x
    for v in range(n_variables):
        open_answers[x, v] &= ~bit(z)
        open_answers[v, y] &= ~bit(z)
    open_answers[x, y] = bit(z)
    if z == y:
        add_identity(state, x, rung)
    else:
        add_not_identity(state, x, rung)
    if z == x:
        add_identity(state, y, rung)
    else:
        add_not_identity(state, y, rung)


@njit(cache=True)
def add_identity(state, e, rung):
    open_answers, sets = state[3], state[4]
    sets[IDENTITIES] |= bit(e)
    if rung >= ASSOCIATIVE:
        for v in range(len(open_answers)):
            open_answers[e, v] &= bit(v)
            open_answers[v, e] &= bit(v)


@njit(cache=True)
def add_not_identity(state, x, rung):
    open_answers, sets = state[3], state[4]
    if sets[NOT_IDENTITIES] & bit(x):
        return
    sets[NOT_IDENTITIES] |= bit(x)
    if rung >= ASSOCIATIVE:
        for v in range(len(open_answers)):
            open_answers[x, v] &= ~bit(v)
            open_answers[v, x] &= ~bit(v)


@njit(cache=True)
def prepare(state, rung, reserved, orders):
    """Before a round: who belongs to the structure, and what the identity being known says about the others."""
    sets = state[4]
    find_members(sets, orders, len(state[0]))
    if rung < ASSOCIATIVE:
        return
    if reserved >= 0:
        add_not_identity(state, reserved, rung)
    known = sets[IDENTITIES] & sets[MEMBERS]
    while known:
        e = lowest(known)
        known &= known - np.uint64(1)
        for x in range(len(state[0])):
            if x != e and sets[MEMBERS] & bit(x):
                add_not_identity(state, x, rung)


@njit(cache=True)
def listed(bits, n_variables):
    found = np.empty(n_variables, dtype=np.int64)
    n = 0
    while bits:
        found[n] = lowest(bits)
        bits &= bits - np.uint64(1)
        n += 1
    return found[:n]
