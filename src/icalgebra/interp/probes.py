"""Probes: one logistic regression per variable predicts from an activation whether the variable is in a set.

closure        all variables of facts that contain an operand of the query
cancellation   the answers of facts that share the query's left or right slot
A probe is trained on coordinates inside a subspace. Its direction is expressed in the whole space, so that it can be
compared with the unembedding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from icalgebra.language.vocabulary import facts_of

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, UInt8

MAX_ITERATIONS = 1000


def sets_of_queries(tokens: UInt8[np.ndarray, "n T"], n_variables: int) -> dict[str, Bool[np.ndarray, "n N"]]:
    """The closure set and the cancellation set of every row's query."""
    facts = facts_of(tokens).astype(np.int64)
    context, query = facts[:, :-1], facts[:, -1]
    x, y = query[:, 0, None], query[:, 1, None]
    touches = ((context == x[..., None]) | (context == y[..., None])).any(-1)
    cancels = (context[:, :, 0] == x) | (context[:, :, 1] == y)
    found = {name: np.zeros((len(tokens), n_variables), dtype=bool) for name in ("closure", "cancellation")}
    rows, places = np.nonzero(touches)
    found["closure"][rows[:, None], context[rows, places]] = True
    rows, places = np.nonzero(cancels)
    found["cancellation"][rows, context[rows, places, 2]] = True
    return found


@dataclass(frozen=True)
class Probes:
    """One linear probe per variable, which predicts membership if activation · direction + intercept > 0."""

    directions: Float[np.ndarray, "N d"]
    intercepts: Float[np.ndarray, " N"]

    def predict(self, activations: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, "n N"]:
        return activations @ self.directions.T + self.intercepts > 0

    def correct(
        self, activations: Float[np.ndarray, "n d"], members: Bool[np.ndarray, "n N"]
    ) -> Bool[np.ndarray, "n N N"]:
        """Whether the probe of each variable (last axis) predicts the membership of each variable (middle axis)."""
        return self.predict(activations)[:, None, :] == members[:, :, None]


def train_probes(
    activations: Float[np.ndarray, "n d"], members: Bool[np.ndarray, "n N"], basis: Float[np.ndarray, "d k"]
) -> Probes:
    """Logistic regressions on the coordinates inside a subspace, divided by their overall standard deviation."""
    from sklearn.linear_model import LogisticRegression  # slow to import

    inside = activations @ basis
    centre, scale = inside.mean(0), inside.std()
    directions, intercepts = np.zeros((members.shape[1], basis.shape[0])), np.zeros(members.shape[1])
    for variable, labels in enumerate(members.T):
        if labels.all() or not labels.any():  # one class only, on which a logistic regression cannot be fitted
            intercepts[variable] = 1.0 if labels.all() else -1.0
            continue
        learned = LogisticRegression(max_iter=MAX_ITERATIONS).fit((inside - centre) / scale, labels)
        directions[variable] = basis @ learned.coef_[0] / scale
        intercepts[variable] = learned.intercept_[0] - centre @ learned.coef_[0] / scale
    return Probes(directions, intercepts)


def cosines(one: Float[np.ndarray, "n d"], other: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """Cosines between all rows of two matrices; 0 for a row of zeros."""
    lengths = np.linalg.norm(one, axis=1)[:, None] * np.linalg.norm(other, axis=1)
    return np.divide(one @ other.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[~np.eye(len(matrix), dtype=bool)]
