"""Minimal pairs: two sequences that differ in one token of one fact, and so in what one mechanism answers.

    mechanism   clean fact       corrupt fact     query   clean answer   corrupt answer
    copy        …,xy=z,…         …,xy=w,…         ,xy=    z              w
    commute     …,yx=z,…         …,yx=w,…         ,xy=    z              w
    identity    …,ve=v,…         …,vx=v,…         ,xe=    x              e      e, or x, is the identity
    cancel      …,xa=b,…         …,xa=z,…         ,xy=    z              b      of the others each is ruled out once
    associate   …,fd=z,…         …,fd=w,…         ,xy=    z              w      with xg=f and gd=y in the context

Everything else is equal, so a component that carries the difference can only have it from that fact. Contexts are
natural hold-out sequences from which other evidence for the same mechanism has been removed: facts with x or e as an
operand for identity, of x's row or y's column for cancel. For associate they hold the three facts alone, repeated, fd
once: among natural facts `small` finds the answer in other ways and hardly notices the change. The fact never stands
right before the query, whose ',' would then be the one behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError, unknown
from icalgebra.interp.query_batch import QueryBatch
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import ANSWER, FACT_LENGTH, LEFT, RIGHT, facts_of
from icalgebra.language.world import World
from icalgebra.randomness import numpy_generator
from icalgebra.statistics import CHOOSING, JUDGING

if TYPE_CHECKING:
    from jaxtyping import Int, UInt8

Fact = tuple[int, int, int]
CANDIDATES = 8  # sequences drawn per wanted pair: not every query suits every mechanism


@dataclass(frozen=True, eq=False)
class MinimalPairs:
    """Rows of tokens that differ in one fact; the answers that the mechanism gives; the place of that fact."""

    mechanism: str
    clean: UInt8[np.ndarray, "n T"]
    corrupt: UInt8[np.ndarray, "n T"]
    clean_answer: Int[np.ndarray, " n"]
    corrupt_answer: Int[np.ndarray, " n"]
    place: Int[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, rows: slice | np.ndarray) -> MinimalPairs:
        arrays = {name: value[rows] for name, value in vars(self).items() if name != "mechanism"}
        return MinimalPairs(self.mechanism, **arrays)

    @property
    def clean_prompts(self) -> UInt8[np.ndarray, "n prompt"]:
        return self.clean[:, :-1]

    @property
    def corrupt_prompts(self) -> UInt8[np.ndarray, "n prompt"]:
        return self.corrupt[:, :-1]

    def reversed(self) -> MinimalPairs:
        """Clean and corrupt exchanged: what was noise is now the signal."""
        return MinimalPairs(
            self.mechanism, self.corrupt, self.clean, self.corrupt_answer, self.clean_answer, self.place
        )

    def halves(self) -> tuple[MinimalPairs, MinimalPairs]:
        """To choose on one and score on the other."""
        return self[CHOOSING], self[JUDGING]


@dataclass(frozen=True)
class _Edited:
    """One sequence's context as a list of facts, and the fact that differs."""

    context: list[Fact]
    place: int
    clean: Fact
    corrupt: Fact
    answers: tuple[int, int]


def minimal_pairs(
    mechanism: str, n: int = 100, n_facts: int = 200, seed: int = 0, world: World | None = None
) -> MinimalPairs:
    """n pairs of sequences of n_facts facts, the query included."""
    if mechanism not in _EDITS:
        raise unknown("mechanism", mechanism, _EDITS)
    world = world or World()
    distribution, edit = _EDITS[mechanism]
    stream = f"minimal pairs/{mechanism}"
    drawn = sample(distribution, CANDIDATES * n, n_facts, seed, world, stream=stream)
    random = numpy_generator(seed, f"{stream}/edits")
    batch, rows, found = QueryBatch.from_sequences(drawn), [], []
    for row in range(len(drawn)):
        edited = edit(_Query(drawn, batch, row), random)
        if edited is not None:
            rows.append(row)
            found.append(edited)
        if len(found) == n:
            break
    if len(found) < n:
        names = ", ".join(structure.name for structure in world.pool)
        raise InputError(
            f"only {len(found)} of {n} {mechanism} pairs of {n_facts} facts turned up in a world of {names}; "
            "ask for fewer pairs, or for more facts"
        )
    return _assembled(mechanism, drawn.tokens[rows], found)


