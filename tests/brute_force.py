"""The oracle, slow and obvious: every list of structures, every assignment, exact fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

import numpy as np

from icalgebra.language.world import World


def lists_of_structures(world: World) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Ordered lists of places in the pool, drawn one after another, with their probability."""
    p_mix = Fraction(world.p_mix).limit_denominator(1000)
    orders = [structure.order for structure in world.pool]
    if world.mixture_rule == "all":
        yield tuple(range(len(orders))), Fraction(1)
        return

    def draw(drawn: tuple[int, ...], p: Fraction) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        room = world.n_variables - sum(orders[i] for i in drawn)
        fitting = [i for i in range(len(orders)) if orders[i] <= room]
        choices = fitting if world.mixture_rule == "fit" else range(len(orders))
        if not fitting:
            yield drawn, p
            return
        for i in choices:
            each = p / len(choices)
            if orders[i] > room:
                yield drawn, each
            else:
                yield (*drawn, i), each * (1 - p_mix)
                yield from draw((*drawn, i), each * p_mix)

    yield from draw((), Fraction(1))


@lru_cache(maxsize=32)
def all_tables(world: World) -> list[tuple[Fraction, int, np.ndarray]]:
    """For each list: its probability over the number of its assignments, its cells, and one N×N table (−1: no
    product) for each assignment of elements to variables."""
    found = []
    for drawn, p in lists_of_structures(world):
        structures = [world.pool[i] for i in drawn]
        total = sum(s.order for s in structures)
        tables = [
            written(world, structures, assignment)
            for assignment in permutations(range(world.n_variables), total)
            if allowed(world, structures, assignment)
        ]
        cells = sum(s.order**2 for s in structures)
        found.append((p / len(tables), cells, np.array(tables)))
    return found


def allowed(world: World, structures: list, assignment: tuple[int, ...]) -> bool:
    offset = 0
    for s in structures:
        if s.identity is not None and assignment[offset + s.identity] == world.reserved_id:
            return False
        offset += s.order
    return True


def written(world: World, structures: list, assignment: tuple[int, ...]) -> np.ndarray:
    table = np.full((world.n_variables, world.n_variables), -1, dtype=np.int8)
    offset = 0
    for s in structures:
        names = np.array(assignment[offset : offset + s.order])
        table[np.ix_(names, names)] = names[s.table]
        offset += s.order
    return table


def joint_weights(facts: np.ndarray, x: int, y: int, world: World, query: str) -> list[Fraction]:
    """P(context, query pair, answer z) for every z, summed list by list."""
    weights = [Fraction(0)] * world.n_variables
    hidden = 0 if query == "train" else (1 if x == y else 2)
    if hidden and any((a, b) in ((x, y), (y, x)) for a, b, _ in facts):
        return weights
    for p, cells, tables in all_tables(world):
        if len(facts) and cells == hidden:
            continue
        holds = np.ones(len(tables), dtype=bool)
        for a, b, c in facts:
            holds &= tables[:, a, b] == c
        likelihood = Fraction(1, (cells - hidden) ** len(facts) * cells) if len(facts) else Fraction(1, cells)
        answers = tables[holds, x, y]
        for z, n in enumerate(np.bincount(answers[answers >= 0], minlength=world.n_variables)):
            weights[z] += p * likelihood * int(n)
    return weights


def evidence(facts: np.ndarray, world: World) -> Fraction:
    """P(context) where every fact is drawn independently."""
    total = Fraction(0)
    for p, cells, tables in all_tables(world):
        holds = np.ones(len(tables), dtype=bool)
        for a, b, c in facts:
            holds &= tables[:, a, b] == c
        total += p * int(holds.sum()) / Fraction(cells) ** len(facts)
    return total


def brute_force_posterior(facts: np.ndarray, x: int, y: int, world: World, query: str) -> list[Fraction]:
    weights = joint_weights(facts, x, y, world, query)
    total = sum(weights)
    return [weight / total if total else Fraction(0) for weight in weights]
