"""Kernels: facts packed into integers, the cells that a context is drawn from, and facts as tokens."""

from __future__ import annotations

import numpy as np

from icalgebra.compilation import njit
from icalgebra.language.vocabulary import ANSWER, COMMA, EQUALS, FACT_LENGTH, LEFT, RIGHT
from icalgebra.randomness import GOLDEN, LOW_32, mix, partial_shuffle


@njit(cache=True, inline="always")
def packed(left, right, answer):
    """One fact as one integer: left, right and answer, one byte each."""
    return np.uint32(left) | (np.uint32(right) << np.uint32(8)) | (np.uint32(answer) << np.uint32(16))


@njit(cache=True, inline="always")
def left_of(fact):
    return fact & 0xFF


@njit(cache=True, inline="always")
def right_of(fact):
    return (fact >> 8) & 0xFF


@njit(cache=True, inline="always")
def answer_of(fact):
    return fact >> 16


@njit(cache=True)
def fill_cells(world, drawn, count, variable_of, cells):
    """All facts of the sequence's tables, by structure, left and right element; returns their number."""
    n_cells, offset = 0, 0
    for i in range(count):
        s = drawn[i]
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
    """Remove one fact from cells[:n_cells]; returns how many are left."""
    for i in range(n_cells):
        if cells[i] == fact:
            cells[i] = cells[n_cells - 1]
            return n_cells - 1
    return n_cells


@njit(cache=True)
def draw_from(state, cells, n_cells, context, begin):
    """Fill context[begin:] with independent uniform choices among cells[:n_cells].

    Each 64-bit random word gives two choices, unbiased as in randomness.below. The generator's state is kept in a local
    variable during the loop.
    """
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
def draw_passes(state, cells, n_cells, query, context):
    """Fill the context so that, with the query behind it, every fact is shown once before any is shown again.

    The sequence is one random order of cells[:n_cells] after another, cut off behind the query. Given the query, the
    passes before its own are independent of it, and its own begins with a random choice of the other facts.
    """
    at = 0
    while len(context) - at >= n_cells:
        partial_shuffle(state, cells[:n_cells], n_cells)
        context[at : at + n_cells] = cells[:n_cells]
        at += n_cells
    others = cells[: remove_cell(cells, n_cells, query)]
    partial_shuffle(state, others, len(context) - at)
    context[at:] = others[: len(context) - at]


@njit(cache=True)
def write_tokens(facts, n_variables, tokens):
    """Packed facts [k] to tokens [5k]."""
    for i in range(len(facts)):
        at = i * FACT_LENGTH
        tokens[at + COMMA] = n_variables + 1
        tokens[at + LEFT] = left_of(facts[i])
        tokens[at + RIGHT] = right_of(facts[i])
        tokens[at + EQUALS] = n_variables
        tokens[at + ANSWER] = answer_of(facts[i])
