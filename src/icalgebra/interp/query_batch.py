"""Sequences with the properties of their queries, pairs of them for patching, and planted facts.

neither       …,de=f,…           ,xy=     the context has neither the query nor its reverse: the base of all others
exact         …,xy=z,…           ,xy=
commutative   …,yx=z,…           ,xy=
both          …,xy=z,…,yx=z,…    ,xy=
corrupted     …,xy=z,…,xy=j,…    ,xy=     a duplicate fact with a wrong answer
conflicting   …,xy=z,…,yx=j,…    ,xy=     the exact and the commutative fact have different answers
false left    …,xw=w,…           ,xy=     x looks like an identity (w ≠ y)
false right   …,wy=w,…           ,xy=     y looks like an identity (w ≠ x)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from icalgebra.errors import InputError
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import ANSWER, FACT_LENGTH, LEFT, RIGHT, facts_of
from icalgebra.language.world import World
from icalgebra.model.accuracy import query_structures
from icalgebra.randomness import numpy_generator

if TYPE_CHECKING:
    from jaxtyping import Bool, Int, UInt8


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """Sequences with their query's structure: its identity (−1: none), members and name, and the answer to yx=."""

    tokens: UInt8[np.ndarray, "n T"]
    identity: Int[np.ndarray, " n"]
    members: Bool[np.ndarray, "n N"]
    structure: np.ndarray
    reverse_answer: Int[np.ndarray, " n"]

    @staticmethod
    def from_sequences(sequences: Sequences) -> QueryBatch:
        rows = np.arange(len(sequences))
        places = sequences.groups_of_variables()
        members = places == places[rows, sequences.facts[:, -1, 0]][:, None]
        identities = sequences.identity_variables() & members
        identity = np.where(identities.any(axis=1), identities.argmax(axis=1), -1)
        names = np.array(query_structures(sequences))
        return QueryBatch(sequences.tokens, identity, members, names, _reverse_answers(sequences))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows: slice | np.ndarray) -> QueryBatch:
        return QueryBatch(**{name: value[rows] for name, value in vars(self).items()})

    @property
    def prompts(self) -> UInt8[np.ndarray, "n prompt"]:
        return self.tokens[:, :-1]

    @property
    def left(self) -> Int[np.ndarray, " n"]:
        return self.tokens[:, LEFT - FACT_LENGTH].astype(np.int64)

    @property
    def right(self) -> Int[np.ndarray, " n"]:
        return self.tokens[:, RIGHT - FACT_LENGTH].astype(np.int64)

    @property
    def answer(self) -> Int[np.ndarray, " n"]:
        return self.tokens[:, -1].astype(np.int64)

    @property
    def context(self) -> UInt8[np.ndarray, "n facts 3"]:
        """Left, right and answer of the facts before the query."""
        return facts_of(self.tokens)[:, :-1]

    @property
    def is_identity(self) -> Bool[np.ndarray, " n"]:
        """Whether an operand of the query is the identity of its structure."""
        return (self.left == self.identity) | (self.right == self.identity)

    @property
    def commutes(self) -> Bool[np.ndarray, " n"]:
        return self.reverse_answer == self.answer

    @property
    def distinct(self) -> Bool[np.ndarray, " n"]:
        return self.left != self.right

    def reversed(self) -> QueryBatch:
        """The same contexts with the query's operands swapped."""
        tokens = self.tokens.copy()
        tokens[:, LEFT - FACT_LENGTH], tokens[:, RIGHT - FACT_LENGTH] = self.right, self.left
        tokens[:, -1] = self.reverse_answer
        return replace(self, tokens=tokens, reverse_answer=self.answer)

    def with_facts(self, *facts: tuple[np.ndarray, np.ndarray, np.ndarray], seed: int, stream: str) -> QueryBatch:
        """The given facts (left, right, answer; one of each per row) replace random distinct facts of each context."""
        n, n_context = self.context.shape[:2]
        order = numpy_generator(seed, stream).permuted(np.tile(np.arange(n_context), (n, 1)), axis=1)
        tokens, rows = self.tokens.copy(), np.arange(n)
        for place, fact in zip(order.T, facts):
            for slot, variable in zip((LEFT, RIGHT, ANSWER), fact, strict=True):
                tokens[rows, place * FACT_LENGTH + slot] = variable
        return replace(self, tokens=tokens)

    def other_members(self, *excluded: np.ndarray, seed: int, stream: str) -> Int[np.ndarray, " n"]:
        """A random member of each query's structure except the excluded; if none is left, any variable except those."""
        open_ = self.members.copy()
        for variable in excluded:
            open_[np.arange(len(self)), variable] = False
        none_left = ~open_.any(axis=1)
        open_[none_left] = True
        for variable in excluded:
            open_[none_left, variable[none_left]] = False
        draws = numpy_generator(seed, stream).random(open_.shape)
        return np.where(open_, draws, -1.0).argmax(axis=1)


