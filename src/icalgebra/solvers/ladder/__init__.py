"""The ladder of deduction: from the paper's five mechanisms to all that follows from a context.

    rung         what it may use
    five         one application of a mechanism, as in the paper; not always sound
    chain        the same rules in sound forms, applied to their own results
    latin        + every row and column of a structure holds each member once
    associative  + (ab)c = a(bc) with any one part unknown, also to exclude answers: unit propagation of the axioms
    split        + one level of case distinction: assume a possible answer, derive a contradiction
    catalogue    + the structure is one of the world's groups: what the exact oracle calls entailed

All but `five` are sound: what they answer has posterior probability 1. Besides the facts they know that structures are
groups, which orders occur together in the world, how many variables there are, which one is reserved, and that the
query's operands belong to one structure. `catalogue` is in icalgebra.oracle.

    membership.py                      who can belong to the query's structure
    deductions.py, rules.py            slow and obvious, with a record of each deduction
    kernel_state, kernel_rules, kernels    compiled, without records
    proofs.py, checker.py              proofs as plain values; a checker that shares no code with the rest
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from icalgebra.errors import InputError
from icalgebra.language.parsing import as_prompts
from icalgebra.language.vocabulary import facts_of
from icalgebra.language.world import World
from icalgebra.solvers.ladder.checker import check_proof
from icalgebra.solvers.ladder.deductions import ASSOCIATIVE, RUNGS, SPLIT, Deductions, Record
from icalgebra.solvers.ladder.kernel_state import orders_array
from icalgebra.solvers.ladder.kernels import decide_prefixes, decide_rows, split_plan
from icalgebra.solvers.ladder.proofs import Proof, Statement, Step, depth_of
from icalgebra.solvers.ladder.rules import refute, run

Queries = Literal["every", "last"]

__all__ = ["RUNGS", "Decisions", "Proof", "check_proof", "decide_by_facts", "decide_queries", "prove", "rules_hold",
           "rung_predictor"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Decisions:
    """For each query the lowest rung that decides it (an index into RUNGS), its answer and depth; −1 where none does.

    depth: see Proof; −1 on `split`, where only a proof tells it.
    """

    rungs: np.ndarray
    answers: np.ndarray
    depths: np.ndarray


def decide_queries(
    tokens: ArrayLike, world: World | None = None, highest: str = "associative", lowest: str = "chain"
) -> Decisions:
    """The lowest rung, between two, that decides each query; tokens [n, 5k−1], text or sequences end in its '='."""
    world = world or World()
    check_groups(world)
    facts, queries = _split_query(as_prompts(tokens, world.vocabulary))
    rungs, answers, depths = (np.empty(len(facts), dtype=np.int64) for _ in range(3))
    decide_rows(
        facts, queries, world.reserved_id, orders_array(world), world.n_variables,
        RUNGS.index(lowest), RUNGS.index(highest), rungs, answers, depths,
    )  # fmt: skip
    return Decisions(rungs, answers, depths)


def decide_by_facts(
    tokens: np.ndarray, queries: Queries, world: World | None = None, highest: str = "associative"
) -> Decisions:
    """The same after every prefix of 1 … k−1 context facts, [n, k−1]; tokens [n, 5k] are complete sequences.

    every: fact j is the query to the j facts before it. last: the last fact is the query to the first j facts.
    """
    world = world or World()
    check_groups(world)
    facts = np.ascontiguousarray(facts_of(world.vocabulary.rows(tokens)), dtype=np.int64)
    rungs, answers, depths = (np.empty((len(facts), facts.shape[1] - 1), dtype=np.int64) for _ in range(3))
    decide_prefixes(
        facts, queries == "every", world.reserved_id, orders_array(world), world.n_variables, RUNGS.index(highest),
        rungs, answers, depths,
    )  # fmt: skip
    return Decisions(rungs, answers, depths)


def rung_predictor(rung: str, world: World | None = None) -> Callable[[np.ndarray], np.ndarray]:
    """A rung as a predictor: prompts [n, 5k−1] to probabilities [n, N]; a zero row where it does not decide."""
    world = world or World()
    check_groups(world)

    def predict(rows: ArrayLike) -> np.ndarray:
        answers = decide_queries(rows, world, rung, rung).answers
        return (answers[:, None] == np.arange(world.n_variables)).astype(np.float64)

    return predict


def prove(prompt: Any, world: World | None = None) -> Proof | None:
    """The answer to one prompt (text ',ab=c,…,xy=', a Sequence or tokens) on the lowest rung that decides it, with its
    proof.

    None where no rung from chain to split decides it, or where the context contradicts itself.
    """
    world = world or World()
    tokens = as_prompts(prompt, world.vocabulary)
    if len(tokens) != 1:
        raise InputError(f"prove takes one prompt at a time, not {len(tokens)}; give one row, such as sequences[0]")
    decided = decide_queries(tokens, world, "split")
    if decided.rungs[0] < 0:
        return None
    rung = int(decided.rungs[0])
    facts, queries = _split_query(tokens)
    context, query = [(x, y, z) for x, y, z in facts[0].tolist()], (int(queries[0, 0]), int(queries[0, 1]))
    known = Deductions(context, query, world, min(rung, ASSOCIATIVE))
    if rung == SPLIT:
        plan = split_plan(facts[0], queries[0], world.reserved_id, orders_array(world), world.n_variables)
        run(known, query)
        for x, y, z in plan.tolist():
            refute(known, x, y, z)
            run(known, query)
    else:
        run(known, query, int(decided.depths[0]))
    return write_proof(known.products[query], context, world, RUNGS[rung])


def rules_hold(world: World) -> bool:
    """Whether all structures of a world are groups: the rules are those of groups, and elsewhere nothing is proved."""
    return all(structure.kind == "group" for structure in world.pool)


def check_groups(world: World) -> None:
    """Raise InputError unless all structures of a world are groups: the rules are those of groups."""
    for structure in world.pool:
        if structure.kind != "group":
            raise InputError(f"the ladder's rules hold for groups, and {structure.name} is a {structure.kind}")


def _split_query(prompts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Prompts [n, 5k−1] to facts [n, k−1, 3] and queries [n, 2]."""
    facts = facts_of(np.pad(prompts, ((0, 0), (0, 1)))).astype(np.int64)
    return np.ascontiguousarray(facts[:, :-1]), np.ascontiguousarray(facts[:, -1, :2])


