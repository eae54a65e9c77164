"""Kernels: facts packed into integers, the cells a context is drawn from, and facts as tokens."""

from __future__ import annotations

import numpy as np
from numba import njit

from icalgebra.language.vocabulary import ANSWER, COMMA, EQUALS, FACT_LENGTH, LEFT, RIGHT
from icalgebra.randomness import GOLDEN, LOW_32, mix


@njit(cache=True, inline="always")
def packed(left, right, answer):
    """One fact in one integer: left, right and answer, a byte each."""
    return np.uint32(left) | (np.uint32(right) << np.uint32(8)) | (np.uint32(answer) << np.uint32(16))


@njit(cache=True)
def fill_cells(world, slots, count, variable_of, cells):
    """All facts of the sequence's tables, in order of structure, left and right element."""
    n_cells, offset = 0, 0
    for i in range(count):
        s = slots[i]
        order = world.orders[s]
        for x in range(order):
            left = variable_of[offset + x]
            for y in range(order):
                answer = variable_of[offset + world.tables[s, x, y]]
                cells[n_cells] = packed(left, variable_of[offset + y], answer)
                n_cells += 1
        offset += order
    return n_cells


@njit(cache=True)
def remove_cell(cells, n_cells, fact):
    for i in range(n_cells):
        if cells[i] == fact:
            cells[i] = cells[n_cells - 1]
            return n_cells - 1
    return n_cells


@njit(cache=True)
def draw_from(state, cells, n_cells, context, begin):
    """Fill context[begin:] with independent uniform choices among cells[:n_cells]; two from each random word."""
    n = np.uint64(n_cells)
    threshold = (np.uint64(1) << np.uint64(32)) % n
    walk = state[0]
    i, end = begin, len(context)
    while i < end:
        walk += GOLDEN
        word = mix(walk)
        product = (word >> np.uint64(32)) * n
        if (product & LOW_32) >= threshold:
            context[i] = cells[product >> np.uint64(32)]
            i += 1
        product = (word & LOW_32) * n
        if i < end and (product & LOW_32) >= threshold:
            context[i] = cells[product >> np.uint64(32)]
            i += 1
    state[0] = walk


@njit(cache=True)
def write_fact(row, place, fact, n_variables):
    at = place * FACT_LENGTH
    row[at + COMMA] = n_variables + 1
    row[at + LEFT] = fact & 0xFF
    row[at + RIGHT] = (fact >> 8) & 0xFF
    row[at + EQUALS] = n_variables
    row[at + ANSWER] = fact >> 16


@njit(cache=True)
def write_row(tokens, context, query, n_variables):
    for i in range(len(context)):
        write_fact(tokens, i, context[i], n_variables)
    write_fact(tokens, len(context), query, n_variables)