def _assembled(mechanism: str, tokens: np.ndarray, found: list[_Edited]) -> MinimalPairs:
    sides = []
    for name in ("clean", "corrupt"):
        changed = tokens.copy()
        for row, edited in zip(changed, found):
            facts = [*edited.context]
            facts[edited.place] = getattr(edited, name)
            context = np.array(facts, dtype=np.uint8)
            for slot, column in zip((LEFT, RIGHT, ANSWER), context.T):
                row[slot : len(facts) * FACT_LENGTH : FACT_LENGTH] = column
        sides.append(changed)
    answers = np.array([edited.answers for edited in found], dtype=np.int64)
    for side, column in zip(sides, answers.T):
        side[:, -1] = column
    place = np.array([edited.place for edited in found], dtype=np.int64)
    return MinimalPairs(mechanism, sides[0], sides[1], answers[:, 0], answers[:, 1], place)


class _Query:
    """One hold-out sequence: its facts, and the structure of its query as a table over variables."""

    def __init__(self, drawn: Sequences, batch: QueryBatch, row: int) -> None:
        facts: list[Fact] = [(int(x), int(y), int(z)) for x, y, z in facts_of(drawn.tokens[row : row + 1])[0]]
        self.context, (self.x, self.y, self.z) = facts[:-1], facts[-1]
        self.identity = int(batch.identity[row])
        self.members = [int(variable) for variable in np.flatnonzero(batch.members[row])]
        self.product = _table_of(drawn, row, self.x)

    @property
    def has_identity(self) -> bool:
        return self.identity in (self.x, self.y)

    def others(self, *excluded: int) -> list[int]:
        return [member for member in self.members if member not in excluded]


def _table_of(drawn: Sequences, row: int, variable: int) -> dict[tuple[int, int], int]:
    """The products of the structure that a variable belongs to, in variables."""
    variables, begin = drawn.assignment[row], 0
    element = int(np.flatnonzero(variables == variable)[0])
    for place in drawn.structures[row]:
        structure = drawn.world.pool[place]
        if element < begin + structure.order:
            own = [int(v) for v in variables[begin : begin + structure.order]]
            return {(own[i], own[j]): own[structure.table[i, j]] for i in range(len(own)) for j in range(len(own))}
        begin += structure.order
    raise AssertionError("every variable of a query has an element")


def _choice(random: np.random.Generator, items: list[int]) -> int:
    return items[int(random.integers(len(items)))]


def _refilled(context: list[Fact], spoiled: Callable[[Fact], bool], random: np.random.Generator) -> list[Fact] | None:
    """The context with spoiled facts replaced by copies of others; None where too little is left of it."""
    sound = [fact for fact in context if not spoiled(fact)]
    if 2 * len(sound) < len(context):
        return None
    return [fact if not spoiled(fact) else sound[int(random.integers(len(sound)))] for fact in context]


def _copy(query: _Query, random: np.random.Generator) -> _Edited | None:
    x, y, z = query.x, query.y, query.z
    if query.has_identity:
        return None
    w = _choice(random, query.others(z))
    place = int(random.integers(len(query.context) - 1))
    return _Edited(query.context, place, (x, y, z), (x, y, w), (z, w))


def _commute(query: _Query, random: np.random.Generator) -> _Edited | None:
    x, y, z = query.x, query.y, query.z
    if query.has_identity or x == y or query.product[y, x] != z:
        return None
    w = _choice(random, query.others(z))
    place = int(random.integers(len(query.context) - 1))
    return _Edited(query.context, place, (y, x, z), (y, x, w), (z, w))


