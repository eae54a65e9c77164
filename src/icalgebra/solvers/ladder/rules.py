"""The ladder's rules, slow and obvious. All see what was known at the beginning of a round, so the round in which a
product appears is its depth.

The rungs, each with the rules of those below:

    chain        identity, inverse, associate (an outer product), cancel: what row and column leave
    latin        row, column: the one place that is left for a member
    associative  (ab)c = a(bc) with any one part unknown, also to exclude answers; no second identity
    split        a possible answer is excluded if it leads to a contradiction on `associative`

`cancel`, `row` and `column` know which variables can belong to the query's structure at all (membership.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from icalgebra.solvers.ladder.deductions import ASSOCIATIVE, LATIN, Deductions, Record, Triple, shows_no_identity
from icalgebra.solvers.ladder.proofs import Kind


def run(known: Deductions, goal: tuple[int, int] | None = None, depth: int | None = None) -> None:
    """Rounds until the goal is known, a conflict is found, or nothing new follows. depth: of the goal, if known."""
    rounds = 0
    while known.conflict is None and (goal is None or goal not in known.products):
        rounds += 1
        known.only = goal if rounds == depth else None
        if not one_round(known):
            break


def one_round(known: Deductions) -> bool:
    """Apply all rules once; whether anything new was found."""
    new: dict[tuple[str, tuple[int, ...]], Record] = {}
    for record in consequences(known):
        if record.kind == "contradiction":
            known.conflict = record
            return True
        new.setdefault((record.kind, record.variables), record)
    for record in new.values():
        if record.kind == "identity":
            known.identities[record.variables[0]] = record
        else:
            known.add(record)
    if new:
        known.prepare()
    return bool(new)


def refute(known: Deductions, x: int, y: int, z: int) -> bool:
    """Exclude xy=z if it leads to a contradiction; whether it does."""
    case = known.copy()
    case.only = None
    case.add(Record("product", (x, y, z), "assume"))
    if case.conflict is None:
        case.prepare()
        run(case)
    if case.conflict is not None:
        known.add(Record("not_product", (x, y, z), "refute", (case.conflict,)))
    return case.conflict is not None


def consequences(known: Deductions) -> Iterator[Record]:
    """All that the rung's rules give in one application."""
    yield from by_identity(known)
    yield from by_inverse(known)
    yield from by_association(known)
    yield from by_cancellation(known)
    if known.rung >= LATIN:
        yield from by_place(known)
    if known.rung >= ASSOCIATIVE:
        yield from by_association_inside(known)
    if known.rung >= ASSOCIATIVE and known.only is None:
        yield from by_identity_left(known)
        yield from by_inverse_excluded(known)
        yield from by_association_excluded(known)


def by_identity(known: Deductions) -> Iterator[Record]:
    """ex = xe = x."""
    for e, shown in known.identities.items():
        for x in known.members if e in known.members else ():
            for pair in ((e, x), (x, e)):
                if known.wants(*pair) and known.answer(*pair) != x:
                    link = () if x == e else (known.together(e, x),)
                    yield Record("product", (*pair, x), "identity", (shown, *link))


def by_inverse(known: Deductions) -> Iterator[Record]:
    """ab = e gives ba = e."""
    for a, b, e, record in known.own_products():
        if e in known.identities:
            yield from known.new_product(b, a, e, "inverse", record, known.identities[e])


def association_parts(known: Deductions) -> Iterator[tuple[Record, Record, int, int, int, int, int]]:
    """All known ab=f and bc=g; then fc and ag are the same."""
    for a, b, f, first in known.own_products():
        for c in known.members:
            second = known.products.get((b, c))
            if second is not None:
                yield first, second, a, b, c, f, second.variables[2]


def by_association(known: Deductions) -> Iterator[Record]:
    """ab=f, bc=g: fc=h gives ag=h, and the other way round."""
    for first, second, a, _, c, f, g in association_parts(known):
        left, right = known.products.get((f, c)), known.products.get((a, g))
        if left is not None:
            yield from known.new_product(a, g, left.variables[2], "associate", first, second, left)
        if right is not None:
            yield from known.new_product(f, c, right.variables[2], "associate", first, second, right)


def by_cancellation(known: Deductions) -> Iterator[Record]:
    """xy=z, since every other variable that can belong to the structure is excluded."""
    for x in known.members:
        for y in known.members:
            skip = (x, y) in known.products or not known.wants(x, y)
            left = [] if skip else known.open(x, y)
            if not skip and len(left) < 2:
                reasons = known.reasons([(x, y, z) for z in known.possible if z not in left])
                kind: Kind = "product" if left else "contradiction"
                yield Record(kind, (x, y, *left), "cancel", (known.together(x, y, bounded=True), *reasons))


