"""The rungs chain, latin, associative and split, compiled: the same rounds as deductions.py, without proofs."""

from __future__ import annotations

import numpy as np

from icalgebra.compilation import njit
from icalgebra.solvers.kernels import bit, lowest
from icalgebra.solvers.ladder.deductions import ASSOCIATIVE, LATIN, SPLIT
from icalgebra.solvers.ladder.kernel_rules import (
    by_association,
    by_association_excluded,
    by_association_inside,
    by_cancellation,
    by_identity,
    by_inverse_excluded,
    by_place,
    places,
)
from icalgebra.solvers.ladder.kernel_state import (
    CONFLICT,
    FIRST_COMPONENT,
    IDENTITIES,
    MEMBERS,
    NOT_IDENTITIES,
    OWN,
    POSSIBLE,
    add_identity,
    add_not_identity,
    add_product,
    copy_state,
    link,
    listed,
    make_state,
    prepare,
    start,
)

UNDECIDED = -1


@njit(cache=True)
def run(state, query, rung, reserved, orders, to_goal):
    """Rounds until the query is answered (if that is the goal), a conflict is found, or nothing new follows.

    Returns the number of rounds.
    """
    products, sets = state[0], state[4]
    n_variables = len(products)
    found = np.empty((n_variables, n_variables), dtype=np.uint64)
    excluded = np.empty((n_variables, n_variables), dtype=np.uint64)
    rounds = 0
    while not sets[CONFLICT] and not (to_goal and products[query[0], query[1]] >= 0):
        found[:] = 0
        excluded[:] = 0
        new_identity = apply_rules(state, found, excluded, rung)
        if sets[CONFLICT] or not add_found(state, found, excluded, new_identity, rung):
            break
        rounds += 1
        if not sets[CONFLICT]:
            own = sets[FIRST_COMPONENT + query[0]]
            if own != sets[OWN] or rung >= ASSOCIATIVE:
                sets[OWN] = own
                prepare(state, rung, reserved, orders)
    return rounds


@njit(cache=True)
def apply_rules(state, found, excluded, rung):
    """One round; returns an identity that is found by elimination, or −1."""
    products, _, _, _, sets = state
    members = listed(sets[MEMBERS], len(products))
    by_identity(state, members, found)
    by_association(state, members, found)
    by_cancellation(state, members, found)
    if rung < LATIN or sets[CONFLICT]:
        return -1
    row_places, column_places = places(state, members)
    by_place(state, members, row_places, column_places, found)
    if rung < ASSOCIATIVE or sets[CONFLICT]:
        return -1
    by_association_inside(state, members, found)
    by_inverse_excluded(state, members, excluded)
    by_association_excluded(state, members, row_places, column_places, excluded)
    if sets[IDENTITIES] & sets[MEMBERS]:
        return -1
    left = sets[POSSIBLE] & ~sets[NOT_IDENTITIES]
    if not left:
        sets[CONFLICT] = 1
        return -1
    return -1 if left & (left - np.uint64(1)) else np.int64(lowest(left))


@njit(cache=True)
def add_found(state, found, excluded, new_identity, rung):
    """Add what a round found; whether there was anything new."""
    products, _, _, open_answers, sets = state
    n_variables, anything = len(products), new_identity >= 0
    for x in range(n_variables):
        for y in range(n_variables):
            answers = found[x, y]
            while answers:
                z = lowest(answers)
                answers &= answers - np.uint64(1)
                anything = True
                link(sets, x, y, z, n_variables)
                add_product(state, x, y, z, rung)
    for x in range(n_variables):
        for y in range(n_variables):
            out = excluded[x, y]
            if out:
                anything = True
                if products[x, y] >= 0 and out & bit(products[x, y]):
                    sets[CONFLICT] = 1
                open_answers[x, y] &= ~out
                if out & bit(y):
                    add_not_identity(state, x, rung)
                if out & bit(x):
                    add_not_identity(state, y, rung)
    if new_identity >= 0:
        add_identity(state, new_identity, rung)
    return anything


# --- case distinction -----------------------------------------------------------------------------------------------


@njit(cache=True)
def leads_to_conflict(state, case, x, y, z, query, reserved, orders):
    copy_state(state, case)
    link(case[4], x, y, z, len(case[0]))
    add_product(case, x, y, z, ASSOCIATIVE)
    if not case[4][CONFLICT]:
        case[4][OWN] = case[4][FIRST_COMPONENT + query[0]]
        prepare(case, ASSOCIATIVE, reserved, orders)
        run(case, query, ASSOCIATIVE, reserved, orders, False)
    return case[4][CONFLICT] != 0


@njit(cache=True)
def refute_answers(state, case, x, y, query, reserved, orders, log, n_logged):
    """Exclude the answers of a pair that lead to a contradiction; returns how many are logged now."""
    _, _, _, open_answers, sets = state
    refuted = np.uint64(0)
    left = open_answers[x, y] & sets[POSSIBLE]
    while left:
        z = lowest(left)
        left &= left - np.uint64(1)
        if leads_to_conflict(state, case, x, y, z, query, reserved, orders):
            refuted |= bit(z)
            log[n_logged, 0], log[n_logged, 1], log[n_logged, 2] = x, y, z
            n_logged += 1
    exclude_refuted(state, x, y, refuted)
    return n_logged


