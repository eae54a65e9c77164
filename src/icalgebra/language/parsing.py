"""A user's own sequences: lines of text to tokens, with mistakes told by line and column."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from icalgebra.errors import InputError
from icalgebra.language.vocabulary import ANSWER, FACT_LENGTH, LEFT, RIGHT, Vocabulary


def read_sequences(lines: Iterable[tuple[int, str]], vocabulary: Vocabulary) -> list[np.ndarray]:
    """Numbered lines of whole sequences, answers included, to token arrays."""
    sequences = []
    for number, line in lines:
        tokens = vocabulary.encode(line, line=number)
        if len(tokens) % FACT_LENGTH:
            raise InputError(f"line {number}: the last fact has no answer; coverage needs it to know who is right")
        check_consistent(tokens, vocabulary, number)
        sequences.append(tokens)
    return sequences


def read_prompt(text: str, line: int, vocabulary: Vocabulary) -> np.ndarray:
    """One text to tokens [1, 5k−1], '?' for the answer or nothing; one that has its last answer is refused."""
    asked = text.rstrip().removesuffix("?")
    tokens = vocabulary.encode(asked, line=line)
    if len(tokens) % FACT_LENGTH != ANSWER:
        raise InputError(f"line {line}: the last fact must lack its answer; write …{asked.strip()[-FACT_LENGTH:-1]}")
    return tokens[None]


def check_consistent(tokens: np.ndarray, vocabulary: Vocabulary, line: int) -> None:
    """Raise InputError for two facts that give one pair two answers."""
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for place in range(len(tokens) // FACT_LENGTH):
        fact = tokens[place * FACT_LENGTH : (place + 1) * FACT_LENGTH]
        pair, answer = (int(fact[LEFT]), int(fact[RIGHT])), int(fact[ANSWER])
        earlier, earlier_answer = seen.setdefault(pair, (place, answer))
        if earlier_answer != answer:
            first, second = (_fact_text(tokens, i, vocabulary) for i in (earlier, place))
            raise InputError(f"line {line}: fact {earlier + 1} ({first}) and fact {place + 1} ({second}) contradict")


def _fact_text(tokens: np.ndarray, place: int, vocabulary: Vocabulary) -> str:
    return vocabulary.decode(tokens[place * FACT_LENGTH : (place + 1) * FACT_LENGTH])[0][1:]
