"""The five mechanisms, compiled: whole batches, every context size.

A context is kept as bit sets over the variables, so adding a fact and answering a query take a few operations each. An
answer is a bit set, too: empty for "no answer", one bit for an answer, several for a tie.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from icalgebra.compilation import njit
from icalgebra.language.vocabulary import ANSWER, FACT_LENGTH, LEFT, RIGHT

COPY, COMMUTE, IDENTITY, CANCEL, ASSOCIATE = range(5)
N_MECHANISMS = 5

# The facts so far: `pairs` [3, N+1, N+1] and `singles` [8, N+1], both of bit sets. The last row and column are padding
# and stay empty. They are two plain arrays because passing a tuple of eleven arrays to an inner kernel cost more than
# the look-ups themselves: 18 µs per sequence of 200 facts, against 3 µs like this.
ANSWERS, RIGHTS, LEFTS = range(3)
# pairs[ANSWERS, x, y]: answers seen for xy;  pairs[RIGHTS, g, y]: the d with gd=y;  pairs[LEFTS, d, x]: the g with gd=x
AFTER, BEFORE, ROW, COLUMN, CLOSURE, LEFT_OPERANDS, RIGHT_OPERANDS, NEUTRAL = range(8)
# singles[AFTER, x]: the y for which xy is known;           singles[BEFORE, y]: the x for which xy is known
# singles[ROW, x]: answers of facts with x on the left;     singles[COLUMN, y]: answers of facts with y on the right
# singles[CLOSURE, x]: variables of facts that contain x;   singles[NEUTRAL, 0]: those seen to leave another unchanged
# singles[LEFT_OPERANDS, z], singles[RIGHT_OPERANDS, z]: left and right operands of facts with answer z


@njit(cache=True)
def empty_context(n_variables):
    pairs = np.zeros((3, n_variables + 1, n_variables + 1), dtype=np.uint64)
    singles = np.zeros((8, n_variables + 1), dtype=np.uint64)
    return pairs, singles


@njit(cache=True, inline="always")
def bit(variable):
    return np.uint64(1) << np.uint64(variable)


@njit(cache=True)
def popcount(bits):
    n = 0
    while bits:
        bits &= bits - np.uint64(1)
        n += 1
    return n


@intrinsic
def lowest(typing_context, bits):
    """The index of the lowest bit of a non-empty set: one machine instruction, for which numba has no function."""

    def generate(context, builder, signature, arguments):
        zero_is_undefined = context.get_constant(types.boolean, True)
        return builder.cttz(arguments[0], zero_is_undefined)

    return types.uint64(types.uint64), generate


@njit(cache=True)
def add_fact(pairs, singles, x, y, z):
    """Add the fact xy=z to the context; returns whether it is new.

    Without a branch, although a known fact changes nothing: where numba cannot tell which way a function ends, it
    counts references to the arrays, atomically, at every call. That took two thirds of the solvers' time.
    """
    new = pairs[ANSWERS, x, y] & bit(z) == 0
    pairs[ANSWERS, x, y] |= bit(z)
    pairs[RIGHTS, x, z] |= bit(y)
    pairs[LEFTS, y, z] |= bit(x)
    singles[AFTER, x] |= bit(y)
    singles[BEFORE, y] |= bit(x)
    singles[ROW, x] |= bit(z)
    singles[COLUMN, y] |= bit(z)
    singles[LEFT_OPERANDS, z] |= bit(x)
    singles[RIGHT_OPERANDS, z] |= bit(y)
    members = bit(x) | bit(y) | bit(z)
    singles[CLOSURE, x] |= members
    singles[CLOSURE, y] |= members
    singles[CLOSURE, z] |= members
    singles[NEUTRAL, 0] |= (np.uint64(y == z) << np.uint64(x)) | (np.uint64(x == z) << np.uint64(y))
    return new


@njit(cache=True)
def by_identity(singles, x, y):
    found = np.uint64(0)
    if singles[NEUTRAL, 0] & bit(x):
        found |= bit(y)
    if singles[NEUTRAL, 0] & bit(y):
        found |= bit(x)
    return found


@njit(cache=True)
def candidates_left(singles, x, y):
    """Closure set − cancellation set."""
    return (singles[CLOSURE, x] | singles[CLOSURE, y]) & ~(singles[ROW, x] | singles[COLUMN, y])


@njit(cache=True)
def by_cancellation(singles, x, y):
    """The candidate, where one is left."""
    candidates = candidates_left(singles, x, y)
    several = candidates & (candidates - np.uint64(1))
    return np.uint64(0) if several else candidates


@njit(cache=True)
def by_association(pairs, singles, x, y):
    """Both forms of triple.

    In groups every set `usable` has at most one member. So its first member is read without a branch: with the padding
    added, an empty set reads an empty answer.
    """
    padding = bit(singles.shape[1] - 1)
    found = np.uint64(0)
    middles = singles[AFTER, x] & singles[LEFT_OPERANDS, y]  # xg=f, gd=y, fd=z
    while middles:
        g = lowest(middles)
        middles &= middles - np.uint64(1)
        products = pairs[ANSWERS, x, g]
        while products:
            f = lowest(products)
            products &= products - np.uint64(1)
            usable = pairs[RIGHTS, g, y] & singles[AFTER, f]
            found |= pairs[ANSWERS, f, lowest(usable | padding)]
            usable &= usable - np.uint64(1)
            while usable:
                found |= pairs[ANSWERS, f, lowest(usable)]
                usable &= usable - np.uint64(1)
    middles = singles[BEFORE, y] & singles[RIGHT_OPERANDS, x]  # dy=f, gd=x, gf=z
    while middles:
        d = lowest(middles)
        middles &= middles - np.uint64(1)
        products = pairs[ANSWERS, d, y]
        while products:
            f = lowest(products)
            products &= products - np.uint64(1)
            usable = pairs[LEFTS, d, x] & singles[BEFORE, f]
            found |= pairs[ANSWERS, lowest(usable | padding), f]
            usable &= usable - np.uint64(1)
            while usable:
                found |= pairs[ANSWERS, lowest(usable), f]
                usable &= usable - np.uint64(1)
    return found


@njit(cache=True)
def write_answers(pairs, singles, x, y, associated, answers, row, j):
    """Write all five answers to xy=? into answers[row, j].

    associated: by_association(pairs, singles, x, y), called by the caller, for the reason given in add_fact.
    """
    answers[row, j, COPY] = pairs[ANSWERS, x, y]
    answers[row, j, COMMUTE] = pairs[ANSWERS, y, x]
    answers[row, j, IDENTITY] = by_identity(singles, x, y)
    answers[row, j, CANCEL] = by_cancellation(singles, x, y)
    answers[row, j, ASSOCIATE] = associated


@njit(cache=True, nogil=True)
def answer_every(tokens, answers, n_variables):
    """answers[row, j]: the answers of each mechanism to fact j, given the facts before it."""
    pairs, singles = empty_context(n_variables)
    for row in range(len(tokens)):
        pairs[:] = 0
        singles[:] = 0
        for j in range(answers.shape[1]):
            at = j * FACT_LENGTH
            x, y, z = tokens[row, at + LEFT], tokens[row, at + RIGHT], tokens[row, at + ANSWER]
            associated = by_association(pairs, singles, x, y)
            write_answers(pairs, singles, x, y, associated, answers, row, j)
            add_fact(pairs, singles, x, y, z)


@njit(cache=True, nogil=True)
def answer_last(tokens, answers, n_variables, n_facts, first):
    """answers[row, j]: the answers of each mechanism to the last query after first + j facts of context.

    A repeated fact changes no answer, so the answers are copied until a new fact comes.
    """
    pairs, singles = empty_context(n_variables)
    at = (n_facts - 1) * FACT_LENGTH
    for row in range(len(tokens)):
        pairs[:] = 0
        singles[:] = 0
        x, y = tokens[row, at + LEFT], tokens[row, at + RIGHT]
        stale = True
        for j in range(n_facts):
            if j >= first:
                if stale:
                    associated = by_association(pairs, singles, x, y)
                    write_answers(pairs, singles, x, y, associated, answers, row, j - first)
                else:
                    for m in range(N_MECHANISMS):
                        answers[row, j - first, m] = answers[row, j - first - 1, m]
                stale = False
            if j < n_facts - 1:
                f = j * FACT_LENGTH
                stale |= add_fact(
                    pairs, singles, tokens[row, f + LEFT], tokens[row, f + RIGHT], tokens[row, f + ANSWER]
                )


@njit(cache=True, nogil=True)
def fill_candidates(tokens, candidates, n_variables, every):
    """candidates[row, j]: the candidates that are left for the query after j facts; the query as in answer_…"""
    pairs, singles = empty_context(n_variables)
    n_facts = candidates.shape[1]
    for row in range(len(tokens)):
        pairs[:] = 0
        singles[:] = 0
        for j in range(n_facts):
            at, asked = j * FACT_LENGTH, (j if every else n_facts - 1) * FACT_LENGTH
            candidates[row, j] = candidates_left(singles, tokens[row, asked + LEFT], tokens[row, asked + RIGHT])
            add_fact(pairs, singles, tokens[row, at + LEFT], tokens[row, at + RIGHT], tokens[row, at + ANSWER])
