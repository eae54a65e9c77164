"""One sequence as the panels sequence, tables and answers show it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from icalgebra.algebra.structures import split_names
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.explorer.contract import (
    Cell,
    Drawn,
    FactPart,
    Mechanism,
    OracleAnswer,
    ProofStep,
    Rung,
    Sampled,
    SequenceAnswer,
    Shares,
    Table,
)
from icalgebra.explorer.models import Known, Library
from icalgebra.language.sequences import Sequence
from icalgebra.language.vocabulary import EQUALS, FACT_LENGTH, MECHANISMS
from icalgebra.language.world import World
from icalgebra.model.predict import on_device
from icalgebra.oracle import Query, classify_queries, explain_entailed, explain_impossible, likely_query
from icalgebra.solvers import proof, solver
from icalgebra.solvers.ladder import RUNGS, Proof, prove, rules_hold
from icalgebra.solvers.reference import cancellation_set, closure_set

MIXTURES = 5  # multisets of structures listed


def draw(known: Known, drawn: Drawn) -> Sequence:
    """The sequence that a distribution, a seed and structures give, in the model's alphabet."""
    world = known.world
    if drawn.structures.strip():
        world = replace(world, structures=split_names(drawn.structures), d2=False)
    return sample(drawn.distribution, 1, drawn.n_facts, drawn.seed, world)[0]


def sampled(known: Known, drawn: Drawn) -> Sampled:
    found = draw(known, drawn)
    kept = {name: getattr(drawn, name) for name in Drawn.model_fields}
    return Sampled(found.prompt, found.answer, found.structures, kept)


def sequence_answer(
    library: Library, name: str, text: str, query: str = "auto", drawn: Drawn | None = None
) -> SequenceAnswer:
    """Everything about a sequence that needs no look inside the model, but for its predictions."""
    known = library.known(name)
    prompts = known.prompt(text)
    text = known.world.vocabulary.decode(prompts)[0]
    facts = text[1:].split(",")
    hidden = None if drawn is None else draw(known, drawn)
    with library.use():
        logits = torch.no_grad()(known.model)(on_device(known.model, prompts))[0].float()
    tables = [_table(letters, facts, hidden) for letters in components(facts)]
    truth = _true_products(hidden) if hidden else {}
    place = {letter: i for i, table in enumerate(tables) for letter in table.letters}
    next_sure, next_ids = (part.numpy(force=True) for part in logits.softmax(-1).max(-1))
    predicted = logits[EQUALS::FACT_LENGTH, : known.world.n_variables].softmax(-1).numpy(force=True)
    letters = known.world.vocabulary.variables
    return SequenceAnswer(
        text=text,
        variables=letters,
        facts=[
            FactPart(fact, place[fact[0]], letters[row.argmax()], _round(row.max()),
                     truth.get(fact[:2]) == fact[3] if hidden and len(fact) > 3 else None)
            for fact, row in zip(facts, predicted, strict=True)
        ],
        next_tokens="".join(known.world.vocabulary.characters[i] for i in next_ids),
        next_sure=shares(next_sure),
        tables=tables,
        model=shares(predicted[-1], 6),
        mechanisms=[_mechanism(mechanism, text, facts) for mechanism in MECHANISMS],
        rungs=_rungs(prompts, known.world, facts),
        oracle=oracle_answer(prompts, known.world, query, facts),
        true_answer=truth.get(facts[-1][:2], ""),
    )  # fmt: skip


def shares(values: np.ndarray, digits: int = 4) -> Shares:
    """Plain rounded numbers, for JSON."""
    return [round(float(value), digits) for value in values]


def _round(value: float) -> float:
    return round(float(value), 4)


# --- tables ---------------------------------------------------------------------------------------------------------


def components(facts: list[str]) -> list[str]:
    """Variables that facts link, the query's operands too; each component in order of the alphabet."""
    groups: list[set[str]] = []
    for fact in facts:
        together = set(fact) - {"="}
        linked = [group for group in groups if group & together]
        groups = [group for group in groups if not group & together] + [together.union(*linked)]
    # In the order of first mention, so that colours stay when facts are added.
    text = "".join(facts)
    return ["".join(sorted(group)) for group in sorted(groups, key=lambda group: min(text.index(x) for x in group))]


