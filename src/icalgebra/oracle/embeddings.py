"""Kernels: every way to read a set of variables as elements of one structure so that its facts hold.

A plan orders the variables so that most are determined by earlier ones through a product or a division; only the rest
are branched on. Divisions are walked as lists of solutions, so tables without unique division need no other code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

FREE, PRODUCT, LEFT_DIVISION, RIGHT_DIVISION = range(4)


class Plan(NamedTuple):
    """The order in which the variables of one block get their elements."""

    n: int
    variable: np.ndarray  # [n] the variable of each step
    how: np.ndarray  # [n] FREE, or determined by the two earlier variables `first` and `second`
    first: np.ndarray
    second: np.ndarray
    check_end: np.ndarray  # [n + 1] facts that must hold after step i: checks[check_end[i] : check_end[i + 1]]
    checks: np.ndarray
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
    variable, how = np.empty(n, np.int64), np.zeros(n, np.int64)
    first, second = np.zeros(n, np.int64), np.zeros(n, np.int64)
    check_end, checks = np.zeros(n + 1, np.int64), np.empty(len(facts), np.int64)
    place = np.full(n_variables, -1, np.int64)
    waiting = np.empty(len(facts), np.int64)
    n_waiting = 0
    for f in range(len(facts)):
        if has(variables, facts[f, 0]):
            waiting[n_waiting] = f
            n_waiting += 1
    known, n_checks = np.uint64(0), 0
    for step in range(n):
        variable[step], how[step], source = next_variable(facts, waiting[:n_waiting], known, variables)
        if source >= 0:
            first[step], second[step] = operands(facts[source], how[step])
        known |= bit(variable[step])
        place[variable[step]] = step
        kept = 0
        for i in range(n_waiting):
            f = waiting[i]
            if not (has(known, facts[f, 0]) and has(known, facts[f, 1]) and has(known, facts[f, 2])):
                waiting[kept] = f
                kept += 1
            elif f != source:
                checks[n_checks] = f
                n_checks += 1
        n_waiting = kept
        check_end[step + 1] = n_checks
    return Plan(n, variable, how, first, second, check_end, checks, place)


@njit(cache=True)
def next_variable(facts, waiting, known, variables):
    """A variable that known ones determine, with the fact that does; else the one whose facts prune most."""
    best, best_score = -1, -1
    for f in waiting:
        x, y, z = facts[f]
        if has(known, x) and has(known, y):
            return z, PRODUCT, f
        if has(known, x) and has(known, z):
            return y, LEFT_DIVISION, f
        if has(known, y) and has(known, z):
            return x, RIGHT_DIVISION, f
    for v in range(64):
        if not has(variables, v) or has(known, v):
            continue
        score = 0
        for f in waiting:
            score += fact_score(facts[f], v, known)
        if score > best_score:
            best, best_score = v, score
    return best, FREE, -1


@njit(cache=True)
def fact_score(fact, v, known):
    """How much choosing v helps with a fact: most if the fact can be checked at once, then if it leaves one free."""
    x, y, z = fact
    if v != x and v != y and v != z:
        return 0
    unknown = popcount((bit(x) | bit(y) | bit(z)) & ~known)
    if unknown == 1:
        return 1000
    return 30 if unknown == 2 else 1


@njit(cache=True)
def operands(fact, how):
    if how == PRODUCT:
        return fact[0], fact[1]
    if how == LEFT_DIVISION:
        return fact[0], fact[2]
    return fact[1], fact[2]


@njit(cache=True)
def first_choice(arrays, s, plan, step, element):
    how = plan.how[step]
    if how == FREE:
        return 0
    a, b = element[plan.first[step]], element[plan.second[step]]
    if how == PRODUCT:
        return arrays.tables[s, a, b]
    return arrays.left_first[s, a, b] if how == LEFT_DIVISION else arrays.right_first[s, a, b]


@njit(cache=True)
def next_choice(arrays, s, plan, step, element, current):
    how = plan.how[step]
    if how == FREE:
        return current + 1 if current + 1 < arrays.orders[s] else -1
    if how == PRODUCT:
        return -1
    a = element[plan.first[step]]
    return arrays.left_next[s, a, current] if how == LEFT_DIVISION else arrays.right_next[s, current, a]


@njit(cache=True)
def holds(arrays, s, facts, plan, step, element):
    for i in range(plan.check_end[step], plan.check_end[step + 1]):
        x, y, z = facts[plan.checks[i]]
        if arrays.tables[s, element[x], element[y]] != element[z]:
            return False
    return True


@njit(cache=True)
def doubled(array):
    longer = np.empty(2 * len(array), array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True)
def embed(arrays, s, facts, plan, images, readings, begin):
    """Write every embedding into structure s from place `begin` on: its image and its elements, four bits a step.

    The end and the two (perhaps longer) arrays come back.
    """
    end = begin
    if plan.n > arrays.orders[s]:
        return end, images, readings
    element = np.zeros(arrays.n_variables, np.int64)
    choice = np.empty(plan.n + 1, np.int64)
    image, reading = np.zeros(plan.n + 1, np.uint64), np.zeros(plan.n + 1, np.uint64)
    step = 0
    choice[0] = first_choice(arrays, s, plan, 0, element)
    while step >= 0:
        chosen, v = choice[step], plan.variable[step]
        if chosen < 0:
            step -= 1
            if step >= 0:
                choice[step] = next_choice(arrays, s, plan, step, element, choice[step])
            continue
        element[v] = chosen
        allowed = not has(image[step], chosen) and not (v == arrays.reserved and chosen == arrays.identities[s])
        if not allowed or not holds(arrays, s, facts, plan, step, element):
            choice[step] = next_choice(arrays, s, plan, step, element, chosen)
            continue
        image[step + 1] = image[step] | bit(chosen)
        reading[step + 1] = reading[step] | (np.uint64(chosen) << np.uint64(4 * step))
        if step + 1 < plan.n:
            step += 1
            choice[step] = first_choice(arrays, s, plan, step, element)
            continue
        if end == len(images):
            images, readings = doubled(images), doubled(readings)
        images[end], readings[end] = image[plan.n], reading[plan.n]
        end += 1
        choice[step] = next_choice(arrays, s, plan, step, element, chosen)
    return end, images, readings


@njit(cache=True)
def element_of(plan, reading, v):
    return np.int64((reading >> np.uint64(4 * plan.place[v])) & np.uint64(15))