def by_place(known: Deductions) -> Iterator[Record]:
    """xy=z, since z has to stand somewhere in the row of x (the column of y) and every other place is excluded."""
    for fixed in known.members:
        for z in known.members:
            if (fixed, z) not in known.in_row:
                yield from place(known, "row", fixed, z, [(fixed, y, z) for y in known.possible])
            if (fixed, z) not in known.in_column:
                yield from place(known, "column", fixed, z, [(x, fixed, z) for x in known.possible])


def place(known: Deductions, rule: str, fixed: int, z: int, places: list[Triple]) -> Iterator[Record]:
    left = [triple for triple in places if known.why_not(*triple) is None]
    if not left or (len(left) == 1 and known.wants(*left[0][:2])):
        reasons = known.reasons([triple for triple in places if triple not in left])
        cites = (known.together(fixed, z, bounded=True), *reasons)
        yield Record("product", left[0], rule, cites) if left else Record("contradiction", (fixed, z), rule, cites)


def by_identity_left(known: Deductions) -> Iterator[Record]:
    """The structure has an identity, and every other variable that can belong to it is excluded."""
    if any(e in known.identities for e in known.members):
        return
    left = [e for e in known.possible if e not in known.no_identity]
    if len(left) < 2:
        shown = list(dict.fromkeys(known.no_identity[x] for x in known.possible if x not in left))
        for record in reversed(shown.copy()):
            fewer = [other for other in shown if other is not record]
            if all(any(shows_no_identity(other, x) for other in fewer) for x in known.possible if x not in left):
                shown = fewer
        kind: Kind = "identity" if left else "contradiction"
        cites = (known.together(known.query[0], bounded=True), *shown)
        yield Record(kind, tuple(left), "identity_left", cites)


def by_inverse_excluded(known: Deductions) -> Iterator[Record]:
    """ab ≠ e gives ba ≠ e."""
    for e in known.members:
        for a in known.members if e in known.identities else ():
            for b in known.members:
                reason = known.why_not(a, b, e)
                if reason is not None and known.why_not(b, a, e) is None:
                    yield Record("not_product", (b, a, e), "inverse", (known.identities[e], reason))


def by_association_inside(known: Deductions) -> Iterator[Record]:
    """ab=f, fc=h, ag=h gives bc=g; bc=g, ag=h, fc=h gives ab=f."""
    for a, b, f, first in known.own_products():
        for c in known.members:
            outer = known.products.get((f, c))
            other = None if outer is None else known.in_row.get((a, outer.variables[2]))
            if outer is not None and other is not None:
                yield from known.new_product(b, c, other.variables[1], "associate", first, outer, other)
    for b, c, g, second in known.own_products():
        for a in known.members:
            outer = known.products.get((a, g))
            other = None if outer is None else known.in_column.get((c, outer.variables[2]))
            if outer is not None and other is not None:
                yield from known.new_product(a, b, other.variables[0], "associate", second, outer, other)


def by_association_excluded(known: Deductions) -> Iterator[Record]:
    """If two of ab=f, bc=g and one of fc=h, ag=h … are known and another excluded, the last one is excluded."""
    for first, second, a, _, c, f, g in association_parts(known):
        for z in known.possible:
            yield from excludes(known, (f, c, z), (a, g, z), first, second)
            yield from excludes(known, (a, g, z), (f, c, z), first, second)
    for a, b, f, first in known.own_products():  # bc=g is excluded
        for c in known.members:
            for g in known.possible:
                for outer, h_side in (((f, c), (a, g)), ((a, g), (f, c))):
                    shown = known.products.get(outer)
                    if shown is not None:
                        yield from excludes(known, (*h_side, shown.variables[2]), (b, c, g), first, shown)
    for b, c, g, second in known.own_products():  # ab=f is excluded
        for a in known.members:
            for f in known.possible:
                for outer, h_side in (((f, c), (a, g)), ((a, g), (f, c))):
                    shown = known.products.get(outer)
                    if shown is not None:
                        yield from excludes(known, (*h_side, shown.variables[2]), (a, b, f), second, shown)


def excludes(known: Deductions, excluded: Triple, then: Triple, *cites: Record) -> Iterator[Record]:
    """If the one is excluded, so is the other."""
    reason = known.why_not(*excluded)
    if reason is not None and known.why_not(*then) is None and known.answer(*then[:2]) != then[2]:
        yield Record("not_product", then, "associate", (*cites, reason))
