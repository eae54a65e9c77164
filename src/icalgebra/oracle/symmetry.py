"""Automorphisms of a structure, which spare the oracle most of its search.

An automorphism turns one embedding into another, so embeddings come in orbits, and one of each with the orbit's size is
enough to count them. The search breaks this symmetry at its first two free choices: of the elements that automorphisms
exchange only the smallest is tried, first under all of them, then under those that leave the first choice where it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from icalgebra.compilation import njit

MAX_AUTOMORPHISMS = 1 << 15
MAX_TRIES = 1_000_000  # hundredths of a second


class Orbits(NamedTuple):
    first: int  # bit set: the smallest element of every orbit
    first_size: np.ndarray  # [n] the size of the orbit, for those elements
    second: np.ndarray  # [n] the same after each first choice: bit sets
    second_size: np.ndarray  # [n, n]


def orbits(table: np.ndarray) -> Orbits:
    """The orbits of a structure's elements; where its automorphisms are too many to list, every element by itself."""
    n = len(table)
    found = automorphisms(np.ascontiguousarray(table, dtype=np.int64), MAX_AUTOMORPHISMS, MAX_TRIES)
    if not len(found):
        found = np.arange(n)[None]  # any group of automorphisms will do, and this one always is
    first, first_size = _orbits_under(found)
    after = [_orbits_under(found[found[:, e] == e]) for e in range(n)]
    return Orbits(first, first_size, np.array([bits for bits, _ in after]), np.stack([size for _, size in after]))


def _orbits_under(maps: np.ndarray) -> tuple[int, np.ndarray]:
    sizes = np.array([len(np.unique(images)) for images in maps.T])
    smallest = [e for e, images in enumerate(maps.T) if images.min() == e]
    return sum(1 << e for e in smallest), sizes


@njit(cache=True)
def automorphisms(table, max_found, max_tries):
    """All automorphisms [k, n]; none, where there are more than max_found or the search takes too long."""
    n = len(table)
    found, n_found = np.empty((64, n), np.int64), 0
    image = np.full(n, -1)  # of the elements before `step`; the image of `step` is being tried
    step = tries = 0
    while step >= 0:
        image[step] += 1
        tries += 1
        if tries > max_tries or n_found > max_found:
            return found[:0]
        if image[step] == n:
            image[step] = -1
            step -= 1
        elif preserves(table, image, step):
            if step + 1 < n:
                step += 1
                continue
            if n_found == len(found):
                found = np.concatenate((found, found))
            found[n_found] = image
            n_found += 1
    return found[:n_found]


@njit(cache=True)
def preserves(table, image, last):
    """Whether the image of `last` is a new one and keeps every product among the elements up to `last`."""
    for x in range(last):
        if image[x] == image[last]:
            return False
    for x in range(last + 1):
        for y in range(last + 1):
            z = table[x, y]
            if max(x, y, z) == last and table[image[x], image[y]] != image[z]:
                return False
    return True
