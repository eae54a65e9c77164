"""A user's own sequences: text to tokens. Errors name the line and the column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from icalgebra.errors import InputError
from icalgebra.language.vocabulary import ANSWER, FACT_LENGTH, LEFT, RIGHT, Vocabulary


def read_sequences(lines: Iterable[tuple[int, str]], vocabulary: Vocabulary) -> list[np.ndarray]:
    """Numbered lines of complete sequences, the last answer included, to token arrays."""
    sequences = []
    for number, line in lines:
        tokens = vocabulary.encode(line, line=number)
        if len(tokens) % FACT_LENGTH:
            raise InputError(f"line {number}: the last fact has no answer; coverage compares the mechanisms with it")
        check_consistent(tokens, vocabulary, number)
        sequences.append(tokens)
    return sequences


def read_prompt(text: str, line: int, vocabulary: Vocabulary) -> np.ndarray:
    """One prompt to tokens [1, 5k−1]. It ends in '=' or '=?'; a last fact that already has its answer is an error."""
    prompt = text.rstrip().removesuffix("?")
    tokens = vocabulary.encode(prompt, line=line)
    if len(tokens) % FACT_LENGTH != ANSWER:
        raise InputError(f"line {line}: the last fact must lack its answer; write …{prompt.strip()[-FACT_LENGTH:-1]}")
    return tokens[None]


def is_text(given: Any) -> bool:
    """One text, or a list of texts."""
    return isinstance(given, str) or (isinstance(given, list | tuple) and bool(given) and isinstance(given[0], str))


def as_prompts(given: Any, vocabulary: Vocabulary) -> np.ndarray:
    """Prompts [n, 5k−1] that end in the query's '=': from text, a list of texts, sequences (.prompts) or token rows."""
    if is_text(given):
        texts = [given] if isinstance(given, str) else given
        return one_length([read_prompt(text, i + 1, vocabulary)[0] for i, text in enumerate(texts)])
    return vocabulary.prompts(integer_rows(getattr(given, "prompts", given)))


def one_length(rows: list[np.ndarray]) -> np.ndarray:
    """Token rows of one batch as an array."""
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise InputError(
            f"texts of one batch must be equally long, not {lengths[0]} and {lengths[-1]} tokens; give them one by one"
        )
    return np.stack(rows)


def integer_rows(given: Any) -> np.ndarray:
    """Token ids [n, T] of any integer type, from numpy, torch or lists; one row may come without its axis."""
    if hasattr(given, "detach"):  # torch, which this module does not import
        given = given.detach().cpu()
        given = given if given.dtype.itemsize > 2 or not given.dtype.is_floating_point else given.float()
    try:
        rows = np.asarray(given)
    except (ValueError, TypeError):
        raise InputError("the token rows of one batch must be equally long; give them one by one") from None
    if not np.issubdtype(rows.dtype, np.integer):
        raise InputError(f"tokens are integers or text like ,ab=c,de= and not {rows.dtype}")
    if rows.ndim not in (1, 2) or rows.shape[-1] == 0:
        raise InputError(f"tokens are rows [n, T] of at least one token, not of shape {list(rows.shape)}")
    return np.atleast_2d(rows)


def check_consistent(tokens: np.ndarray, vocabulary: Vocabulary, line: int) -> None:
    """Raise InputError if two facts give the same pair different answers."""
    facts = tokens[: len(tokens) // FACT_LENGTH * FACT_LENGTH].reshape(-1, FACT_LENGTH)
    seen: dict[tuple[int, int], tuple[int, int]] = {}  # pair -> place and answer of its first fact
    for place, fact in enumerate(facts):
        pair, answer = (int(fact[LEFT]), int(fact[RIGHT])), int(fact[ANSWER])
        earlier, earlier_answer = seen.setdefault(pair, (place, answer))
        if earlier_answer != answer:
            first, second = (text[1:] for text in vocabulary.decode(facts[[earlier, place]]))
            raise InputError(
                f"line {line}: fact {earlier + 1} ({first}) and fact {place + 1} ({second}) contradict each other"
            )
