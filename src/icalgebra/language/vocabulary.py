"""Tokens, slots, text <-> ids. The only file that knows how many tokens a fact has.

    text      ,  a  b  =  c  ,  d  e  =  f        a fact is ",ab=c"
    offset    0  1  2  3  4  0  1  2  3  4
    slot      ,  left right = answer              '=' is the predictive token

With N variables the ids are a, b, … = 0 … N−1, '=' = N, ',' = N+1.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from icalgebra.errors import InputError

COMMA, LEFT, RIGHT, EQUALS, ANSWER = range(5)  # offsets of the slots inside a fact
SLOTS = ("comma", "left", "right", "equals", "answer")  # their names, in the same order
VARIABLE_SLOTS = (LEFT, RIGHT, ANSWER)  # those that hold a variable
FACT_LENGTH = 5
MECHANISMS = ("copy", "commute", "identity", "cancel", "associate")  # the ways to answer, in the published order
LETTERS = string.ascii_lowercase + string.ascii_uppercase
MAX_VARIABLES = len(LETTERS)


@dataclass(frozen=True)
class Vocabulary:
    """The alphabet of one world: its first n_variables letters, '=' and ','."""

    n_variables: int = 16

    def __post_init__(self) -> None:
        if not 1 <= self.n_variables <= MAX_VARIABLES:
            raise InputError(f"n_variables must be between 1 and {MAX_VARIABLES}, not {self.n_variables}")

    @property
    def variables(self) -> str:
        """Their letters, in the order of their tokens: 0 is 'a'."""
        return LETTERS[: self.n_variables]

    @property
    def equals(self) -> int:
        """The token of '='."""
        return self.n_variables

    @property
    def comma(self) -> int:
        """The token of ','."""
        return self.n_variables + 1

    @property
    def size(self) -> int:
        """How many tokens there are."""
        return self.n_variables + 2

    @property
    def characters(self) -> str:
        """One for each token, in order."""
        return self.variables + "=,"

    @cached_property
    def _bytes(self) -> np.ndarray:
        return np.frombuffer(self.characters.encode("ascii"), dtype=np.uint8)

    def decode(self, tokens: np.ndarray) -> list[str]:
        """Token rows [n, T] to texts."""
        rows = np.atleast_2d(np.asarray(tokens))
        joined = self._bytes[rows].tobytes().decode("ascii")
        length = rows.shape[1]
        return [joined[i * length : (i + 1) * length] for i in range(rows.shape[0])]

    def encode(self, text: str, *, line: int = 1) -> np.ndarray:
        """One text to token ids. The leading ',' may be missing, and so may the last fact's answer.

        A malformed text raises InputError with the line and the column (both from 1).
        """
        stripped = text.strip()
        if not stripped:
            raise InputError(f"line {line}: empty sequence; expected facts like ,ab=c,de=f")
        added = "" if stripped[0] == "," else ","
        column_shift = len(text) - len(text.lstrip()) + 1 - len(added)
        body = added + stripped
        ids, characters = np.empty(len(body), dtype=np.uint8), self.characters
        expected = [self._expected(slot) for slot in range(FACT_LENGTH)]
        for i, character in enumerate(body):
            if character not in expected[i % FACT_LENGTH]:
                raise InputError(
                    f"line {line}, column {i + column_shift}: found {character!r} where a fact like ,ab=c "
                    f"needs {self._describe(i % FACT_LENGTH)}"
                )
            ids[i] = characters.index(character)
        if len(body) % FACT_LENGTH not in (0, ANSWER):
            raise InputError(
                f"line {line}, column {len(body) + column_shift}: the last fact is incomplete; "
                f"expected {self._describe(len(body) % FACT_LENGTH)}"
            )
        return ids

    def check(self, tokens: np.ndarray) -> None:
        """Raise InputError where token rows are no beginning of facts: compiled code indexes with variables unasked."""
        for slot, token in ((COMMA, self.comma), (EQUALS, self.equals)):
            if (tokens[:, slot::FACT_LENGTH] != token).any():
                mark = self._expected(slot)
                raise InputError(
                    f"tokens of another alphabet: with {self.n_variables} variables {mark!r} is {token}, "
                    f"and a fact has it in place {slot}"
                )
        for slot in VARIABLE_SLOTS:
            found = tokens[:, slot::FACT_LENGTH]
            if found.size and not 0 <= found.min() <= found.max() < self.n_variables:
                raise InputError(f"a fact has a token that is no variable of this world ({self.variables})")

    def rows(self, rows: ArrayLike) -> np.ndarray:
        """Token rows as an array [n, T], one row or many; InputError where they are not of this alphabet."""
        tokens = np.atleast_2d(np.asarray(rows))
        if tokens.ndim != 2 or not np.issubdtype(tokens.dtype, np.integer):
            raise InputError(f"token rows are whole numbers [n, T], not {tokens.dtype} {list(tokens.shape)}")
        self.check(tokens)
        return tokens

    def prompts(self, rows: ArrayLike) -> np.ndarray:
        """The same for prompts, [n, 5k−1]: they end in '='."""
        length = np.shape(rows)[-1] if np.ndim(rows) else 0
        if (length + 1) % FACT_LENGTH:
            raise InputError(f"a prompt is 5k−1 tokens and ends in '=' (…,xy=); these have {length}")
        return self.rows(rows)

    def _expected(self, slot: int) -> str:
        return {COMMA: ",", EQUALS: "="}.get(slot, self.variables)

    def _describe(self, slot: int) -> str:
        if slot in (COMMA, EQUALS):
            return repr(self._expected(slot))
        return f"a variable ({self.variables[0]}–{self.variables[-1]})"


def facts_of(tokens: np.ndarray) -> np.ndarray:
    """Token rows [n, 5k] to facts [n, k, 3]: left, right and answer (a copy)."""
    n, length = tokens.shape
    facts = tokens.reshape(n, length // FACT_LENGTH, FACT_LENGTH)
    return facts[:, :, VARIABLE_SLOTS]
