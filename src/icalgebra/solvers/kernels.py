"""The five mechanisms, compiled: whole batches, every context size.

What a context says is kept in bit sets over the variables, so that one more fact costs a few operations and so does a
query. An answer is a bit set too: empty for "cannot tell", one bit for an answer, several for a tie.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from icalgebra.language.vocabulary import ANSWER, FACT_LENGTH, LEFT, RIGHT

COPY, COMMUTE, IDENTITY, CANCEL, ASSOCIATE = range(5)
N_MECHANISMS = 5


# What the facts so far say: `pairs` [3, N+1, N+1] and `singles` [8, N+1], both of bit sets, with a row and a column of
# padding that stay empty. (Two plain arrays: passing a tuple of arrays costs more than the look-ups themselves.)
ANSWERS, RIGHTS, LEFTS = range(3)
# pairs[ANSWERS, x, y]: answers seen for xy;  pairs[RIGHTS, g, y]: the d with gd=y;  pairs[LEFTS, d, x]: the g with gd=x
AFTER, BEFORE, ROW, COLUMN, BESIDE, MAKES_LEFT, MAKES_RIGHT, NEUTRAL = range(8)
# singles[AFTER, x]: the y for which xy is known;           singles[BEFORE, y]: the x for which xy is known
# singles[ROW, x]: answers of facts with x on the left;     singles[COLUMN, y]: answers of facts with y on the right
# singles[BESIDE, x]: variables of facts that contain x;    singles[NEUTRAL, 0]: those seen to leave another unchanged
# singles[MAKES_LEFT, z], singles[MAKES_RIGHT, z]: left and right operands of facts with answer z


@njit(cache=True)
def nothing_known(n_variables):
    pairs = np.zeros((3, n_variables + 1, n_variables + 1), dtype=np.uint64)
    singles = np.zeros((8, n_variables + 1), dtype=np.uint64)
    return pairs, singles


@njit(cache=True, inline="always")
def bit(variable):
    return np.uint64(1) << np.uint64(variable)


@intrinsic
def lowest(typing_context, bits):
    """The number of the lowest bit of a non-empty set: one machine instruction that numba does not offer."""

    def generate(context, builder, signature, arguments):
        zero_is_undefined = context.get_constant(types.boolean, True)
        return builder.cttz(arguments[0], zero_is_undefined)

    return types.uint64(types.uint64), generate


@njit(cache=True)
def learn(pairs, singles, x, y, z):
    """Take in the fact xy=z; True where it is new."""
    if pairs[ANSWERS, x, y] & bit(z):
        return False
    pairs[ANSWERS, x, y] |= bit(z)
    pairs[RIGHTS, x, z] |= bit(y)
    pairs[LEFTS, y, z] |= bit(x)
    singles[AFTER, x] |= bit(y)
    singles[BEFORE, y] |= bit(x)
    singles[ROW, x] |= bit(z)
    singles[COLUMN, y] |= bit(z)
    singles[MAKES_LEFT, z] |= bit(x)
    singles[MAKES_RIGHT, z] |= bit(y)
    members = bit(x) | bit(y) | bit(z)
    singles[BESIDE, x] |= members
    singles[BESIDE, y] |= members
    singles[BESIDE, z] |= members
    if y == z:
        singles[NEUTRAL, 0] |= bit(x)
    if x == z:
        singles[NEUTRAL, 0] |= bit(y)
    return True


@njit(cache=True)
def by_identity(singles, x, y):
    found = np.uint64(0)
    if singles[NEUTRAL, 0] & bit(x):
        found |= bit(y)
    if singles[NEUTRAL, 0] & bit(y):
        found |= bit(x)
    return found


@njit(cache=True)
def by_cancellation(singles, x, y):
    candidates = (singles[BESIDE, x] | singles[BESIDE, y]) & ~(singles[ROW, x] | singles[COLUMN, y])
    several = candidates & (candidates - np.uint64(1))
    return np.uint64(0) if several else candidates


@njit(cache=True)
def by_association(pairs, singles, x, y):
    """Both forms of triple. In groups every set below has at most one member, so the first is taken without a branch:
    an empty set reads the empty padding of `answers` instead."""
    nobody = bit(singles.shape[1] - 1)
    found = np.uint64(0)
    middles = singles[AFTER, x] & singles[MAKES_LEFT, y]  # xg=f, gd=y, fd=z
    while middles:
        g = lowest(middles)
        middles &= middles - np.uint64(1)
        products = pairs[ANSWERS, x, g]
        while products:
            f = lowest(products)
            products &= products - np.uint64(1)
            usable = pairs[RIGHTS, g, y] & singles[AFTER, f]
            found |= pairs[ANSWERS, f, lowest(usable | nobody)]
            usable &= usable - np.uint64(1)
            while usable:
                found |= pairs[ANSWERS, f, lowest(usable)]
                usable &= usable - np.uint64(1)
    middles = singles[BEFORE, y] & singles[MAKES_RIGHT, x]  # dy=f, gd=x, gf=z
    while middles:
        d = lowest(middles)
        middles &= middles - np.uint64(1)
        products = pairs[ANSWERS, d, y]
        while products:
            f = lowest(products)
            products &= products - np.uint64(1)
            usable = pairs[LEFTS, d, x] & singles[BEFORE, f]
            found |= pairs[ANSWERS, lowest(usable | nobody), f]
            usable &= usable - np.uint64(1)
            while usable:
                found |= pairs[ANSWERS, lowest(usable), f]
                usable &= usable - np.uint64(1)
    return found


@njit(cache=True, inline="always")
def ask(pairs, singles, x, y, answers, row, j):
    """All five answers to xy=? into answers[row, j]."""
    answers[row, j, COPY] = pairs[ANSWERS, x, y]
    answers[row, j, COMMUTE] = pairs[ANSWERS, y, x]
    answers[row, j, IDENTITY] = by_identity(singles, x, y)
    answers[row, j, CANCEL] = by_cancellation(singles, x, y)
    answers[row, j, ASSOCIATE] = by_association(pairs, singles, x, y)


@njit(cache=True, nogil=True)
def answer_every(tokens, answers, n_variables):
    """answers[row, j]: what each mechanism says of fact j given the facts before it."""
    pairs, singles = nothing_known(n_variables)
    for row in range(len(tokens)):
        pairs[:] = 0
        singles[:] = 0
        for j in range(answers.shape[1]):
            at = j * FACT_LENGTH
            x, y, z = tokens[row, at + LEFT], tokens[row, at + RIGHT], tokens[row, at + ANSWER]
            ask(pairs, singles, x, y, answers, row, j)
            learn(pairs, singles, x, y, z)


@njit(cache=True, nogil=True)
def answer_last(tokens, answers, n_variables, n_facts, first):
    """answers[row, j]: what each mechanism says of the last query after first + j facts of context."""
    pairs, singles = nothing_known(n_variables)
    at = (n_facts - 1) * FACT_LENGTH
    for row in range(len(tokens)):
        pairs[:] = 0
        singles[:] = 0
        x, y = tokens[row, at + LEFT], tokens[row, at + RIGHT]
        stale = True
        for j in range(n_facts):
            if j >= first:
                if stale:
                    ask(pairs, singles, x, y, answers, row, j - first)
                else:
                    for m in range(N_MECHANISMS):
                        answers[row, j - first, m] = answers[row, j - first - 1, m]
                stale = False
            if j < n_facts - 1:
                f = j * FACT_LENGTH
                stale |= learn(pairs, singles, tokens[row, f + LEFT], tokens[row, f + RIGHT], tokens[row, f + ANSWER])