def write_proof(found: Record, facts: Sequence[tuple[int, ...]], world: World, rung: str) -> Proof:
    """The steps that a record of the query's product rests on, in order, each once."""
    letters = world.vocabulary.variables
    steps: list[Step] = []
    number: dict[int, int] = {}  # id of a record -> its step

    def write(record: Record) -> None:
        if id(record) in number:
            return
        for cited in record.cites:
            if cited.rule != "fact":
                write(cited)
        from_facts = {facts.index(cited.variables) for cited in record.cites if cited.rule == "fact"}
        from_steps = {number[id(cited)] for cited in record.cites if cited.rule != "fact"}
        variables = "".join(letters[v] for v in record.variables)
        within = "".join(letters[v] for v in sorted(record.within))
        conclusion = Statement(record.kind, variables, within)
        step = Step(record.rule, conclusion, tuple(sorted(from_facts)), tuple(sorted(from_steps)))
        if step not in steps:  # it may have been found before, in another round
            steps.append(step)
        number[id(record)] = steps.index(step)

    write(Record("product", found.variables, "copy", (found,)) if found.rule == "fact" else found)
    premises = tuple(sorted({i for step in steps for i in step.facts}))
    x, y, z = (letters[v] for v in found.variables)
    return Proof(x + y, z, rung, depth_of(tuple(steps)), premises, tuple(steps))