def _table(letters: str, facts: list[str], hidden: Sequence | None) -> Table:
    context = [fact.replace("=", "") for fact in facts[:-1] if fact[0] in letters]
    shown: dict[str, list[int]] = {}
    for i, fact in enumerate(facts[:-1]):
        shown.setdefault(fact[:2], []).append(i)
    place = _place_of(letters, hidden)
    truth = _true_products(hidden) if hidden else {}
    return Table(
        letters=letters,
        cells=[[_cell(x + y, context, facts, shown.get(x + y, [])) for y in letters] for x in letters],
        structure=hidden.structures[place] if hidden and place is not None else "",
        identity=_identity(hidden, place),
        truth=["".join(truth.get(x + y, " ") for y in letters) for x in letters] if truth else [],
    )


def _cell(pair: str, context: list[str], facts: list[str], shown: list[int]) -> Cell:
    answers = "".join(dict.fromkeys(facts[i][3] for i in shown))
    left = "" if shown else "".join(sorted(closure_set(context, pair) - cancellation_set(context, pair)))
    return Cell(pair, answers, tuple(shown), left)


def _place_of(letters: str, hidden: Sequence | None) -> int | None:
    """The drawn structure that all letters belong to."""
    assigned = enumerate(hidden.assignment if hidden else ())
    return next((i for i, members in assigned if set(letters) <= set(members)), None)


def _identity(hidden: Sequence | None, place: int | None) -> str:
    if hidden is None or place is None:
        return ""
    identity = hidden.drawn[place].identity
    return "" if identity is None else hidden.assignment[place][identity]


def _true_products(hidden: Sequence) -> dict[str, str]:
    """Every product of the drawn structures: 'ab' -> 'c'."""
    return {
        x + y: members[structure.table[i, j]]
        for structure, members in zip(hidden.drawn, hidden.assignment, strict=True)
        for i, x in enumerate(members)
        for j, y in enumerate(members)
    }


# --- answers --------------------------------------------------------------------------------------------------------


def _mechanism(name: str, text: str, facts: list[str]) -> Mechanism:
    def place(fact: str) -> int:
        return facts.index(f"{fact[:2]}={fact[2]}")

    return Mechanism(name, {answer: tuple(map(place, used)) for answer, used in proof(name, text).items()})


def _rungs(prompts: np.ndarray, world: World, facts: list[str]) -> list[Rung]:
    """Empty for a world that is not of groups: the ladder's rules are those of groups."""
    if not rules_hold(world):
        return []
    found = prove(prompts, world)
    return [_rung(name, prompts, world, found, facts) for name in RUNGS]


def _rung(name: str, prompts: np.ndarray, world: World, found: Proof | None, facts: list[str]) -> Rung:
    decided = solver(name, world=world)(prompts)[0]
    answer = world.vocabulary.variables[int(decided.argmax())] if decided.any() else ""
    if found is None or found.rung != name:
        return Rung(name, answer)
    rests: list[set[int]] = []
    for step in found.steps:
        rests.append(set(step.facts).union(*(rests[i] for i in step.steps)))
    sentences = zip(found.words(facts), rests, strict=True)
    return Rung(name, answer, found.depth, [ProofStep(words, tuple(sorted(used))) for words, used in sentences])


def oracle_answer(prompts: np.ndarray, world: World, query: str, facts: list[str]) -> OracleAnswer:
    text = world.vocabulary.decode(prompts)[0]
    taken: Query = likely_query(text) if query == "auto" else query  # type: ignore[assignment]  # the contract checks
    try:
        judged = classify_queries(prompts, world, taken)
    except InputError as error:  # such as too many components to count exactly
        return OracleAnswer(taken, "unknown", [0.0] * world.n_variables, str(error))
    kind, posterior = str(judged.kinds[0]), shares(judged.probabilities[0], 6)
    if kind == "entailed":
        entailed = explain_entailed(prompts, world, taken)
        assert entailed is not None
        used = tuple(sorted(facts.index(fact[1:]) for fact in entailed.forced_by))
        mixtures = [("+".join(names), _round(p)) for names, p in entailed.mixtures[:MIXTURES]]
        words = f"forced by {' '.join(facts[i] for i in used)}" if used else "forced without any fact"
        return OracleAnswer(taken, kind, posterior, words, used, mixtures)
    if kind == "impossible":
        found = explain_impossible(prompts, world, taken)
        assert found is not None
        words = f"{found.text.lstrip(',')}: {found.reason}; {found.advice}"
        return OracleAnswer(taken, kind, posterior, words, () if found.fact is None else (found.fact - 1,))
    return OracleAnswer(taken, kind, posterior)
