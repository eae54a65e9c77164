"""Kernels: all embeddings of a component into one structure.

A component is a set of variables that facts connect. An embedding gives each of them a different element so that every
fact holds. A plan orders the variables so that most follow from earlier ones by a product or a division; only the
others are branched on. Divisions are lists of solutions, so tables without unique division need no other code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from icalgebra.compilation import njit
from icalgebra.oracle.arrays import CHOICES, FIRST, FREE, LEFT_DIVISION, NEXT, PRODUCT, RIGHT_DIVISION
from icalgebra.oracle.budget import spend
from icalgebra.solvers.kernels import bit, lowest, popcount

CHARGED = 4096  # steps that are charged to the budget at once
IMAGE, ELEMENTS, WEIGHT = range(3)  # columns of a list of embeddings


class Plan(NamedTuple):
    """The order in which a component's variables get their elements. Variables are referred to by their steps."""

    variable: np.ndarray  # [n] the variable of each step
    steps: np.ndarray  # [n, 3] how its element is found, and the two earlier steps it is found from
    checks: np.ndarray  # [c, 3] the facts left to check, as steps
    check_end: np.ndarray  # [n + 1] those that can be checked after step i: checks[check_end[i] : check_end[i + 1]]
    step_of: np.ndarray  # [N] the step of each variable, or −1


@njit(cache=True)
def has(mask, i):
    return (mask >> np.uint64(i)) & np.uint64(1) != 0


@njit(cache=True)
def make_plan(facts, variables, n_variables):
    """A plan for the facts [f, 3] whose left variable is among `variables` (a bit set)."""
    n = popcount(variables)
    variable, steps = np.empty(n, np.int64), np.zeros((n, 3), np.int64)
    checks, check_end = np.empty((len(facts), 3), np.int64), np.zeros(n + 1, np.int64)
    step_of = np.full(n_variables, -1, np.int64)
    waiting, n_waiting = facts_within(facts, variables)
    known, n_checks = np.uint64(0), 0
    for step in range(n):
        v, how, source = next_variable(facts, waiting, n_waiting, known, variables)
        variable[step], steps[step, 0] = v, how
        if how != FREE:
            steps[step, 1] = step_of[facts[source, 1 if how == RIGHT_DIVISION else 0]]
            steps[step, 2] = step_of[facts[source, 1 if how == PRODUCT else 2]]
        known |= bit(v)
        step_of[v] = step
        kept = 0
        for i in range(n_waiting):
            f = waiting[i]
            if variables_of(facts, f) & ~known:
                waiting[kept] = f
                kept += 1
            elif f != source:
                for slot in range(3):
                    checks[n_checks, slot] = step_of[facts[f, slot]]
                n_checks += 1
        n_waiting = kept
        check_end[step + 1] = n_checks
    return Plan(variable, steps, checks, check_end, step_of)


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
    """A variable that known ones determine, how, and by which fact; if there is none, the most constraining one."""
    for i in range(n_waiting):
        f = waiting[i]
        x, y, z = has(known, facts[f, 0]), has(known, facts[f, 1]), has(known, facts[f, 2])
        if x and y:
            return facts[f, 2], PRODUCT, f
        if x and z:
            return facts[f, 1], LEFT_DIVISION, f
        if y and z:
            return facts[f, 0], RIGHT_DIVISION, f
    return most_constraining(facts, waiting, n_waiting, known, variables), FREE, -1


@njit(cache=True)
def most_constraining(facts, waiting, n_waiting, known, variables):
    """The unknown variable to branch on, scored by its facts: the fewer unknowns a fact has, the more it counts.

    A fact that the variable completes can be checked at once; one with two unknowns determines its other variable.
    """
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
def second_free_step(plan):
    """The second step that is branched on (the first is step 0), or the number of steps."""
    for step in range(1, len(plan.variable)):
        if plan.steps[step, 0] == FREE:
            return step
    return len(plan.variable)


@njit(cache=True)
def embed(solutions, symmetry, order, identity, reserved, budget, plan, up_to_symmetry):
    """Every embedding of a component into a structure, as rows of image (a bit set), elements (four bits per step) and
    weight. Only some of them, where the budget is exhausted.

    up_to_symmetry: of embeddings that automorphisms turn into one another only some are listed; the weight says how
    many each stands for. Otherwise it is 1.

    A depth-first search without recursion: `step` is the depth, and `chosen` the element to try there, −1 where no
    element is left. The oracle spends most of its time in this loop. It is one function that reads plain arrays: a
    helper would count references to every array it is given, inlined or not, and that costs more than the work itself.
    """
    found, n_found = np.empty((32, 3), np.uint64), 0
    steps, checks, check_end = plan.steps, plan.checks, plan.check_end
    n, everything = len(plan.variable), bit(order) - np.uint64(1)
    reserved_step = plan.step_of[reserved] if reserved >= 0 else -1
    second = second_free_step(plan) if up_to_symmetry else n
    # element[i] is the element of step i; image[i] and embedding[i] are those of the steps before i; untried[i] are the
    # elements that a free step i has not tried yet
    element = np.zeros(n, np.int64)
    image, embedding, untried = np.zeros((3, n + 1), np.uint64)
    untried[0] = symmetry[0, CHOICES] if up_to_symmetry else everything
    step, chosen = 0, -1
    done = 0
    while True:
        done += 1
        if done == CHARGED:
            done = 0
            if spend(budget, CHARGED):
                return found[:n_found]
        if steps[step, 0] == FREE:
            chosen = -1
            if untried[step]:
                chosen = np.int64(lowest(untried[step]))
                untried[step] &= untried[step] - np.uint64(1)
        if chosen < 0:
            step -= 1
            if step < 0:
                spend(budget, done)
                return found[:n_found]
        else:
            element[step] = chosen
            fits = not has(image[step], chosen) and not (step == reserved_step and chosen == identity)
            check, end = check_end[step], check_end[step + 1]
            while fits and check < end:
                x, y, z = element[checks[check, 0]], element[checks[check, 1]], element[checks[check, 2]]
                fits = solutions[FIRST, PRODUCT, x, y] == z
                check += 1
            if fits:
                image[step + 1] = image[step] | bit(chosen)
                embedding[step + 1] = embedding[step] | (np.uint64(chosen) << np.uint64(4 * step))
                if step + 1 < n:
                    step += 1
                    if steps[step, 0] == FREE:
                        untried[step] = symmetry[1 + element[0], CHOICES] if step == second else everything
                        untried[step] &= ~image[step]
                    else:
                        x, y = element[steps[step, 1]], element[steps[step, 2]]
                        chosen = np.int64(solutions[FIRST, steps[step, 0], x, y])
                    continue
                if n_found == len(found):
                    if spend(budget, 0, n_found):
                        return found[:n_found]
                    found = np.concatenate((found, found))
                found[n_found, IMAGE], found[n_found, ELEMENTS] = image[n], embedding[n]
                found[n_found, WEIGHT] = 1
                if up_to_symmetry:
                    found[n_found, WEIGHT] = symmetry[0, element[0]]
                    if second < n:
                        found[n_found, WEIGHT] *= symmetry[1 + element[0], element[second]]
                n_found += 1
        if steps[step, 0] != FREE:
            chosen = np.int64(solutions[NEXT, steps[step, 0], element[steps[step, 1]], element[step]])


@njit(cache=True)
def element_at(embedding, step):
    return np.int64((embedding >> np.uint64(4 * step)) & np.uint64(15))