def _reverse_answers(sequences: Sequences) -> Int[np.ndarray, " n"]:
    """The answer to each query with its operands swapped, from the structures' tables."""
    answers = np.empty(len(sequences), dtype=np.int64)
    for row, (left, right, _) in enumerate(sequences.facts[:, -1]):
        variables = sequences.assignment[row]
        x, y = (int(np.flatnonzero(variables == variable)[0]) for variable in (left, right))
        begin = 0
        for place in sequences.structures[row]:
            structure = sequences.world.pool[place]
            if x < begin + structure.order:
                answers[row] = variables[begin + structure.table[y - begin, x - begin]]
                break
            begin += structure.order
    return answers


def pairs(clean: QueryBatch, candidates: QueryBatch) -> tuple[QueryBatch, QueryBatch]:
    """Pair every clean query with the first unused candidate that has another query and another answer."""
    left, right, answer = candidates.left, candidates.right, candidates.answer
    unused = np.ones(len(candidates), dtype=bool)
    chosen = []
    for x, y, z in zip(clean.left, clean.right, clean.answer, strict=True):
        fits = np.flatnonzero(unused & (answer != z) & ((left != x) | (right != y)))
        if not len(fits):
            raise InputError(f"{len(candidates)} candidates are too few for {len(clean)} pairs; draw more of them")
        unused[fits[0]] = False
        chosen.append(fits[0])
    return clean, candidates[np.array(chosen, dtype=np.int64)]


def at_least_two(queries: QueryBatch, world: World, what: str) -> QueryBatch:
    """The queries; InputError if there are fewer than the two that an interval needs."""
    if len(queries) < 2:
        names = ", ".join(structure.name for structure in world.pool)
        raise InputError(f"{names}: too few sequences have {what}; use a model of other structures")
    return queries


def planted_variants(base: QueryBatch, seed: int) -> dict[str, QueryBatch]:
    """Variants of the same sequences, drawn at the top of this file. Base queries must commute and not be copyable."""
    x, y, z = base.left, base.right, base.answer
    wrong = base.other_members(z, seed=seed, stream="variants/wrong")

    def put(*facts: tuple[np.ndarray, np.ndarray, np.ndarray]) -> QueryBatch:
        return base.with_facts(*facts, seed=seed, stream="variants/places")

    return {
        "exact": put((x, y, z)),
        "commutative": put((y, x, z)),
        "both": put((x, y, z), (y, x, z)),
        "neither": base,
        "corrupted": put((x, y, z), (x, y, wrong)),
        "conflicting": put((x, y, z), (y, x, wrong)),
    }


def with_false_identity(base: QueryBatch, side: str, seed: int) -> QueryBatch:
    """Replace one random fact by xw=w (left) or wy=w (right); w is a member of the structure other than x and y."""
    w = base.other_members(base.left, base.right, seed=seed, stream=f"false {side}/w")
    fact = (base.left, w, w) if side == "left" else (w, base.right, w)
    return base.with_facts(fact, seed=seed, stream=f"false {side}/place")
