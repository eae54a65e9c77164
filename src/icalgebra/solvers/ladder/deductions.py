"""What is known about the query's structure, slow and obvious, with a record of each deduction.

A record is a statement with the rule and the records that it follows from, so any record can be turned into a proof.
rules.py has the rules; the compiled version is in kernel_state.py, and the tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from icalgebra.language.world import World
from icalgebra.solvers.ladder.membership import members_of
from icalgebra.solvers.ladder.proofs import Kind

RUNGS = ("chain", "latin", "associative", "split")
CHAIN, LATIN, ASSOCIATIVE, SPLIT = range(4)
Triple = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Record:
    """A statement, by its kind and variables (for members: those that belong together), and what it follows from."""

    kind: Kind
    variables: tuple[int, ...]
    rule: str
    cites: tuple[Record, ...] = ()
    within: frozenset[int] = frozenset()


def shows_no_identity(record: Record, x: int) -> bool:
    """Whether a record shows that x is not the identity: it says so, or xy or yx is not y for some y."""
    if len(record.variables) == 1:
        return record.kind == "not_identity" and record.variables == (x,)
    p, q, r = record.variables
    if record.kind == "product":
        return (p == x and r != q) or (q == x and r != p)
    return (p == x and r == q) or (q == x and r == p)


class Deductions:
    """What is known about the query's structure, on one rung."""

    def __init__(self, facts: list[Triple], query: tuple[int, int], world: World, rung: int) -> None:
        self.query, self.world, self.rung = query, world, rung
        self.products: dict[tuple[int, int], Record] = {}
        self.in_row: dict[tuple[int, int], Record] = {}  # left operand and answer -> product
        self.in_column: dict[tuple[int, int], Record] = {}  # right operand and answer -> product
        self.excluded: dict[Triple, Record] = {}
        self.identities: dict[int, Record] = {}
        self.no_identity: dict[int, Record] = {}
        self.conflict: Record | None = None
        self.only: tuple[int, int] | None = None
        self.memberships: dict[tuple[tuple[int, ...], bool], Record] = {}
        for fact in dict.fromkeys(facts):
            self.add(Record("product", fact, "fact"))
        self.prepare()

    def copy(self) -> Deductions:
        """An independent copy, for a case distinction."""
        other = object.__new__(Deductions)
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if isinstance(value, dict) else value)
        return other

    # --- what is known ----------------------------------------------------------------------------------------------

    def add(self, record: Record) -> None:
        """Add a product or an excluded product; a clash with what is known is the conflict."""
        x, y, z = record.variables
        if record.kind == "not_product":
            clash = self.products.get((x, y))
            if clash is not None and clash.variables[2] == z:
                self.conflict = self.conflict or Record("contradiction", (), "clash", (clash, record))
            self.excluded.setdefault((x, y, z), record)
            if z == y:
                self.no_identity.setdefault(x, record)
            if z == x:
                self.no_identity.setdefault(y, record)
            return
        reason = self.why_not(x, y, z)
        if reason is not None:
            self.conflict = self.conflict or Record("contradiction", (), "clash", (record, reason))
        self.products.setdefault((x, y), record)
        self.in_row.setdefault((x, z), record)
        self.in_column.setdefault((y, z), record)
        if z == y:
            self.identities.setdefault(x, Record("identity", (x,), "identity_shown", (record,)))
        else:
            self.no_identity.setdefault(x, record)
        if z == x:
            self.identities.setdefault(y, Record("identity", (y,), "identity_shown", (record,)))
        else:
            self.no_identity.setdefault(y, record)

    def prepare(self) -> None:
        """Before a round: who belongs to the structure, and what the identity being known says about the others."""
        self.memberships = {}
        triples = [record.variables for record in self.products.values()]
        found = members_of(triples, self.query, self.world)
        if found is None:
            products = self.fewest_products(lambda found: found is None)
            self.conflict = self.conflict or Record("contradiction", (), "members", products)
            return
        self.members, self.possible = (sorted(part) for part in found)
        if self.rung < ASSOCIATIVE:
            return
        reserved = self.world.reserved_id
        if reserved >= 0:
            self.no_identity.setdefault(reserved, Record("not_identity", (reserved,), "reserved"))
        for e in self.members:
            if e in self.identities:
                for x in self.members:
                    if x != e and x not in self.no_identity:
                        cites = (self.identities[e], self.together(e, x))
                        self.no_identity[x] = Record("not_identity", (x,), "one_identity", cites)

    def why_not(self, x: int, y: int, z: int) -> Record | None:
        """A record that excludes xy=z by itself, if there is one."""
        for record in (
            self.products.get((x, y)), self.in_row.get((x, z)), self.in_column.get((y, z)),
            self.excluded.get((x, y, z)),
            self.no_identity.get(x), self.no_identity.get(y), self.identities.get(x), self.identities.get(y),
        ):  # fmt: skip
            if record is not None and self.rules_out(record, x, y, z):
                return record
        return None

    def rules_out(self, record: Record | None, x: int, y: int, z: int) -> bool:
        """Whether a record excludes xy=z by itself: by pair, row, column, or what x or y being the identity means."""
        if record is None:
            return False
        if record.kind == "product":
            p, q, r = record.variables
            if (p == x) + (q == y) + (r == z) == 2:
                return True
        if record.kind == "not_product" and record.variables == (x, y, z):
            return True
        if self.rung < ASSOCIATIVE:
            return False
        if record.kind == "identity":
            return (record.variables == (x,) and z != y) or (record.variables == (y,) and z != x)
        return (z == y and shows_no_identity(record, x)) or (z == x and shows_no_identity(record, y))

    def own_products(self) -> Iterator[tuple[int, int, int, Record]]:
        """The known products of the query's structure."""
        for (x, y), record in self.products.items():
            if x in self.members:
                yield x, y, record.variables[2], record

    def answer(self, x: int, y: int) -> int | None:
        record = self.products.get((x, y))
        return None if record is None else record.variables[2]

    def new_product(self, x: int, y: int, z: int, rule: str, *cites: Record) -> Iterator[Record]:
        """The record of a product, unless it is known or not asked for."""
        if self.wants(x, y) and self.answer(x, y) != z:
            yield Record("product", (x, y, z), rule, cites)

    def wants(self, x: int, y: int) -> bool:
        """In the last round of a proof only one pair is asked for, and nothing else needs a record."""
        return self.only is None or self.only == (x, y)

    def open(self, x: int, y: int) -> list[int]:
        """The possible answers of a pair that nothing excludes."""
        return [z for z in self.possible if self.why_not(x, y, z) is None]

    def reasons(self, excluded: list[Triple]) -> list[Record]:
        """Why all these products are excluded, in few records: one that excludes several makes others superfluous."""
        kept = list(dict.fromkeys(self.why_not(*triple) for triple in excluded))
        for record in reversed(kept.copy()):
            fewer = [other for other in kept if other is not record]
            if all(any(self.rules_out(other, *triple) for other in fewer) for triple in excluded):
                kept = fewer
        return [record for record in kept if record is not None]

    def together(self, *variables: int, bounded: bool = False) -> Record:
        """That these variables belong to the query's structure; bounded: and which variables can.

        It cites no more products than needed.
        """
        key = (tuple(dict.fromkeys(variables)), bounded)
        if key not in self.memberships:
            within = frozenset(self.possible)

            def holds(found: tuple[frozenset[int], frozenset[int]] | None) -> bool:
                return found is not None and found[0].issuperset(variables) and (not bounded or found[1] <= within)

            limit = within if bounded else frozenset()
            self.memberships[key] = Record("members", key[0], "members", self.fewest_products(holds), limit)
        return self.memberships[key]

    def fewest_products(
        self, holds: Callable[[tuple[frozenset[int], frozenset[int]] | None], bool]
    ) -> tuple[Record, ...]:
        """Products whose links suffice: of those that link anything new, one by one is dropped, the last first."""
        kept: list[Record] = []
        component = {v: {*self.query} for v in self.query}
        for record in self.products.values():
            parts = [component.get(v, {v}) for v in record.variables]
            joined = set().union(*parts)
            if any(v not in component or component[v] != joined for v in record.variables):
                kept.append(record)
                component.update(dict.fromkeys(joined, joined))
        for record in reversed(kept.copy()):
            fewer = [other for other in kept if other is not record]
            if holds(members_of([other.variables for other in fewer], self.query, self.world)):
                kept = fewer
        return tuple(kept)
