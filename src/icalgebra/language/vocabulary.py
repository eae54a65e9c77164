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

from icalgebra.errors import InputError, shortened
from icalgebra.records import argument

COMMA, LEFT, RIGHT, EQUALS, ANSWER = range(5)  # offsets of the slots within a fact
SLOTS = ("comma", "left", "right", "equals", "answer")  # their names, in the same order
VARIABLE_SLOTS = (LEFT, RIGHT, ANSWER)  # the slots that hold a variable
FACT_LENGTH = 5
MECHANISMS = ("copy", "commute", "identity", "cancel", "associate")  # the ways to answer, in the paper's order
LETTERS = string.ascii_lowercase + string.ascii_uppercase
MAX_VARIABLES = len(LETTERS)


@dataclass(frozen=True)
class Vocabulary:
    """The alphabet of one world: its first n_variables letters, '=' and ','."""

    n_variables: int = 16

    def __post_init__(self) -> None:
        if not 1 <= argument(int, self.n_variables, "n_variables") <= MAX_VARIABLES:
            raise InputError(f"n_variables must be between 1 and {MAX_VARIABLES}, not {self.n_variables}")

    @property
    def variables(self) -> str:
        """The variables' letters, in the order of their tokens: token 0 is 'a'."""
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
        """The number of distinct tokens."""
        return self.n_variables + 2

    @property
    def characters(self) -> str:
        """One character per token, in the order of the tokens."""
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
        """One text to token ids. The leading ',' and the last fact's answer are optional.

        A malformed text raises InputError, which names the line and the column (both counted from 1).
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
        """Raise InputError unless every token fits the slot it stands in; the last fact may be incomplete.

        Compiled solvers index arrays with variables and check no bounds: given tokens of a larger alphabet they once
        read and wrote outside their arrays.
        """
        for slot, token in ((COMMA, self.comma), (EQUALS, self.equals)):
            if (tokens[:, slot::FACT_LENGTH] != token).any():
                mark = self._expected(slot)
                raise InputError(
                    f"tokens of another alphabet: with {self.n_variables} variables {mark!r} is token {token}, "
                    f"at offset {slot} of every fact"
                )
        for slot in VARIABLE_SLOTS:
            found = tokens[:, slot::FACT_LENGTH]
            if found.size and not 0 <= found.min() <= found.max() < self.n_variables:
                raise InputError(f"a fact has a token that is not a variable of this world ({self.variables})")

    def rows(self, rows: ArrayLike) -> np.ndarray:
        """One token row or many as an array [n, T]; InputError if they are not of this alphabet."""
        tokens = np.atleast_2d(_array(rows))
        if tokens.ndim != 2 or not np.issubdtype(tokens.dtype, np.integer):
            raise InputError(f"token rows must be integers [n, T], not {tokens.dtype} {list(tokens.shape)}")
        self.check(tokens)
        return tokens

    def prompts(self, rows: ArrayLike) -> np.ndarray:
        """One prompt or many as an array [n, 5k−1], checked in the same way; a prompt ends in '='."""
        rows = _array(rows)
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


def _array(rows: ArrayLike) -> np.ndarray:
    try:
        return np.asarray(rows)
    except (ValueError, TypeError, OverflowError) as error:  # rows of different lengths, numbers beyond 64 bits
        raise InputError(f"token rows must be integers [n, T], not {shortened(rows)}") from error


def facts_of(tokens: np.ndarray) -> np.ndarray:
    """Token rows [n, 5k] to facts [n, k, 3]: left, right and answer (a copy)."""
    n, length = tokens.shape
    facts = tokens.reshape(n, length // FACT_LENGTH, FACT_LENGTH)
    return facts[:, :, VARIABLE_SLOTS]
