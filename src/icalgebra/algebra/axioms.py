"""Axioms as predicates on a Cayley table, table[x, y] = x·y."""

from __future__ import annotations

import numpy as np


def is_associative(table: np.ndarray) -> bool:
    """(xy)z = x(yz) for all x, y, z."""
    return bool(np.array_equal(table[table], table[:, table]))


def is_latin(table: np.ndarray) -> bool:
    """Every row and every column is a permutation: both divisions are unique."""
    everything = np.arange(len(table))
    return bool((np.sort(table, axis=0) == everything[:, None]).all() and (np.sort(table, axis=1) == everything).all())


def find_identity(table: np.ndarray) -> int | None:
    """The two-sided identity, or None."""
    everything = np.arange(len(table))
    both = (table == everything).all(axis=1) & (table == everything[:, None]).all(axis=0)
    return int(np.flatnonzero(both)[0]) if both.any() else None
