"""A world as the oracle's kernels read it: tables with their divisions, and every multiset of structures.

The order in which structures were drawn leaves no trace in a sequence, so lists are merged into multisets. They are
closed under taking one structure away: number 0 is the empty one, and a multiset stands after all its parts.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log
from typing import NamedTuple

import numpy as np

from icalgebra.errors import InputError
from icalgebra.language.world import World

MAX_MULTISETS = 5000
MAX_ORDER = 16  # an embedding is packed into 64 bits, four for each element

# How a variable's element follows from two others a, b: not at all (every element is tried); as a·b; as the y of
# a·y = b; as the x of x·a = b. Divisions are lists of solutions, since only Latin tables have exactly one.
FREE, PRODUCT, LEFT_DIVISION, RIGHT_DIVISION = range(4)

Multiset = tuple[int, ...]


class OracleArrays(NamedTuple):
    orders: np.ndarray  # [S]
    identities: np.ndarray  # [S], −1 where there is none
    tables: np.ndarray  # [S, largest, largest]
    first: np.ndarray  # [S, how, a, b]: the first element that solves for a variable, or −1; `how` is listed below
    following: np.ndarray  # [S, how, a, e]: the solution after e, or −1
    last: np.ndarray  # [M] a structure of the multiset
    without: np.ndarray  # [M, S] the multiset with one structure taken away, or −1
    copies: np.ndarray  # [M, S] how often a structure occurs
    elements: np.ndarray  # [M] sum of the orders
    cells: np.ndarray  # [M] sum of the squared orders
    log_prior: np.ndarray  # [M] log of P(multiset) / number of assignments
    n_variables: int
    reserved: int
    max_slots: int


def multisets(world: World) -> dict[Multiset, float]:
    """Every multiset that can be drawn, and every part of one, with its probability; parts come first."""
    if world.draw == "all":
        return _parts_of(tuple(range(len(world.pool))))
    orders = [structure.order for structure in world.pool]
    found: dict[Multiset, float] = {(): 0.0}
    going_on: dict[Multiset, float] = {(): 1.0}
    while going_on:
        level: dict[Multiset, float] = {}
        for drawn, p in going_on.items():
            room = world.n_variables - sum(orders[i] for i in drawn)
            fitting = [i for i, order in enumerate(orders) if order <= room]
            choices = len(fitting) if world.draw == "fit" else len(orders)
            found[drawn] += p * (1.0 if not fitting else 1 - len(fitting) / choices)
            for i in fitting:
                longer = tuple(sorted((*drawn, i)))
                level[longer] = level.get(longer, 0.0) + p / choices
        for longer, p in level.items():
            found[longer] = p * (1 - world.p_mix)
        _check_number(len(found), world)
        going_on = {longer: p * world.p_mix for longer, p in level.items()}
    return found


def _parts_of(whole: Multiset) -> dict[Multiset, float]:
    if 2 ** len(whole) > MAX_MULTISETS:
        raise InputError(f"the oracle counts over all parts of {len(whole)} structures: too many; draw fewer")
    parts = [tuple(i for i in whole if bits >> i & 1) for bits in range(2 ** len(whole))]
    return {part: float(part == whole) for part in sorted(parts, key=len)}


def _check_number(n: int, world: World) -> None:
    if n > MAX_MULTISETS:
        raise InputError(
            f"the exact oracle sums over every multiset of structures, and {world.n_variables} variables hold more "
            f"than {MAX_MULTISETS:,} of them; use fewer variables, or fewer or larger structures"
        )


@lru_cache(maxsize=64)
def oracle_arrays(world: World) -> OracleArrays:
    """The world's arrays; InputError, with the reason, where the exact count is out of reach."""
    largest = max(world.pool, key=lambda s: s.order)
    if largest.order > MAX_ORDER:
        raise InputError(f"the exact oracle takes structures of at most {MAX_ORDER} elements; {largest.name} has more")
    found = multisets(world)
    return _assemble(world, list(found), list(found.values()))


def _assemble(world: World, found: list[Multiset], prior: list[float]) -> OracleArrays:
    pool, index = world.pool, {multiset: i for i, multiset in enumerate(found)}
    orders = np.array([s.order for s in pool])
    identities = np.array([-1 if s.identity is None else s.identity for s in pool])
    copies = np.array([np.bincount(multiset, minlength=len(pool)) for multiset in map(_as_ints, found)])
    without = np.full(copies.shape, -1)
    for m, multiset in enumerate(found):
        for place, i in enumerate(multiset):
            without[m, i] = index[multiset[:place] + multiset[place + 1 :]]
    elements = copies @ orders
    log_prior = np.array(
        [
            log(p) - _log_assignments(world, int(t), int(with_identity)) if p > 0 and t else -inf
            for p, t, with_identity in zip(prior, elements, copies @ (identities >= 0), strict=True)
        ]
    )
    return OracleArrays(
        orders,
        identities,
        *_solution_tables(world),
        np.array([multiset[-1] if multiset else -1 for multiset in found]),
        without,
        copies,
        elements,
        copies @ orders**2,
        log_prior,
        world.n_variables,
        world.reserved_id,
        max(map(len, found)),
    )


def _as_ints(multiset: Multiset) -> np.ndarray:
    return np.array(multiset, dtype=np.int64)


def _log_assignments(world: World, elements: int, with_identity: int) -> float:
    """Log of the number of injections that keep identities off the reserved variable (at most one could sit there)."""
    n = world.n_variables
    falling = sum(log(n - i) for i in range(1, elements))
    return falling + log(n if world.reserved is None else n - with_identity)


def _solution_tables(world: World) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    largest = max(s.order for s in world.pool)
    tables = np.zeros((len(world.pool), largest, largest), dtype=np.int8)
    first, following = np.full((2, len(world.pool), 4, largest, largest), -1, dtype=np.int8)
    first[:, FREE] = 0
    for s, structure in enumerate(world.pool):
        n = structure.order
        tables[s, :n, :n] = first[s, PRODUCT, :n, :n] = structure.table
        following[s, FREE, :, : n - 1] = np.arange(1, n)
        for x in reversed(range(n)):
            for y in reversed(range(n)):
                z = structure.table[x, y]
                following[s, LEFT_DIVISION, x, y] = first[s, LEFT_DIVISION, x, z]
                following[s, RIGHT_DIVISION, y, x] = first[s, RIGHT_DIVISION, y, z]
                first[s, LEFT_DIVISION, x, z], first[s, RIGHT_DIVISION, y, z] = y, x
    return tables, first, following
