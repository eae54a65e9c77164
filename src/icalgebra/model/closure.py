"""Closure: which variables belong to the left variable's structure, and how logits are spread over a set of variables.

At the left slot of ',xy=z' the model has read x and predicts y, which is uniform over the structure of x. Four sets of
variables are compared, each a subset of the next; all contain x:

    with it    occur in an earlier fact together with x
    linked     reached from x by a chain of earlier facts that share variables: what the context proves
    seen       the members of x's structure that occur earlier (the paper's set)
    members    the whole structure of x: the support of the true, uniform distribution

`other` is the control: the members seen of another structure of the same sequence (empty if there is none).

Logits [..., N] are those of the variables alone. top_1 and top_k also take the logits of all tokens, [..., N + 2]:
then ',' and '=' compete as well, as in the evaluations during training (train/evaluation.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from icalgebra.language.sequences import Sequences

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Integer

SETS = ("with it", "linked", "seen", "members", "other")


def closure_sets(sequences: Sequences) -> dict[str, Bool[np.ndarray, "n k N"]]:
    """The sets at the left slot of every fact."""
    facts, groups = sequences.facts.astype(np.int64), sequences.groups_of_variables()
    shown, own = _shown(facts, groups.shape[1]), _own_group(facts, groups)
    found = {
        "with it": seen_with(facts, groups.shape[1]),
        "linked": linked(facts, groups.shape[1]),
        "seen": shown & (groups[:, None] == own),
        "members": groups[:, None] == own,
        "other": shown & (groups[:, None] == np.where(own == 0, 1, 0)),
    }
    return {name: found[name] for name in SETS}


def seen_members(sequences: Sequences) -> Bool[np.ndarray, "n k N"]:
    """The set `seen` alone, at a fraction of the cost of all five."""
    facts, groups = sequences.facts.astype(np.int64), sequences.groups_of_variables()
    return _shown(facts, groups.shape[1]) & (groups[:, None] == _own_group(facts, groups))


def _own_group(facts: Integer[np.ndarray, "n k 3"], groups: Integer[np.ndarray, "n N"]) -> Integer[np.ndarray, "n k 1"]:
    """The structure that each fact's left variable belongs to."""
    return np.take_along_axis(groups, facts[:, :, 0], axis=1)[:, :, None]


def _shown(facts: Integer[np.ndarray, "n k 3"], n_variables: int) -> Bool[np.ndarray, "n k N"]:
    """The variables that occur at or before the left slot of each fact."""
    shown = np.zeros((*facts.shape[:2], n_variables), dtype=bool)
    np.put_along_axis(shown[:, 1:], facts[:, :-1], True, axis=2)
    shown = np.logical_or.accumulate(shown, axis=1)
    np.put_along_axis(shown, facts[:, :, :1], True, axis=2)
    return shown


def seen_with(facts: Integer[np.ndarray, "n k 3"], n_variables: int) -> Bool[np.ndarray, "n k N"]:
    """Variables that share an earlier fact with each fact's left variable."""
    rows = np.arange(len(facts))
    together = np.tile(np.eye(n_variables, dtype=bool), (len(facts), 1, 1))
    found = np.empty((*facts.shape[:2], n_variables), dtype=bool)
    for place, fact in enumerate(facts.transpose(1, 0, 2)):
        found[:, place] = together[rows, fact[:, 0]]
        together[rows[:, None, None], fact[:, :, None], fact[:, None, :]] = True
    return found


def linked(facts: Integer[np.ndarray, "n k 3"], n_variables: int) -> Bool[np.ndarray, "n k N"]:
    """Variables that a chain of earlier facts connects to each fact's left variable."""
    labels = np.tile(np.arange(n_variables), (len(facts), 1))
    found = np.empty((*facts.shape[:2], n_variables), dtype=bool)
    for place, fact in enumerate(facts.transpose(1, 0, 2)):
        joined = np.take_along_axis(labels, fact, axis=1)
        found[:, place] = labels == joined[:, :1]
        touched = (labels[:, :, None] == joined[:, None, :]).any(axis=2)
        labels = np.where(touched, joined.min(axis=1, keepdims=True), labels)
    return found


