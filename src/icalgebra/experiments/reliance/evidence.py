"""The facts that each mechanism's answer rests on: without them the mechanism has no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from icalgebra.solvers import MECHANISMS
from icalgebra.solvers.reference import SOLVERS


def evidence(facts: Sequence[str], query: str, answer: str) -> dict[str, tuple[int, ...]]:
    """For every mechanism that gives this answer and no other, the facts (indices; facts are 'abc') to take away.

    copy, commute: all facts of the pair or its reverse; identity: all that show which operand is the identity; cancel:
    the whole row and column, its cancellation set; associate: few facts that break every triple with this answer.
    """
    found = {}
    for name in MECHANISMS:
        if set(SOLVERS[name](list(facts), query)) == {answer}:
            found[name] = _needed(name, facts, query, answer)
    return found


def _needed(name: str, facts: Sequence[str], query: str, answer: str) -> tuple[int, ...]:
    x, y = query[0], query[1]
    if name == "copy":
        return tuple(i for i, fact in enumerate(facts) if fact[:2] == query)
    if name == "commute":
        return tuple(i for i, fact in enumerate(facts) if fact[:2] == y + x)
    if name == "identity":
        identity = y if answer == x else x
        both = {x, y} if x == y else {identity}
        return tuple(i for i, fact in enumerate(facts) if _shows(fact) & both)
    if name == "cancel":
        return tuple(i for i, fact in enumerate(facts) if fact[0] == x or fact[1] == y)
    return _break_triples(facts, query, answer)


def _shows(fact: str) -> set[str]:
    """The variables that a fact shows to be an identity."""
    return ({fact[0]} if fact[1] == fact[2] else set()) | ({fact[1]} if fact[0] == fact[2] else set())


def _break_triples(facts: Sequence[str], query: str, answer: str) -> tuple[int, ...]:
    """Take away the fact that is in most triples, until none is left; repeats of a fact go with it."""
    gone: set[str] = set()
    while True:
        left = [fact for fact in dict.fromkeys(facts) if fact not in gone]
        triples = all_triples(left, query, answer)
        if not triples:
            return tuple(i for i, fact in enumerate(facts) if fact in gone)
        gone.add(Counter(fact for triple in triples for fact in triple).most_common(1)[0][0])


def all_triples(facts: Sequence[str], query: str, answer: str) -> list[tuple[str, ...]]:
    """xg=f, gd=y, fd=answer; and dy=f, gd=x, gf=answer.

    In the order of the context, and not as sets: among facts in equally many triples the first one found is taken
    away, and a set of texts has another order in every process.
    """
    x, y = query[0], query[1]
    known = {fact[:2]: fact for fact in facts}
    found = []
    for second in facts:
        g, d = second[0], second[1]
        first = known.get(x + g) if second[2] == y else None
        third = known.get(first[2] + d) if first else None
        found += [tuple(dict.fromkeys((first, second, third)))] if first and third and third[2] == answer else []
        first = known.get(d + y) if second[2] == x else None
        third = known.get(g + first[2]) if first else None
        found += [tuple(dict.fromkeys((first, second, third)))] if first and third and third[2] == answer else []
    return found
