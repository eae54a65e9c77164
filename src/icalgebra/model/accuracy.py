"""Accuracy of any predictor on any distribution, with intervals, and broken down by any label of the examples.

A predictor maps tokens [n, 5k−1] to probabilities over the variables [n, N]. A row of zeros means "no answer"; a tie
counts as wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.language.sequences import Sequences
from icalgebra.language.world import World
from icalgebra.statistics import Estimate, proportion

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Integer

Predictor = Callable[[np.ndarray], np.ndarray]


def hits(predictor: Predictor, sequences: Sequences) -> Bool[np.ndarray, " n"]:
    """Which queries the predictor answers correctly, bool [n]."""
    if hasattr(predictor, "parameters"):
        raise InputError("this is a model; icalgebra.as_predictor(model) makes it a predictor")
    if not callable(predictor):
        raise InputError(
            "a predictor is a function from tokens to probabilities, such as icalgebra.solver('copy'), "
            f"not {predictor!r}"
        )
    scores, wanted = as_scores(predictor(sequences.prompts)), (len(sequences), sequences.world.n_variables)
    fault = f"{list(scores.shape)}" if scores.shape != wanted else f"{scores.dtype}" if scores.dtype.kind != "f" else ""
    if fault or np.isnan(scores).any():
        raise InputError(
            f"a predictor must return one number per query and variable, {list(wanted)}; this one returned "
            f"{fault or 'NaN'}"
        )
    return strictly_best(scores, sequences.answers)


def as_scores(given: Any) -> np.ndarray:
    """What a predictor returned as floating-point numbers: one-hot rows may be boolean or whole numbers, and minus
    infinity is neither."""
    if hasattr(given, "detach"):  # torch, which this module does not import
        given = given.detach().cpu()
        given = given.float() if given.dtype.is_floating_point and given.dtype.itemsize == 2 else given
    scores = np.asarray(given)
    return scores.astype(np.float64) if scores.dtype.kind in "biu" else scores


def strictly_best(scores: Float[np.ndarray, "n N"], answers: Integer[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Whether the answer's score is above every other; so ties and rows without an answer count as wrong."""
    answer_column = np.asarray(answers, dtype=np.int64)[:, None]
    own = np.take_along_axis(scores, answer_column, axis=1)[:, 0]
    others = scores.copy()
    np.put_along_axis(others, answer_column, -np.inf, axis=1)
    return own > others.max(axis=1, initial=-np.inf)


def accuracy(
    predictor: Predictor,
    name: str = "holdout",
    n: int = 1000,
    n_facts: int = 200,
    seed: int = 0,
    world: World | None = None,
    *,
    stream: str | None = None,
) -> Estimate:
    """Accuracy on n sequences of a distribution; by default they come from its evaluation stream."""
    sequences = sample(name, n, n_facts, seed, world, stream=evaluation_stream(name) if stream is None else stream)
    return accuracy_estimate(hits(predictor, sequences))


def by_slice(hit: np.ndarray, labels: Iterable[object]) -> dict[str, Estimate]:
    """Accuracy per label."""
    names = np.array([str(label) for label in labels])
    return {str(name): accuracy_estimate(hit[names == name]) for name in np.unique(names)}


def query_structures(sequences: Sequences) -> list[str]:
    """The structure each query belongs to: a label for by_slice."""
    left = sequences.facts[:, -1, 0].astype(np.int64)
    rows = np.arange(len(sequences))
    places = sequences.groups_of_variables()[rows, left]
    return [sequences.world.pool[i].name for i in sequences.structures[rows, places]]


def accuracy_estimate(hit: np.ndarray) -> Estimate:
    return proportion(float(np.sum(hit)), len(hit))


def evaluation_stream(name: str) -> str:
    """The random stream for evaluations, so that they never see training sequences."""
    return f"eval/{name}"
