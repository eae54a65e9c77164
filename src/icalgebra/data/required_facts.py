"""Kernels: the facts that a mechanism needs to answer a query."""

from __future__ import annotations

import numpy as np
from numba import njit

from icalgebra.data.packed_facts import draw_from, packed
from icalgebra.randomness import below, partial_shuffle


@njit(cache=True)
def needed_for_cancel(state, world, s, x, y, names, n_context, planted):
    """Facts of x's row and y's column that rule out every element but the answer, and show the answer.

    All of them where they fit; else a uniform choice among the sufficient sets of n_context facts. Every wrong
    answer has two facts that rule it out, one in the row and one in the column: some keep both, the rest one.
    """
    order, answer = world.orders[s], world.tables[s, x, y]
    if not world.latin[s] or n_context < order - 1 or order < 2:
        return 0
    wrong = np.empty(order - 1, dtype=np.int64)
    row_fact = np.empty(order, dtype=np.uint32)
    column_fact = np.empty(order, dtype=np.uint32)
    row_shows, column_shows = -1, -1  # the wrong answer whose fact shows the right one as an operand
    for w in range(order):
        if w != y:
            v = world.tables[s, x, w]
            row_fact[v] = packed(names[x], names[w], names[v])
            if w == answer:
                row_shows = v
        if w != x:
            v = world.tables[s, w, y]
            column_fact[v] = packed(names[w], names[y], names[v])
            if w == answer:
                column_shows = v
    j = 0
    for v in range(order):
        if v != answer:
            wrong[j] = v
            j += 1
    n_both = min(n_context - (order - 1), order - 1)
    while True:
        partial_shuffle(state, wrong, n_both)
        n_planted, n_rows, n_columns, shown = 0, 0, 0, False
        for i in range(order - 1):
            v = wrong[i]
            both = i < n_both
            by_row = both or below(state, 2) == 0
            if by_row:
                planted[n_planted] = row_fact[v]
                n_planted += 1
                n_rows += 1
                shown |= v == row_shows
            if both or not by_row:
                planted[n_planted] = column_fact[v]
                n_planted += 1
                n_columns += 1
                shown |= v == column_shows
        # x stands in every row fact and y in every column fact, so they are shown where they are the answer.
        if shown or (answer == x and n_rows > 0) or (answer == y and n_columns > 0):
            return n_planted


@njit(cache=True)
def needed_in_line(world, s, x, y, names, n_context, in_row, planted):
    """All facts of x's row (or of y's column) but the query, where they fit and show the answer as an operand."""
    order, answer = world.orders[s], world.tables[s, x, y]
    given, moving = (x, y) if in_row else (y, x)
    if order - 1 > n_context or (answer == moving and answer != given):
        return 0
    n_planted = 0
    for w in range(order):
        if w != moving:
            left, right = (x, w) if in_row else (w, y)
            planted[n_planted] = packed(names[left], names[right], names[world.tables[s, left, right]])
            n_planted += 1
    return n_planted


@njit(cache=True)
def fill_context(state, planted, n_planted, context):
    """The planted facts alone, each at least once, repeated at random up to the context's length and shuffled."""
    draw_from(state, planted, n_planted, context, n_planted)
    context[:n_planted] = planted[:n_planted]
    partial_shuffle(state, context, len(context))


@njit(cache=True)
def needed_for_associate(state, world, s, x, y, names, planted):
    """The facts of one triple, uniform over (xg=f, gd=y, fd=z) and (dy=f, gd=x, gf=z) free of query and reverse."""
    order, table = world.orders[s], world.tables[s]
    answer = table[x, y]
    n_found = 0
    for pick in range(2):  # count the triples, then find the chosen one
        chosen = below(state, n_found) if pick else -1
        n_found = 0
        for form in range(2):
            for g in range(order):
                for d in range(order):
                    if form == 0:
                        l1, r1, l2, r2 = x, g, table[x, g], d
                    else:
                        l1, r1, l2, r2 = d, y, g, table[d, y]
                    if table[g, d] != (y if form == 0 else x) or table[l2, r2] != answer:
                        continue
                    if is_query(l1, r1, x, y) or is_query(g, d, x, y) or is_query(l2, r2, x, y):
                        continue
                    if n_found == chosen:
                        planted[0] = packed(names[l1], names[r1], names[table[l1, r1]])
                        planted[1] = packed(names[g], names[d], names[table[g, d]])
                        planted[2] = packed(names[l2], names[r2], names[answer])
                        return 2 if planted[2] == planted[0] or planted[2] == planted[1] else drop_repeat(planted)
                    n_found += 1
        if n_found == 0:
            return 0
    return 0


@njit(cache=True, inline="always")
def is_query(left, right, x, y):
    return (left == x and right == y) or (left == y and right == x)


@njit(cache=True)
def drop_repeat(planted):
    """Three facts of which the first two may be one."""
    if planted[0] == planted[1]:
        planted[1] = planted[2]
        return 2
    return 3
