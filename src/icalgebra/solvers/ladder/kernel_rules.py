"""Compiled rules of the ladder: each reads the state and notes products in `found` or excluded ones in `excluded`."""

from __future__ import annotations

import numpy as np

from icalgebra.compilation import njit
from icalgebra.solvers.kernels import bit, lowest
from icalgebra.solvers.ladder.kernel_state import CONFLICT, IDENTITIES, POSSIBLE, listed


@njit(cache=True, inline="always")
def note(products, found, x, y, z):
    if products[x, y] != z:
        found[x, y] |= bit(z)


@njit(cache=True)
def by_identity(state, members, found):
    """ex = xe = x, and ab=e gives ba=e."""
    products, _, _, _, sets = state
    for e in members:
        if sets[IDENTITIES] & bit(e):
            for x in members:
                note(products, found, e, x, x)
                note(products, found, x, e, x)
    for a in members:
        for b in members:
            e = products[a, b]
            if e >= 0 and sets[IDENTITIES] & bit(e):
                note(products, found, b, a, e)


@njit(cache=True)
def by_association(state, members, found):
    """ab=f, bc=g: fc=h gives ag=h, and the other way round."""
    products = state[0]
    for a in members:
        for b in members:
            f = products[a, b]
            if f < 0:
                continue
            for c in members:
                g = products[b, c]
                if g < 0:
                    continue
                left, right = products[f, c], products[a, g]
                if left >= 0:
                    note(products, found, a, g, left)
                if right >= 0:
                    note(products, found, f, c, right)


@njit(cache=True)
def by_cancellation(state, members, found):
    """The one answer that is left for a pair."""
    products, _, _, open_answers, sets = state
    for x in members:
        for y in members:
            if products[x, y] < 0:
                left = open_answers[x, y] & sets[POSSIBLE]
                if not left:
                    sets[CONFLICT] = 1
                elif not left & (left - np.uint64(1)):
                    note(products, found, x, y, lowest(left))


@njit(cache=True)
def places(state, members):
    """Bit sets of the places that are left for answer z in the row of x and in the column of y."""
    products, _, _, open_answers, sets = state
    n_variables = len(products)
    row_places = np.zeros((n_variables, n_variables), dtype=np.uint64)
    column_places = np.zeros((n_variables, n_variables), dtype=np.uint64)
    possible = listed(sets[POSSIBLE], n_variables)
    for x in members:
        for y in possible:
            left = open_answers[x, y] & sets[POSSIBLE]
            while left:
                row_places[x, lowest(left)] |= bit(y)
                left &= left - np.uint64(1)
            left = open_answers[y, x] & sets[POSSIBLE]
            while left:
                column_places[x, lowest(left)] |= bit(y)
                left &= left - np.uint64(1)
    return row_places, column_places


@njit(cache=True)
def by_place(state, members, row_places, column_places, found):
    """The one place that is left for a member in a row or column."""
    products, in_row, in_column, _, sets = state
    for fixed in members:
        for z in members:
            row, column = row_places[fixed, z], column_places[fixed, z]
            if in_row[fixed, z] < 0:
                if not row:
                    sets[CONFLICT] = 1
                elif not row & (row - np.uint64(1)):
                    note(products, found, fixed, lowest(row), z)
            if in_column[fixed, z] < 0:
                if not column:
                    sets[CONFLICT] = 1
                elif not column & (column - np.uint64(1)):
                    note(products, found, lowest(column), fixed, z)


@njit(cache=True)
def by_association_inside(state, members, found):
    """ab=f, fc=h, ag=h gives bc=g; bc=g, ag=h, fc=h gives ab=f."""
    products, in_row, in_column, _, _ = state
    for u in members:
        for v in members:
            p = products[u, v]
            if p < 0:
                continue
            for w in members:
                outer = products[p, w]  # a, b, f, c = u, v, p, w
                if outer >= 0 and in_row[u, outer] >= 0:
                    note(products, found, v, w, in_row[u, outer])
                outer = products[w, p]  # b, c, g, a = u, v, p, w
                if outer >= 0 and in_column[v, outer] >= 0:
                    note(products, found, w, u, in_column[v, outer])


@njit(cache=True)
def by_inverse_excluded(state, members, excluded):
    """ab ≠ e gives ba ≠ e."""
    _, _, _, open_answers, sets = state
    for e in members:
        if sets[IDENTITIES] & bit(e):
            for a in members:
                for b in members:
                    if not open_answers[a, b] & bit(e) and open_answers[b, a] & bit(e):
                        excluded[b, a] |= bit(e)


@njit(cache=True, inline="always")
def exclude(products, excluded, x, y, out):
    if products[x, y] >= 0:
        out &= ~bit(products[x, y])
    excluded[x, y] |= out


@njit(cache=True)
def by_association_excluded(state, members, row_places, column_places, excluded):
    """Of ab=f, bc=g, fc=h and ag=h one of the outer two is excluded and two others known: the last is excluded."""
    products, _, _, open_answers, sets = state
    possible = sets[POSSIBLE]
    for u in members:
        for v in members:
            p = products[u, v]
            if p < 0:
                continue
            for w in members:
                g = products[v, w]
                if g >= 0:  # a, b, f, c = u, v, p, w: fc and ag are the same
                    left, right = open_answers[p, w], open_answers[u, g]
                    exclude(products, excluded, u, g, right & ~left & possible)
                    exclude(products, excluded, p, w, left & ~right & possible)
                # a, b, f, c = u, v, p, w: bc=g is excluded
                outer, out = products[p, w], np.uint64(0)
                candidates = open_answers[v, w] & possible
                if outer >= 0:
                    out |= candidates & ~row_places[u, outer]
                rest = candidates
                while rest:
                    g = lowest(rest)
                    rest &= rest - np.uint64(1)
                    if products[u, g] >= 0 and not open_answers[p, w] & bit(products[u, g]):
                        out |= bit(g)
                exclude(products, excluded, v, w, out)
                # b, c, g, a = u, v, p, w: ab=f is excluded
                outer, out = products[w, p], np.uint64(0)
                candidates = open_answers[w, u] & possible
                if outer >= 0:
                    out |= candidates & ~column_places[v, outer]
                rest = candidates
                while rest:
                    f = lowest(rest)
                    rest &= rest - np.uint64(1)
                    if products[f, v] >= 0 and not open_answers[w, p] & bit(products[f, v]):
                        out |= bit(f)
                exclude(products, excluded, w, u, out)