@njit(cache=True)
def exclude_refuted(state, x, y, refuted):
    state[3][x, y] &= ~refuted
    if refuted & bit(y):
        add_not_identity(state, x, ASSOCIATIVE)
    if refuted & bit(x):
        add_not_identity(state, y, ASSOCIATIVE)


@njit(cache=True)
def split(state, case, query, reserved, orders, log):
    """Refute answers, first those of the query, then of other pairs, until the query is decided; returns how many."""
    products, sets = state[0], state[4]
    n_variables, n_logged, progress = len(products), 0, True
    while progress and not sets[CONFLICT] and products[query[0], query[1]] < 0:
        before = n_logged
        n_logged = refute_answers(state, case, query[0], query[1], query, reserved, orders, log, n_logged)
        if n_logged == before:
            members = listed(sets[MEMBERS], n_variables)
            for x in members:
                for y in members:
                    if n_logged == before and products[x, y] < 0:
                        n_logged = refute_answers(state, case, x, y, query, reserved, orders, log, n_logged)
        progress = n_logged > before
        run(state, query, ASSOCIATIVE, reserved, orders, True)
    return n_logged


@njit(cache=True)
def replay(first, state, case, query, reserved, orders, plan, kept):
    """Whether refuting the kept answers of a plan one after the other, from a first state, decides the query."""
    copy_state(first, state)
    for i in range(len(plan)):
        x, y, z = plan[i]
        if kept[i] and state[0][query[0], query[1]] < 0 and state[3][x, y] & bit(z):
            if not leads_to_conflict(state, case, x, y, z, query, reserved, orders):
                return False
            exclude_refuted(state, x, y, bit(z))
            run(state, query, ASSOCIATIVE, reserved, orders, True)
    return state[0][query[0], query[1]] >= 0


@njit(cache=True)
def split_plan(facts, query, reserved, orders, n_variables):
    """The answers (x, y, z) to refute, in order, so that `associative` decides the query; none can be spared."""
    first, state, case = make_state(n_variables), make_state(n_variables), make_state(n_variables)
    start(first, facts, query, ASSOCIATIVE, reserved, orders)
    run(first, query, ASSOCIATIVE, reserved, orders, True)
    copy_state(first, state)
    log = np.empty((n_variables**3, 3), dtype=np.int64)
    plan = log[: split(state, case, query, reserved, orders, log)]
    kept = np.ones(len(plan), dtype=np.bool_)
    for i in range(len(plan) - 1, -1, -1):
        kept[i] = False
        kept[i] = not replay(first, state, case, query, reserved, orders, plan, kept)
    return plan[kept]


@njit(cache=True)
def decide(state, case, log, facts, query, reserved, orders, lowest_rung, highest_rung):
    """The lowest rung between two that decides one query, its answer and its depth; −1 where none does.

    On `split` the depth is not known without a proof: −1.
    """
    for rung in range(lowest_rung, highest_rung + 1):
        start(state, facts, query, min(rung, ASSOCIATIVE), reserved, orders)
        depth = run(state, query, min(rung, ASSOCIATIVE), reserved, orders, True)
        if rung == SPLIT:
            split(state, case, query, reserved, orders, log)
            depth = UNDECIDED
        if state[4][CONFLICT]:
            break
        if state[0][query[0], query[1]] >= 0:
            return rung, np.int64(state[0][query[0], query[1]]), depth
    return UNDECIDED, UNDECIDED, UNDECIDED


@njit(cache=True, nogil=True)
def decide_rows(facts, queries, reserved, orders, n_variables, lowest_rung, highest_rung, rungs, answers, depths):
    """For facts [n, k, 3] and queries [n, 2] what `decide` finds, [n] each."""
    state, case = make_state(n_variables), make_state(n_variables)
    log = np.empty((n_variables**3, 3), dtype=np.int64)
    for row in range(len(facts)):
        rungs[row], answers[row], depths[row] = decide(
            state, case, log, facts[row], queries[row], reserved, orders, lowest_rung, highest_rung
        )


@njit(cache=True, nogil=True)
def decide_prefixes(facts, every, reserved, orders, n_variables, highest_rung, rungs, answers, depths):
    """The same after 1, 2, … facts: facts [n, k, 3], the rest [n, k−1]; a repeated fact changes nothing.

    every: fact j is the query to the j facts before it; otherwise the last fact is the query to the first j.
    """
    state, case = make_state(n_variables), make_state(n_variables)
    log = np.empty((n_variables**3, 3), dtype=np.int64)
    for row in range(len(facts)):
        these = facts[row]
        for j in range(1, len(these)):
            query = these[j if every else len(these) - 1][:2]
            if not every and j > 1 and repeats(these, j - 1):
                rungs[row, j - 1], answers[row, j - 1] = rungs[row, j - 2], answers[row, j - 2]
                depths[row, j - 1] = depths[row, j - 2]
            else:
                rungs[row, j - 1], answers[row, j - 1], depths[row, j - 1] = decide(
                    state, case, log, these[:j], query, reserved, orders, 0, highest_rung
                )


@njit(cache=True)
def repeats(facts, n):
    for f in range(n):
        if facts[f, 0] == facts[n, 0] and facts[f, 1] == facts[n, 1] and facts[f, 2] == facts[n, 2]:
            return True
    return False
