"""Seeded random Cayley tables: quasigroups, semigroups, monoids, magmas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from icalgebra.algebra.axioms import find_identity
from icalgebra.compilation import njit
from icalgebra.errors import InputError
from icalgebra.randomness import below, generator

_SEMIGROUP_TRIES = 20_000


def magma_table(order: int, seed: int) -> np.ndarray:
    """A magma: every cell independent and uniform."""
    state = generator(seed, f"magma/{order}")
    return np.array([[below(state, order) for _ in range(order)] for _ in range(order)])


def latin_square(order: int, seed: int) -> np.ndarray:
    """A Latin square from the Markov chain of Jacobson and Matthews, observed at its proper squares only.

    Restricted to those, its stationary distribution is uniform. The chain starts at the cyclic square and visits about
    order³ proper ones.
    """
    if order == 1:
        return np.zeros((1, 1), dtype=np.int64)
    return _latin_walk(order, order**3 + 20, generator(seed, f"quasigroup/{order}"))


@njit(cache=True)
def _latin_walk(order, n_visits, state):
    # cube[r, c, s] = 1 where row r, column c holds symbol s; lines sum to 1. One cell of an improper cube is −1.
    cube = np.zeros((order, order, order), dtype=np.int8)
    for r in range(order):
        for c in range(order):
            cube[r, c, (r + c) % order] = 1
    proper, r0, c0, s0 = True, 0, 0, 0
    while n_visits > 0:
        if proper:
            r0, c0, s0 = below(state, order), below(state, order), below(state, order)
            while cube[r0, c0, s0] == 1:
                r0, c0, s0 = below(state, order), below(state, order), below(state, order)
        r1 = _one_of(cube[:, c0, s0], state)
        c1 = _one_of(cube[r0, :, s0], state)
        s1 = _one_of(cube[r0, c0, :], state)
        for r, c, s, change in (
            (r0, c0, s0, 1),
            (r0, c1, s1, 1),
            (r1, c0, s1, 1),
            (r1, c1, s0, 1),
            (r1, c0, s0, -1),
            (r0, c1, s0, -1),
            (r0, c0, s1, -1),
            (r1, c1, s1, -1),
        ):
            cube[r, c, s] += change
        proper = cube[r1, c1, s1] >= 0
        r0, c0, s0 = r1, c1, s1
        n_visits -= proper
    table = np.empty((order, order), dtype=np.int64)
    for r in range(order):
        for c in range(order):
            table[r, c] = np.argmax(cube[r, c])
    return table


@njit(cache=True)
def _one_of(line, state):
    """The index of a 1 in a line: the only one, or one of two at random (a line through the −1 of an improper cube)."""
    ones = np.flatnonzero(line == 1)
    return ones[below(state, len(ones))]


def semigroup_table(order: int, seed: int) -> np.ndarray:
    """A semigroup without identity: maps of a few points to themselves, closed under composition.

    Random generators are drawn until their closure has exactly `order` elements and no identity.
    """
    state = generator(seed, f"semigroup/{order}")
    for _ in range(_SEMIGROUP_TRIES):
        n_points, n_generators = 2 + below(state, 5), 1 + below(state, 3)
        maps = [tuple(below(state, n_points) for _ in range(n_points)) for _ in range(n_generators)]
        elements = _closure(maps, order)
        if elements is None or len(elements) != order:
            continue
        table = _composition_table(sorted(elements), lambda size: below(state, size))
        if find_identity(table) is None:
            return table
    raise InputError(f"no semigroup of order {order} without identity found; try orders from 2 to 16")


def monoid_table(order: int, seed: int) -> np.ndarray:
    """A monoid that is not a group: a semigroup without identity plus a new identity, element 0."""
    if order < 3:
        raise InputError(f"a monoid made from a semigroup without identity has at least 3 elements, not {order}")
    table = np.zeros((order, order), dtype=np.int64)
    table[0], table[:, 0] = np.arange(order), np.arange(order)
    table[1:, 1:] = semigroup_table(order - 1, seed) + 1
    return table


def _closure(maps: list[tuple[int, ...]], limit: int) -> set[tuple[int, ...]] | None:
    """All compositions of the maps, or None where there are more than `limit`."""
    elements, frontier = set(maps), list(set(maps))
    while frontier:
        element = frontier.pop()
        for factor in maps:
            product = tuple(factor[point] for point in element)
            if product not in elements:
                elements.add(product)
                frontier.append(product)
                if len(elements) > limit:
                    return None
    return elements


def _composition_table(elements: list[tuple[int, ...]], draw: Callable[[int], int]) -> np.ndarray:
    """The Cayley table of composition, first the left map, then the right; the elements are shuffled."""
    for i in range(len(elements) - 1, 0, -1):
        j = draw(i + 1)
        elements[i], elements[j] = elements[j], elements[i]
    number = {element: i for i, element in enumerate(elements)}
    return np.array([[number[tuple(second[p] for p in first)] for second in elements] for first in elements])