def _identity(query: _Query, random: np.random.Generator) -> _Edited | None:
    """The query has the identity e and another operand o; one fact says which of the two leaves v as it is."""
    if not query.has_identity or query.x == query.y:
        return None
    e = query.identity
    o = query.y if query.x == e else query.x
    if not query.others(e, o):
        return None
    context = _refilled(query.context, lambda fact: bool({e, o} & {fact[0], fact[1]}), random)
    if context is None:
        return None
    v = _choice(random, query.others(e, o))
    sides = ((v, e, v), (v, o, v)) if random.random() < 0.5 else ((e, v, v), (o, v, v))
    return _Edited(context, int(random.integers(len(context) - 1)), *sides, (o, e))


def _cancel(query: _Query, random: np.random.Generator) -> _Edited | None:
    """Every member but z is ruled out by exactly one kind of fact; the fact that rules out b comes once."""
    x, y, z = query.x, query.y, query.z
    if query.has_identity:
        return None
    plan: list[Fact] = []
    for b in query.others(z):
        row = [(x, a, b) for a in query.members if query.product[x, a] == b and a != y]
        column = [(a, y, b) for a in query.members if query.product[a, y] == b and a != x]
        possible = [fact for fact in row + column if {fact[0], fact[1]} != {x, y}]
        if not possible:
            return None
        plan.append(possible[int(random.integers(len(possible)))])
    context = _refilled(query.context, lambda fact: fact[0] == x or fact[1] == y, random)
    if context is None or len(plan) + 1 > len(context) // 2:
        return None
    changed = plan.pop(int(random.integers(len(plan))))
    free = [place for place, fact in enumerate(query.context[:-1]) if fact[0] == x or fact[1] == y]
    places = [int(p) for p in random.permutation(len(context) - 1)]
    places.sort(key=lambda place: place not in free)  # where such facts stood, first
    used = max(len(plan) + 1, len(free))
    for i, place in enumerate(places[1:used]):
        context[place] = plan[i % len(plan)] if plan else context[place]
    b, corrupt, rest = changed[2], (changed[0], changed[1], z), [*context[: places[0]], *context[places[0] + 1 :]]
    decided = _candidates([*rest, changed], x, y) == {z} and _candidates([*rest, corrupt], x, y) == {b}
    return _Edited(context, places[0], changed, corrupt, (z, b)) if decided else None


def _candidates(context: list[Fact], x: int, y: int) -> set[int]:
    """The closure set of the query minus its cancellation set."""
    closure = {variable for fact in context if {x, y} & set(fact) for variable in fact}
    return closure - {answer for left, right, answer in context if left == x or right == y}


def _associate(query: _Query, random: np.random.Generator) -> _Edited | None:
    """Of the triples (xg=f, gd=y, fd=z) in the context one is chosen; its last fact then comes once."""
    x, y, z = query.x, query.y, query.z
    facts = set(query.context)
    triples = [
        ((x, g, f), (g, d, y), (f, d, z))
        for (left, g, f) in facts if left == x
        for (other, d, answer) in facts if other == g and answer == y and (f, d, z) in facts
    ]  # fmt: skip
    triples = [triple for triple in triples if triple[2] not in triple[:2]]
    if query.has_identity or not triples:
        return None
    first, second, last = triples[int(random.integers(len(triples)))]
    places = [place for place, fact in enumerate(query.context[:-1]) if fact == last]
    if not places:
        return None
    place = places[int(random.integers(len(places)))]
    spare = [fact for fact in query.context if fact != last]
    context = [fact if fact != last or i == place else spare[int(random.integers(len(spare)))]
               for i, fact in enumerate(query.context)]  # fmt: skip
    if first not in context or second not in context:
        return None
    w = _choice(random, query.others(z))
    return _Edited(context, place, last, (last[0], last[1], w), (z, w))


_EDITS: dict[str, tuple[str, Callable[[_Query, np.random.Generator], _Edited | None]]] = {
    "copy": ("holdout", _copy),
    "commute": ("holdout", _commute),
    "identity": ("holdout", _identity),
    "cancel": ("holdout", _cancel),
    "associate": ("associate", _associate),
}
