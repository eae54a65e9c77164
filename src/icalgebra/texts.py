"""A user's own sequences: lines of text to tokens, with mistakes told by line and column."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from icalgebra.errors import InputError
from icalgebra.vocabulary import ANSWER, FACT_LENGTH, LEFT, RIGHT, Vocabulary


def read_sequences(lines: Iterable[str], vocabulary: Vocabulary, *, answered: bool) -> list[np.ndarray]:
    """One token array a line; empty lines are skipped. answered: whether each last fact must have its answer."""
    sequences = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        tokens = vocabulary.encode(line, line=number)
        has_answer = len(tokens) % FACT_LENGTH == 0
        if answered and not has_answer:
            raise InputError(f"line {number}: the last fact has no answer; coverage needs it to know who is right")
        if not answered and has_answer:
            raise InputError(f"line {number}: the last fact has its answer already; end the line in '='")
        check_consistent(tokens, vocabulary, number)
        sequences.append(tokens)
    if not sequences:
        raise InputError("no sequences given; expected lines like ,ab=c,de=f")
    return sequences


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
