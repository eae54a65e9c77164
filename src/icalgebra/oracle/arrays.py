"""A world as the oracle's kernels read it: tables with their divisions, and every multiset of structures.

A sequence does not depend on the order in which its structures were drawn, so lists are merged into multisets. The list
of multisets also has every part of each, which counting needs. The empty one is number 0, and parts come first.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log
from typing import NamedTuple

import numpy as np

from icalgebra.errors import InputError
from icalgebra.language.world import World
from icalgebra.oracle.symmetry import orbits

MAX_MULTISETS = 5000
MAX_ORDER = 16  # an embedding is packed into 64 bits, four per element

# How a variable's element follows from two others, a and b: not at all (every element is tried); as a·b; as y where
# a·y = b; as x where x·a = b. Divisions are lists of solutions, since only Latin tables have exactly one.
FREE, PRODUCT, LEFT_DIVISION, RIGHT_DIVISION = range(4)
FIRST, NEXT = range(2)
CHOICES = -1  # the column of `symmetry` with the elements to try

Multiset = tuple[int, ...]


class OracleArrays(NamedTuple):
    orders: np.ndarray  # [S]
    identities: np.ndarray  # [S], −1 where there is none
    equal: np.ndarray  # [S] the first structure with the same table, often the structure itself: counted once
    # [S, FIRST, how, a, b]: the first element that follows from a and b, or −1; for `how` see above
    # [S, NEXT, how, a, e]: the next one after e, or −1
    solutions: np.ndarray
    # [S, 0, CHOICES]: the elements to try at the first free choice, a bit set, and [S, 0, e]: how many e stands for
    # [S, 1 + e]: the same at the second free choice, after the first was e
    symmetry: np.ndarray
    last: np.ndarray  # [M] the last structure of the multiset
    without: np.ndarray  # [M, S] the multiset with one structure removed, or −1
    copies: np.ndarray  # [M, S] how often each structure occurs
    elements: np.ndarray  # [M] sum of the orders
    cells: np.ndarray  # [M] sum of the squared orders
    log_prior: np.ndarray  # [M] log of P(multiset) / number of assignments
    n_variables: int
    reserved: int  # the reserved variable, or −1
    max_structures: int  # of one multiset


def multisets(world: World) -> dict[Multiset, float]:
    """Every multiset that can be drawn and every part of one, with its probability; parts come first."""
    if world.mixture_rule == "all":
        return _parts_of(tuple(range(len(world.pool))))
    orders = [structure.order for structure in world.pool]
    found: dict[Multiset, float] = {(): 0.0}
    continued: dict[Multiset, float] = {(): 1.0}  # of one size: the probability to draw it and then to draw again
    while continued:
        level: dict[Multiset, float] = {}
        for drawn, p in continued.items():
            room = world.n_variables - sum(orders[i] for i in drawn)
            fitting = [i for i, order in enumerate(orders) if order <= room]
            choices = len(fitting) if world.mixture_rule == "fit" else len(orders)
            found[drawn] += p * (1.0 if not fitting else 1 - len(fitting) / choices)
            for i in fitting:
                longer = tuple(sorted((*drawn, i)))
                level[longer] = level.get(longer, 0.0) + p / choices
        for longer, p in level.items():
            found[longer] = p * (1 - world.p_mix)
        if len(found) > MAX_MULTISETS:
            raise InputError(
                f"the exact oracle sums over every multiset of structures, and {world.n_variables} variables allow "
                f"more than {MAX_MULTISETS:,}; use fewer variables, or fewer or larger structures"
            )
        continued = {longer: p * world.p_mix for longer, p in level.items()}
    return found


def _parts_of(whole: Multiset) -> dict[Multiset, float]:
    if 2 ** len(whole) > MAX_MULTISETS:
        raise InputError(
            f"the exact oracle sums over all subsets of the {len(whole)} structures, which are too many; draw fewer"
        )
    parts = [tuple(i for i in whole if bits >> i & 1) for bits in range(2 ** len(whole))]
    return {part: float(part == whole) for part in sorted(parts, key=len)}


@lru_cache(maxsize=64)
def oracle_arrays(world: World) -> OracleArrays:
    """The world's arrays; InputError, with the reason, where exact counting is too expensive."""
    largest = max(world.pool, key=lambda s: s.order)
    if largest.order > MAX_ORDER:
        raise InputError(f"the exact oracle takes structures of at most {MAX_ORDER} elements; {largest.name} has more")
    found, pool = multisets(world), world.pool
    index = {multiset: i for i, multiset in enumerate(found)}
    orders = np.array([s.order for s in pool])
    identities = np.array([-1 if s.identity is None else s.identity for s in pool])
    copies = np.array([[multiset.count(s) for s in range(len(pool))] for multiset in found])
    without = np.full(copies.shape, -1)
    for m, multiset in enumerate(found):
        for i, s in enumerate(multiset):
            without[m, s] = index[multiset[:i] + multiset[i + 1 :]]
    elements = copies @ orders
    log_prior = np.array(
        [
            log(p) - _log_assignments(world, int(t), int(with_identity)) if p > 0 and t else -inf
            for p, t, with_identity in zip(found.values(), elements, copies @ (identities >= 0), strict=True)
        ]
    )
    pool_tables = [(s.identity, s.table.shape, s.table.tobytes()) for s in pool]
    return OracleArrays(
        orders=orders,
        identities=identities,
        equal=np.array([pool_tables.index(table) for table in pool_tables]),
        solutions=_solutions(world),
        symmetry=_symmetry(world),
        last=np.array([multiset[-1] if multiset else -1 for multiset in found]),
        without=without,
        copies=copies,
        elements=elements,
        cells=copies @ orders**2,
        log_prior=log_prior,
        n_variables=world.n_variables,
        reserved=world.reserved_id,
        max_structures=max(map(len, found)),
    )


def _log_assignments(world: World, elements: int, with_identity: int) -> float:
    """Log of the number of injective assignments in which the reserved variable is not an identity.

    At most one identity could be assigned to it, so subtracting each identity's share once is exact.
    """
    n = world.n_variables
    falling = sum(log(n - i) for i in range(1, elements))
    return falling + log(n if world.reserved is None else n - with_identity)


def _solutions(world: World) -> np.ndarray:
    largest = max(s.order for s in world.pool)
    solutions = np.full((len(world.pool), 2, 4, largest, largest), -1, dtype=np.int8)
    for s, structure in enumerate(world.pool):
        n, (first, following) = structure.order, solutions[s]
        first[PRODUCT, :n, :n] = structure.table
        for x in reversed(range(n)):
            for y in reversed(range(n)):
                z = structure.table[x, y]
                following[LEFT_DIVISION, x, y], first[LEFT_DIVISION, x, z] = first[LEFT_DIVISION, x, z], y
                following[RIGHT_DIVISION, y, x], first[RIGHT_DIVISION, y, z] = first[RIGHT_DIVISION, y, z], x
    return solutions


def _symmetry(world: World) -> np.ndarray:
    largest = max(s.order for s in world.pool)
    symmetry = np.zeros((len(world.pool), 1 + largest, largest + 1), dtype=np.uint64)
    for s, structure in enumerate(world.pool):
        n, found = structure.order, orbits(structure.table)
        symmetry[s, 0, :n], symmetry[s, 1 : 1 + n, :n] = found.first_size, found.second_size
        symmetry[s, 0, CHOICES], symmetry[s, 1 : 1 + n, CHOICES] = found.first, found.second
    return symmetry
