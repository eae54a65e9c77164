"""Why an answer is entailed, and why a context is impossible."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from icalgebra.language.vocabulary import ANSWER, FACT_LENGTH, MECHANISMS
from icalgebra.language.world import World
from icalgebra.oracle.arrays import multisets, oracle_arrays
from icalgebra.oracle.posteriors import Query, classify_queries, kind_names, query_mode, split_query
from icalgebra.oracle.rows import multiset_log_weights
from icalgebra.oracle.threads import parallel_rows
from icalgebra.solvers.reference import proof as mechanism_proof


@dataclass(frozen=True)
class Entailment:
    """An entailed answer, a minimal set of facts that force it, and the mixtures that are still possible."""

    answer: str
    forced_by: list[str]
    mixtures: list[tuple[tuple[str, ...], float]]


@dataclass(frozen=True)
class Impossibility:
    """The first fact that the world cannot produce after those before it. fact: its number, from 1; None: the query."""

    fact: int | None
    text: str
    reason: str
    advice: str


def likely_query(text: str) -> Query:
    """How the last query of a text was probably drawn: train where it or its reverse occurs in the context."""
    *context, last = text[1:].split(",")
    return "train" if any(fact[:2] in (last[:2], last[1::-1]) for fact in context) else "holdout"


def remaining_mixtures(
    tokens: np.ndarray, world: World, query: Query = "holdout"
) -> list[tuple[tuple[str, ...], float]]:
    """The multisets of structures that are still possible, with their posteriors, likeliest first; for one prompt."""
    facts, queries = split_query(tokens, world)
    found = list(multisets(world))
    rows, kinds = np.empty((1, len(found))), np.empty(1, dtype=np.int64)
    parallel_rows(multiset_log_weights, kinds, oracle_arrays(world), facts, queries, query_mode(query), rows, kinds)
    kind_names(kinds)  # raises where the context cannot be counted
    log_weights = rows[0]
    if not np.isfinite(log_weights).any():
        return []
    weights = np.exp(log_weights - log_weights.max())
    order = [int(m) for m in np.argsort(-weights, kind="stable") if np.isfinite(log_weights[m])]
    return [(tuple(world.pool[i].name for i in found[m]), float(weights[m] / weights.sum())) for m in order]


def explain_entailed(tokens: np.ndarray, world: World, query: Query = "holdout") -> Entailment | None:
    """Why the answer to one prompt is entailed; None where it is not."""
    prompt = np.atleast_2d(tokens)
    classified = classify_queries(prompt, world, query)
    if classified.kinds[0] != "entailed":
        return None
    answer = world.vocabulary.variables[int(classified.probabilities[0].argmax())]
    return Entailment(answer, forcing_facts(prompt, world, query), remaining_mixtures(prompt, world, query))


def forcing_facts(prompt: np.ndarray, world: World, query: Query) -> list[str]:
    """A minimal set of facts that force the answer; where the facts of one mechanism do, part of these.

    Facts are dropped one by one, the last first, if they can be. Starting from all facts, this also drops a fact that
    states the query itself, and leaves five others.
    """
    *texts, last = _fact_texts(prompt, world)

    def force(facts: list[str]) -> bool:
        tokens = world.vocabulary.encode("".join([*facts, last]))
        return classify_queries(tokens[None], world, query).kinds[0] == "entailed"

    every = list(dict.fromkeys(texts))
    proofs = [proof for name in MECHANISMS for proof in mechanism_proof(name, "".join([*texts, last])).values()]
    one_step = ([fact for fact in every if fact.replace("=", "")[1:] in proof] for proof in proofs)
    kept = next(filter(force, one_step), every)
    for fact in reversed(kept.copy()):
        fewer = [other for other in kept if other != fact]
        if force(fewer):
            kept = fewer
    return kept


def explain_impossible(tokens: np.ndarray, world: World, query: Query = "holdout") -> Impossibility | None:
    """Which fact of one prompt the world cannot produce, why, and what to do; None where the prompt is possible."""
    prompt = np.atleast_2d(tokens)
    if classify_queries(prompt, world, query).kinds[0] != "impossible":
        return None
    facts, queries = split_query(prompt, world)
    texts = _fact_texts(prompt, world)
    pair = set(queries[0])
    held_out = [i for i, (x, y, _) in enumerate(facts[0]) if {x, y} == pair] if query == "holdout" else []
    if held_out:
        return Impossibility(
            held_out[0] + 1,
            texts[held_out[0]],
            "the query or its reverse occurs in the context, so it was not held out",
            "ask for the posterior of a training query (query train)",
        )
    first = _first_impossible(texts[:-1], world)
    text = texts[-1] if first is None else texts[first]
    return Impossibility(
        None if first is None else first + 1, text, _reason(texts, first), _advice(prompt, world, query)
    )


def _first_impossible(facts: list[str], world: World) -> int | None:
    """The first fact after which no assignment is left.

    A possible context always has an answer to the square of a variable that it contains, so that query is asked.
    """
    for i, fact in enumerate(facts):
        square = f",{fact[1]}{fact[1]}="
        tokens = world.vocabulary.encode("".join([*facts[: i + 1], square]))
        if classify_queries(tokens[None], world, "train").kinds[0] == "impossible":
            return i
    return None


def _reason(texts: list[str], first: int | None) -> str:
    if first is None:
        return "the context is possible, but the query's variables cannot belong to one structure"
    other = [text for text in texts[:first] if text[:ANSWER] == texts[first][:ANSWER]]
    if other:
        return f"the same pair had another answer before ({other[0]})"
    return "no choice of structures and assignment satisfies it together with the facts before it"


def _advice(prompt: np.ndarray, world: World, query: Query) -> str:
    if world.reserved is not None:
        open_world = replace(world, reserved=None)
        if classify_queries(prompt, open_world, query).kinds[0] != "impossible":
            return f"it makes the reserved variable {world.reserved!r} an identity; use a world with reserved none"
    return "check this fact, or name the structures that it comes from"


def _fact_texts(prompt: np.ndarray, world: World) -> list[str]:
    """The facts of one prompt, each with its comma; the query ends in '='."""
    text = world.vocabulary.decode(prompt)[0]
    return [text[i : i + FACT_LENGTH] for i in range(0, len(text), FACT_LENGTH)]
