"""Kernels: the facts that a mechanism requires to answer a query.

The query asks for x·y in structure s; variable_of[e] is the variable of its element e. The facts are written into
`required`, and their number is returned: 0 where there is no such set of facts.
"""

from __future__ import annotations

import numpy as np

from icalgebra.compilation import njit
from icalgebra.data.packed_facts import draw_from, packed
from icalgebra.randomness import below, partial_shuffle


@njit(cache=True)
def cancel_facts(state, world, s, x, y, variable_of, n_context, required):
    """Facts of x's row and y's column that rule out every element but the answer, and show the answer.

    All of them where they fit; otherwise a uniform choice among the sufficient sets of n_context facts. Every wrong
    answer is ruled out by two facts, one of the row and one of the column: n_both wrong answers keep both, the others
    keep one. A choice that does not show the answer is drawn again.
    """
    order, answer = world.orders[s], world.tables[s, x, y]
    if not world.latin[s] or n_context < order - 1 or order < 2:
        return 0
    row_fact, column_fact = np.empty(order, dtype=np.uint32), np.empty(order, dtype=np.uint32)
    row_shows, column_shows = facts_by_answer(world, s, x, y, variable_of, row_fact, column_fact)
    wrong = np.empty(order - 1, dtype=np.int64)
    for i in range(order - 1):
        wrong[i] = i if i < answer else i + 1
    n_both = min(n_context - (order - 1), order - 1)
    while True:
        partial_shuffle(state, wrong, n_both)
        n_required, shown = 0, False
        for i in range(order - 1):
            v = wrong[i]
            both = i < n_both
            in_row = both or below(state, 2) == 0
            if in_row:  # x is an operand of every row fact, so any of them shows the answer where that is x
                required[n_required] = row_fact[v]
                n_required += 1
                shown |= v == row_shows or answer == x
            if both or not in_row:
                required[n_required] = column_fact[v]
                n_required += 1
                shown |= v == column_shows or answer == y
        if shown:
            return n_required


@njit(cache=True, inline="always")
def facts_by_answer(world, s, x, y, variable_of, row_fact, column_fact):
    """The facts of x's row and y's column but the query, by their answer.

    Returns the answers of the two facts whose other operand is the query's answer, or −1.
    """
    answer, row_shows, column_shows = world.tables[s, x, y], -1, -1
    for w in range(world.orders[s]):
        if w != y:
            v = world.tables[s, x, w]
            row_fact[v] = packed(variable_of[x], variable_of[w], variable_of[v])
            if w == answer:
                row_shows = v
        if w != x:
            v = world.tables[s, w, y]
            column_fact[v] = packed(variable_of[w], variable_of[y], variable_of[v])
            if w == answer:
                column_shows = v
    return row_shows, column_shows


@njit(cache=True)
def line_facts(world, s, x, y, variable_of, n_context, in_row, required):
    """All facts of x's row (or of y's column) but the query, where they fit and show the answer as an operand."""
    order, answer = world.orders[s], world.tables[s, x, y]
    fixed, varying = (x, y) if in_row else (y, x)
    if order - 1 > n_context or (answer == varying and answer != fixed):
        return 0
    n_required = 0
    for w in range(order):
        if w != varying:
            left, right = (x, w) if in_row else (w, y)
            product = world.tables[s, left, right]
            required[n_required] = packed(variable_of[left], variable_of[right], variable_of[product])
            n_required += 1
    return n_required


@njit(cache=True)
def associate_facts(state, world, s, x, y, variable_of, required):
    """The two or three distinct facts of one associative triple, uniform over the triples."""
    n_triples = find_triple(world, s, x, y, variable_of, -1, required)
    if n_triples == 0:
        return 0
    find_triple(world, s, x, y, variable_of, below(state, n_triples), required)
    if required[0] == required[1]:
        required[1] = required[2]
        return 2
    return 2 if required[2] == required[0] or required[2] == required[1] else 3


@njit(cache=True, inline="always")
def find_triple(world, s, x, y, variable_of, chosen, required):
    """Write the facts of triple number `chosen` (−1: of none) into `required`; returns the number of triples before it.

    The triples are (xg=f, gd=y, fd=z) and (dy=f, gd=x, gf=z), where no fact is the query or its reverse.
    """
    order, table = world.orders[s], world.tables[s]
    answer, n_found = table[x, y], 0
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
                    required[0] = packed(variable_of[l1], variable_of[r1], variable_of[table[l1, r1]])
                    required[1] = packed(variable_of[g], variable_of[d], variable_of[table[g, d]])
                    required[2] = packed(variable_of[l2], variable_of[r2], variable_of[answer])
                    return n_found
                n_found += 1
    return n_found


@njit(cache=True, inline="always")
def is_query(left, right, x, y):
    return (left == x and right == y) or (left == y and right == x)


@njit(cache=True)
def fill_with_required(state, required, n_required, context):
    """Fill the context with the required facts alone: each at least once, the rest random repeats, all shuffled."""
    draw_from(state, required, n_required, context, n_required)
    context[:n_required] = required[:n_required]
    partial_shuffle(state, context, len(context))