# --- logits against a set ---------------------------------------------------------------------------------------------


def top_1(logits: Float[np.ndarray, "... tokens"], chosen: Bool[np.ndarray, "... N"]) -> np.ndarray:
    """Whether the highest logit lies in the set; a tie with one outside it does not count."""
    chosen = _among_all(logits, chosen)
    return _highest(logits, chosen) > _highest(logits, ~chosen)


def top_k(logits: Float[np.ndarray, "... tokens"], chosen: Bool[np.ndarray, "... N"]) -> np.ndarray:
    """Whether the K highest logits are exactly those of the K variables of the set; False for an empty set."""
    chosen = _among_all(logits, chosen)
    return chosen.any(axis=-1) & (-_highest(-logits, chosen) > _highest(logits, ~chosen))


def _among_all(logits: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The set over all tokens given: '=' and ',', which come after the variables, are never in it."""
    extra = logits.shape[-1] - chosen.shape[-1]
    return np.pad(chosen, [(0, 0)] * (chosen.ndim - 1) + [(0, extra)])


def matching(logits: Float[np.ndarray, "... N"], chosen: Bool[np.ndarray, "... N"]) -> np.ndarray:
    """The fraction of the K highest logits that lies in the set of K variables (the paper's top-K matching)."""
    size = chosen.sum(axis=-1)
    ranks = (-logits).argsort(axis=-1, kind="stable").argsort(axis=-1)
    return (chosen & (ranks < size[..., None])).sum(axis=-1) / np.maximum(size, 1)


def uniformity(logits: Float[np.ndarray, "... N"], chosen: Bool[np.ndarray, "... N"]) -> np.ndarray:
    """Entropy among the K variables of the set over log K: 1 where all are equally likely; NaN where K < 2."""
    logs = log_probabilities(np.where(chosen, logits, -np.inf))
    entropy = -np.where(chosen, np.exp(logs) * np.where(chosen, logs, 0.0), 0.0).sum(axis=-1)
    size = chosen.sum(axis=-1)
    return np.where(size > 1, entropy / np.log(np.maximum(size, 2)), np.nan)


def spread(logits: Float[np.ndarray, "... N"], chosen: Bool[np.ndarray, "... N"]) -> np.ndarray:
    """Standard deviation of the set's logits; NaN where K < 2."""
    size = np.maximum(chosen.sum(axis=-1), 1)
    centre = (logits * chosen).sum(axis=-1) / size
    squares = np.where(chosen, (logits - centre[..., None]) ** 2, 0.0).sum(axis=-1)
    return np.where(chosen.sum(axis=-1) > 1, np.sqrt(squares / size), np.nan)


def mass_inside(logits: Float[np.ndarray, "... N"], chosen: Bool[np.ndarray, "... N"]) -> np.ndarray:
    """Probability of the set under the softmax over the variables."""
    return np.asarray((np.exp(log_probabilities(logits)) * chosen).sum(axis=-1))


def excess(logits: Float[np.ndarray, "... N"], members: Bool[np.ndarray, "... N"]) -> np.ndarray:
    """Nats above the optimal loss: the KL divergence from the uniform distribution on the members to the softmax."""
    size = members.sum(axis=-1)
    return np.asarray(-np.where(members, log_probabilities(logits), 0.0).sum(axis=-1) / size - np.log(size))


def log_probabilities(logits: Float[np.ndarray, "... N"]) -> Float[np.ndarray, "... N"]:
    """Under the softmax over the variables, in double precision."""
    from scipy.special import log_softmax  # imported here: training uses this module and must run without scipy

    return log_softmax(logits.astype(np.float64), axis=-1)


def _highest(logits: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return np.where(chosen, logits, -np.inf).max(axis=-1)
