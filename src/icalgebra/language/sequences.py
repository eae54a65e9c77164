"""Sequences: what a sampler returns, as frozen arrays.

structures  C6 D3        indices into world.pool, padded with −1
assignment  h k c …      element -> variable, one structure's elements after the other's, padded with −1
tokens      ,hk=c,…      uint8 [n, 5k]; the last fact is the query
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from icalgebra.algebra.structures import Structure
from icalgebra.errors import InputError
from icalgebra.language.vocabulary import FACT_LENGTH, LEFT, Vocabulary, facts_of
from icalgebra.language.world import World

if TYPE_CHECKING:
    from jaxtyping import Bool, Int8, Integer, UInt8


@dataclass(frozen=True, eq=False)
class Sequence:
    """One sequence, and what its variables stand for: `assignment[i][x]` for element x of structure i."""

    tokens: UInt8[np.ndarray, " T"]
    drawn: tuple[Structure, ...]
    assignment: tuple[str, ...]
    vocabulary: Vocabulary

    @property
    def text(self) -> str:
        """The whole sequence, the query's answer included: ,ab=c,de=f."""
        return self.vocabulary.decode(self.tokens)[0]

    @property
    def prompt(self) -> str:
        """The text up to the query's '='."""
        return self.text[:-1]

    @property
    def prompts(self) -> UInt8[np.ndarray, "1 prompt"]:
        """The tokens up to the query's '=', as a batch of one."""
        return self.tokens[None, :-1]

    @property
    def query(self) -> str:
        """The two operands that are asked for."""
        return self.text[LEFT - FACT_LENGTH : -2]

    @property
    def answer(self) -> str:
        """The variable that answers the query."""
        return self.text[-1]

    @property
    def facts(self) -> list[str]:
        """Every fact as text, the query last: ab=c."""
        return self.text[1:].split(",")

    @property
    def structures(self) -> tuple[str, ...]:
        """The names of the structures that were drawn, in the order of the assignment."""
        return tuple(structure.name for structure in self.drawn)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        shown = self.text if len(self.text) <= 40 else f"{self.text[:15]},…{self.text[-3 * FACT_LENGTH :]}"
        return f"Sequence('{shown}', {len(self.facts)} facts, {' + '.join(self.structures)})"

    def _repr_html_(self) -> str:
        from icalgebra.language.notebook import sequence_html

        return sequence_html(self)


@dataclass(frozen=True, eq=False, repr=False)
class Sequences:
    """n sequences of one distribution with their latents; rows start … start+n−1 of one stream.

    s[0] is one Sequence, s[2:5] are the Sequences of some rows, and a loop runs over every Sequence.
    """

    tokens: UInt8[np.ndarray, "n T"]
    structures: Integer[np.ndarray, "n drawn"]
    assignment: Integer[np.ndarray, "n elements"]
    world: World
    distribution: str
    seed: int
    stream: str
    start: int = 0

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def n_facts(self) -> int:
        """Facts per sequence, the query included."""
        return self.tokens.shape[1] // FACT_LENGTH

    @property
    def prompts(self) -> UInt8[np.ndarray, "n prompt"]:
        """Tokens up to the query's '=': what a predictor is given, [n, 5k−1]."""
        return self.tokens[:, :-1]

    @property
    def answers(self) -> UInt8[np.ndarray, " n"]:
        """The variable that answers each query."""
        return self.tokens[:, -1]

    @property
    def facts(self) -> UInt8[np.ndarray, "n k 3"]:
        """Left, right and answer of every fact, [n, k, 3]."""
        return facts_of(self.tokens)

    def texts(self) -> list[str]:
        """As text: ,ab=c,de=f."""
        return self.world.vocabulary.decode(self.tokens)

    @overload
    def __getitem__(self, rows: int) -> Sequence: ...
    @overload
    def __getitem__(self, rows: slice) -> Sequences: ...
    def __getitem__(self, rows: Any) -> Sequence | Sequences:
        """One Sequence by its number, from the end where it is negative; or a slice of consecutive rows."""
        if isinstance(rows, int | np.integer):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"row {rows} is not there: these are {len(self)} sequences")
            return self._row(int(rows) % len(self))
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise InputError("sequences are indexed by a row number or by a slice of consecutive rows, such as s[2:5]")
        parts = {name: getattr(self, name)[rows] for name in ("tokens", "structures", "assignment")}
        return replace(self, **parts, start=self.start + rows.indices(len(self))[0])

    def __iter__(self) -> Iterator[Sequence]:
        return (self._row(row) for row in range(len(self)))

    def _row(self, row: int) -> Sequence:
        drawn = tuple(self.world.pool[i] for i in self.structures[row] if i >= 0)
        letters = "".join(self.world.vocabulary.variables[v] for v in self.assignment[row] if v >= 0)
        ends = np.cumsum([0, *(structure.order for structure in drawn)])
        parts = tuple(letters[begin:end] for begin, end in pairwise(ends))
        return Sequence(self.tokens[row], drawn, parts, self.world.vocabulary)

    def __repr__(self) -> str:
        rows = f"rows {self.start} to {self.start + len(self) - 1} of stream {self.stream!r}, " if len(self) else ""
        return f"Sequences({len(self)} of {self.n_facts} facts, {self.distribution!r}, {rows}seed {self.seed})"

    def _repr_html_(self) -> str:
        from icalgebra.language.notebook import sequences_html

        return sequences_html(self)

    def structure_names(self, row: int) -> list[str]:
        """The structures drawn for a row, in the order of its assignment."""
        return [self.world.pool[i].name for i in self.structures[row] if i >= 0]

    def groups_of_variables(self) -> Int8[np.ndarray, "n N"]:
        """The index of each variable's structure in its row's list; −1 for a variable of no structure, [n, N]."""
        orders = np.array([s.order for s in self.world.pool] + [0])
        places = np.full((len(self), self.world.n_variables), -1, dtype=np.int8)
        ends = np.cumsum(orders[self.structures], axis=1)
        rows, elements = np.nonzero(self.assignment >= 0)
        places[rows, self.assignment[rows, elements]] = (elements[:, None] >= ends[rows]).sum(axis=1)
        return places

    def identity_variables(self) -> Bool[np.ndarray, "n N"]:
        """Whether each variable stands for the identity of its structure, bool [n, N]."""
        orders = np.array([s.order for s in self.world.pool] + [0])
        identities = np.array([-1 if s.identity is None else s.identity for s in self.world.pool] + [-1])
        found = np.zeros((len(self), self.world.n_variables), dtype=bool)
        offsets = np.zeros(len(self), dtype=np.int64)
        for slot in self.structures.T:
            rows = np.flatnonzero(identities[slot] >= 0)
            found[rows, self.assignment[rows, offsets[rows] + identities[slot[rows]]]] = True
            offsets += orders[slot]
        return found

    def identity_queries(self) -> Bool[np.ndarray, " n"]:
        """Whether an operand of each row's query is an identity, bool [n]."""
        operands = self.facts[:, -1, :2].astype(np.int64)
        left, right = np.take_along_axis(self.identity_variables(), operands, axis=1).T
        return left | right

    def records(self) -> Iterator[dict[str, Any]]:
        """One plain dictionary per sequence, for JSON lines."""
        letters = self.world.vocabulary.variables
        for row, text in enumerate(self.texts()):
            yield {
                "row": self.start + row,
                "distribution": self.distribution,
                "text": text,
                "structures": self.structure_names(row),
                "assignment": "".join(letters[v] for v in self.assignment[row] if v >= 0),
            }
