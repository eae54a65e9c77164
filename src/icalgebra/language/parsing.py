"""A user's own sequences: lines of text to tokens. Errors name the line and the column."""

from __future__ import annotations

from collections.abc import Iterable

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
