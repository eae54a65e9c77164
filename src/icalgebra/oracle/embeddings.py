"""Kernels: every way to read a set of variables as elements of one structure so that its facts hold.

A plan orders the variables so that most are determined by earlier ones through a product or a division; only the rest
are branched on. Divisions are walked as lists of solutions, so tables without unique division need no other code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from icalgebra.oracle.arrays import FREE, LEFT_DIVISION, PRODUCT, RIGHT_DIVISION


class Plan(NamedTuple):
    """The order in which the variables of one block get their elements; steps, not variables, are named inside."""

    variable: np.ndarray  # [n] the variable of each step
    steps: np.ndarray  # [n, 3] how its element is found, and the two earlier steps it is found from
    checks: np.ndarray  # [c, 3] facts left to check, as steps
    check_end: np.ndarray  # [n + 1] those that can be checked after step i: checks[check_end[i] : check_end[i + 1]]
    place: np.ndarray  # [N] the step of each variable, or −1


@njit(cache=True)
def has(mask, i):
    return (mask >> np.uint64(i)) & np.uint64(1) != 0


@njit(cache=True)
def bit(i):
    return np.uint64(1) << np.uint64(i)


@njit(cache=True)
def popcount(mask):
    count = 0
    while mask:
        mask &= mask - np.uint64(1)
        count += 1
    return count


@njit(cache=True)
def make_plan(facts, variables, n_variables):
    """A plan for the facts [f, 3] whose left variable is among `variables` (a bit set)."""
    n = popcount(variables)
    variable, steps = np.empty(n, np.int64), np.zeros((n, 3), np.int64)
    checks, check_end = np.empty((len(facts), 3), np.int64), np.zeros(n + 1, np.int64)
    place = np.full(n_variables, -1, np.int64)
    waiting, n_waiting = facts_within(facts, variables)
    known, n_checks = np.uint64(0), 0
    for step in range(n):
        v, how, source = next_variable(facts, waiting, n_waiting, known, variables)
        variable[step], steps[step, 0] = v, how
        if how != FREE:
            steps[step, 1] = place[facts[source, 1 if how == RIGHT_DIVISION else 0]]
            steps[step, 2] = place[facts[source, 1 if how == PRODUCT else 2]]
        known |= bit(v)
        place[v] = step
        kept = 0
        for i in range(n_waiting):
            f = waiting[i]
            if variables_of(facts, f) & ~known:
                waiting[kept] = f
                kept += 1
            elif f != source:
                for slot in range(3):
                    checks[n_checks, slot] = place[facts[f, slot]]
                n_checks += 1
        n_waiting = kept
        check_end[step + 1] = n_checks
    return Plan(variable, steps, checks, check_end, place)


@njit(cache=True)
def variables_of(facts, f):
    return bit(facts[f, 0]) | bit(facts[f, 1]) | bit(facts[f, 2])


@njit(cache=True)
def facts_within(facts, variables):
    within, n = np.empty(len(facts), np.int64), 0
    for f in range(len(facts)):
        if has(variables, facts[f, 0]):
            within[n] = f
            n += 1
    return within, n


@njit(cache=True)
def next_variable(facts, waiting, n_waiting, known, variables):
    """A variable that known ones determine, with the fact that does; else the one whose facts prune most."""
    for i in range(n_waiting):
        f = waiting[i]
        x, y, z = has(known, facts[f, 0]), has(known, facts[f, 1]), has(known, facts[f, 2])
        if x and y:
            return facts[f, 2], PRODUCT, f
        if x and z:
            return facts[f, 1], LEFT_DIVISION, f
        if y and z:
            return facts[f, 0], RIGHT_DIVISION, f
    return most_telling(facts, waiting, n_waiting, known, variables), FREE, -1


@njit(cache=True)
def most_telling(facts, waiting, n_waiting, known, variables):
    """The unknown variable with the best facts: those it completes count most, then those it leaves one unknown."""
    scores = np.zeros(64, np.int64)
    for i in range(n_waiting):
        f = waiting[i]
        n_unknown = popcount(variables_of(facts, f) & ~known)
        for slot in range(3):
            scores[facts[f, slot]] += 1000 if n_unknown == 1 else 30 if n_unknown == 2 else 1
    best = -1
    for v in range(64):
        if has(variables, v) and not has(known, v) and (best < 0 or scores[v] > scores[best]):
            best = v
    return best


@njit(cache=True)
def doubled(array):
    longer = np.empty(2 * len(array), array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True, inline="always")
def checks_hold(table, checks, begin, end, element):
    i = begin
    while i < end and table[element[checks[i, 0]], element[checks[i, 1]]] == element[checks[i, 2]]:
        i += 1
    return i == end


@njit(cache=True)
def embed(arrays, s, plan, images, readings):
    """Write every embedding of a block into structure s: its image, and its elements with four bits a step.

    How many there are and the two (perhaps longer) arrays come back. This loop is where the time goes: it reads plain
    arrays only, since handing tuples of arrays to helpers costs more than the work.
    """
    n, n_found = len(plan.variable), 0
    if n > arrays.orders[s]:
        return n_found, images, readings
    table, first, following = arrays.tables[s], arrays.first[s], arrays.following[s]
    steps, checks, check_end = plan.steps, plan.checks, plan.check_end
    reserved_step = plan.place[arrays.reserved] if arrays.reserved >= 0 else -1
    identity = arrays.identities[s]
    element, image, reading = np.zeros(n, np.int64), np.zeros(n + 1, np.uint64), np.zeros(n + 1, np.uint64)
    step, chosen = 0, 0
    while True:
        if chosen < 0:
            step -= 1
            if step < 0:
                return n_found, images, readings
        else:
            element[step] = chosen
            fits = not has(image[step], chosen) and not (step == reserved_step and chosen == identity)
            if fits and checks_hold(table, checks, check_end[step], check_end[step + 1], element):
                image[step + 1] = image[step] | bit(chosen)
                reading[step + 1] = reading[step] | (np.uint64(chosen) << np.uint64(4 * step))
                if step + 1 < n:
                    step += 1
                    chosen = np.int64(first[steps[step, 0], element[steps[step, 1]], element[steps[step, 2]]])
                    continue
                if n_found == len(images):
                    images, readings = doubled(images), doubled(readings)
                images[n_found], readings[n_found] = image[n], reading[n]
                n_found += 1
        chosen = np.int64(following[steps[step, 0], element[steps[step, 1]], element[step]])


@njit(cache=True)
def element_at(reading, step):
    return np.int64((reading >> np.uint64(4 * step)) & np.uint64(15))
