"""Which variables can belong to the query's structure? All that the sizes of the world's structures tell.

Facts link variables to components; the query links its two operands. A component lies in one structure, a structure
may hold several, and the structures of a sequence have orders that the world allows together. So components are packed
into structures:

    orders 3 … 10, 16 variables; components of 9 and 5 members: the first lies in a structure of 9 or 10, and
    the second does not fit into the same one
"""

from __future__ import annotations

from functools import lru_cache

from icalgebra.language.world import World

Orders = tuple[int, ...]


@lru_cache(maxsize=32)
def order_lists(world: World) -> tuple[Orders, ...]:
    """The orders that can occur together in one sequence, each list sorted."""
    lists = {tuple(sorted(world.pool[i].order for i in drawn)) for drawn, p in world.mixtures().items() if p > 0}
    return tuple(sorted(lists))


@lru_cache(maxsize=200_000)
def fits(sizes: Orders, room: Orders) -> bool:
    """Whether components of these sizes can be packed into structures with this much room; both sorted."""
    if not sizes:
        return True
    *smaller, largest = sizes
    for i, free in enumerate(room):
        left = tuple(sorted((*room[:i], free - largest, *room[i + 1 :])))
        if free >= largest and free not in room[:i] and fits(tuple(smaller), left):
            return True
    return False


@lru_cache(maxsize=50_000)
def joining(world: World, own: int, others: Orders) -> tuple[dict[int, tuple[bool, bool]], tuple[bool, bool]] | None:
    """For a component of `own` members beside components of other sizes (sorted): can it, and must it, share its
    structure with a component of each size, and with the variables not seen at all? None: nothing fits."""
    n_unseen = world.n_variables - own - sum(others)
    can, cannot = dict.fromkeys(others, False), dict.fromkeys(others, False)
    unseen_in = unseen_out = possible = False
    for orders in order_lists(world):
        for i, order in enumerate(orders):
            if order < own or order in orders[:i]:
                continue
            rest, free = orders[:i] + orders[i + 1 :], order - own
            if not fits(others, tuple(sorted((*rest, free)))):
                continue
            possible = True
            for size in can:
                left = list(others)
                left.remove(size)
                can[size] = can[size] or (free >= size and fits(tuple(left), tuple(sorted((*rest, free - size)))))
                cannot[size] = cannot[size] or any(
                    other >= size and fits(tuple(left), tuple(sorted((*rest[:j], other - size, *rest[j + 1 :], free))))
                    for j, other in enumerate(rest)
                )
            if n_unseen:
                unseen_in = unseen_in or (free > 0 and fits(others, tuple(sorted((*rest, free - 1)))))
                unseen_out = unseen_out or sum(orders) < world.n_variables or any(
                    other > 0 and fits(others, tuple(sorted((*rest[:j], other - 1, *rest[j + 1 :], free))))
                    for j, other in enumerate(rest)
                )  # fmt: skip
    if not possible:
        return None
    return {size: (can[size], not cannot[size]) for size in can}, (unseen_in, not unseen_out)


def components(triples: list[tuple[int, ...]], n_variables: int) -> list[int]:
    """For every variable the smallest variable linked to it; −1 if it is in none of the triples."""
    root = [-1] * n_variables

    def find(v: int) -> int:
        while root[v] != v:
            v = root[v]
        return v

    for triple in triples:
        for v in triple:
            if root[v] < 0:
                root[v] = v
        roots = sorted({find(v) for v in triple})
        for r in roots[1:]:
            root[r] = roots[0]
    return [find(v) if root[v] >= 0 else -1 for v in range(n_variables)]


def members_of(
    triples: list[tuple[int, ...]], query: tuple[int, int], world: World
) -> tuple[frozenset[int], frozenset[int]] | None:
    """The variables that surely belong to the query's structure, and all that can; None: no structures fit."""
    labels = components([*triples, query], world.n_variables)
    own = labels[query[0]]
    by_label: dict[int, list[int]] = {}
    for v, label in enumerate(labels):
        by_label.setdefault(label, []).append(v)
    unseen, inside = by_label.pop(-1, []), set(by_label.pop(own))
    found = joining(world, len(inside), tuple(sorted(len(part) for part in by_label.values())))
    if found is None:
        return None
    by_size, (unseen_can, unseen_must) = found
    surely, possibly = set(inside), set(inside)
    for part in by_label.values():
        can, must = by_size[len(part)]
        possibly |= set(part) if can else set()
        surely |= set(part) if must else set()
    possibly |= set(unseen) if unseen_can else set()
    surely |= set(unseen) if unseen_must else set()
    return frozenset(surely), frozenset(possibly)
