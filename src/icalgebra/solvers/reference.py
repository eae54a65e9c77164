"""The five mechanisms, slow and obvious: text in, answers with their proofs out.

A context is a list of facts "xyz" (meaning xy=z), a query is "xy". Every solver returns a dictionary from each answer
it finds to the facts that prove it. It is empty where the mechanism does not apply; several answers are a tie.
The tests compare the compiled solvers in kernels.py with these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

Fact = str  # left, right, answer
Answers = dict[str, tuple[Fact, ...]]


def read(text: str) -> tuple[list[Fact], str, str]:
    """',ab=c,de=f' to its context ['abc'], query 'de' and answer 'f' ('' where the text ends in '=')."""
    *context, query = [fact.replace("=", "") for fact in text.strip().lstrip(",").split(",")]
    return context, query[:2], query[2:]


def copy(context: list[Fact], query: str) -> Answers:
    """The query occurs in the context."""
    return _first_of_each((fact[2], (fact,)) for fact in context if fact[:2] == query)


def commute(context: list[Fact], query: str) -> Answers:
    """The reverse of the query occurs in the context."""
    return _first_of_each((fact[2], (fact,)) for fact in context if fact[:2] == query[::-1])


def identity(context: list[Fact], query: str) -> Answers:
    """A fact shows that one operand is the identity (eg=g or ge=g), so the other operand is the answer."""
    x, y = query[0], query[1]
    found = []
    for fact in context:
        left_identity = fact[0] if fact[1] == fact[2] else ""
        right_identity = fact[1] if fact[0] == fact[2] else ""
        found += [(y, (fact,))] if x in (left_identity, right_identity) else []
        found += [(x, (fact,))] if y in (left_identity, right_identity) else []
    return _first_of_each(found)


def closure_set(context: list[Fact], query: str) -> set[str]:
    """All variables of the facts that contain an operand of the query in any slot."""
    return {variable for fact in context if set(fact) & set(query) for variable in fact}


def cancellation_set(context: list[Fact], query: str) -> set[str]:
    """The answers of the facts with the query's left or right operand in the same slot; none can be its answer."""
    return {fact[2] for fact in context if fact[0] == query[0] or fact[1] == query[1]}


def cancel(context: list[Fact], query: str) -> Answers:
    """Closure set − cancellation set leaves one candidate."""
    candidates = closure_set(context, query) - cancellation_set(context, query)
    if len(candidates) != 1:
        return {}
    (answer,) = candidates
    ruled_out_by: dict[str, Fact] = {}
    for fact in context:
        if fact[0] == query[0] or fact[1] == query[1]:
            ruled_out_by.setdefault(fact[2], fact)
    shown_by = next(fact for fact in context if answer in fact and set(fact) & set(query))
    return {answer: tuple(dict.fromkeys([shown_by, *ruled_out_by.values()]))}


def associate(context: list[Fact], query: str) -> Answers:
    """Three facts xg=f, gd=y, fd=z: then xy = x(gd) = (xg)d = fd = z. Or dy=f, gd=x, gf=z: xy = (gd)y = g(dy) = z."""
    x, y = query[0], query[1]
    found = []
    for first in context:
        for second in context:
            g, d = second[0], second[1]
            if first[:2] == x + g and second[2] == y:
                found += [(third[2], (first, second, third)) for third in context if third[:2] == first[2] + d]
            if first[:2] == d + y and second[2] == x:
                found += [(third[2], (first, second, third)) for third in context if third[:2] == g + first[2]]
    return _first_of_each(found)


SOLVERS: dict[str, Callable[[list[Fact], str], Answers]] = {
    "copy": copy,
    "commute": commute,
    "identity": identity,
    "cancel": cancel,
    "associate": associate,
}


def proof(mechanism: str, text: str) -> Answers:
    """The answers of one mechanism to the last query of a text, each with the facts that prove it."""
    context, query, _ = read(text)
    return SOLVERS[mechanism](context, query)


def _first_of_each(found: Iterable[tuple[str, tuple[Fact, ...]]]) -> Answers:
    """The first proof of each answer."""
    answers: Answers = {}
    for answer, facts in found:
        answers.setdefault(answer, facts)
    return answers
