"""Attention mass of the last position, by the relation of the attended fact to the query xy= and by slot.

    self         the query's own tokens            same left    xw=… with w ≠ y
    same pair    xy=…                              same right   wy=… with w ≠ x
    reverse      yx=… (x ≠ y)                      identity     a fact with the identity of the query's structure
                                                                for an operand
    other        the rest

A fact's slots are left, right, '=', answer and the ',' behind it, which opens the next fact but has only seen this one:
a model may keep the finished fact there. The sequence's first ',' belongs to no fact. A fact may stand in several
relations (`relations`); `partition` gives each fact to the first that fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from icalgebra.interp.query_batch import QueryBatch
from icalgebra.language.vocabulary import ANSWER, EQUALS, FACT_LENGTH, facts_of

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

RELATIONS = ("self", "same pair", "reverse", "identity", "same left", "same right")
# The vocabulary's slots in another order: a fact's own ',' stands before it and tells nothing of it, so that a fact
# begins with its left variable here and ends with the ',' of the next.
FACT_SLOTS = ("left", "right", "=", "answer", "comma behind")
ANSWER_SLOT, COMMA_SLOT = FACT_SLOTS.index("answer"), FACT_SLOTS.index("comma behind")


def relations(cases: QueryBatch) -> dict[str, Bool[np.ndarray, "n k"]]:
    """Which facts stand in which relation to their row's query; the query is the last fact and only `self`."""
    facts = facts_of(cases.tokens)
    left, right = facts[:, :, 0], facts[:, :, 1]
    x, y, e = cases.left[:, None], cases.right[:, None], cases.identity[:, None]
    context = np.arange(facts.shape[1]) < facts.shape[1] - 1
    pair = (left == x) & (right == y)
    found = {
        "self": np.broadcast_to(~context, pair.shape),
        "same pair": pair & context,
        "reverse": (left == y) & (right == x) & (x != y) & context,
        "identity": ((left == e) | (right == e)) & context,
        "same left": (left == x) & ~pair & context,
        "same right": (right == y) & ~pair & context,
    }
    return {name: found[name] for name in RELATIONS}


def partition(found: dict[str, Bool[np.ndarray, "n k"]]) -> dict[str, Bool[np.ndarray, "n k"]]:
    """Each fact in the first relation that fits it, else in `other`."""
    taken = np.zeros_like(next(iter(found.values())))
    parts = {}
    for name, mask in found.items():
        parts[name] = mask & ~taken
        taken = taken | mask
    return {**parts, "other": ~taken}


def by_fact(pattern: Float[Tensor, "n ... T"]) -> Float[Tensor, "n ... k slots"]:
    """Attention over tokens as attention over facts and slots; the query has neither answer nor ',' behind it."""
    return F.pad(pattern[..., 1:], (0, 2)).unflatten(-1, (-1, FACT_LENGTH))


def attention_mass(
    pattern: Float[Tensor, "n ... T"], facts: Bool[np.ndarray, "n k"], slot: int | None = None
) -> Float[Tensor, "n ..."]:
    """How much of the attention lies on some facts, in all their slots or in one."""
    mass = by_fact(pattern)
    mass = mass.sum(-1) if slot is None else mass[..., slot]
    chosen = torch.tensor(facts, device=pattern.device).to(mass.dtype)
    return torch.einsum("n...k,nk->n...", mass, chosen)


def most_attended_variable(pattern: Float[Tensor, "n ... T"], cases: QueryBatch) -> Int[Tensor, "n ..."]:
    """The variable at the most attended position.

    A context fact's '=' and the ',' behind it stand for its answer, which one predicts and the other has just seen; the
    sequence's first ',' and the query's '=' keep their ids.
    """
    tokens = cases.prompts.astype(np.int64)
    stands_for = tokens.copy()
    answers = tokens[:, ANSWER::FACT_LENGTH]
    stands_for[:, EQUALS:-1:FACT_LENGTH] = answers
    stands_for[:, FACT_LENGTH::FACT_LENGTH] = answers
    table = torch.as_tensor(stands_for, device=pattern.device)
    position = pattern.argmax(-1).reshape(len(cases), -1)
    return table.gather(1, position).view(pattern.shape[:-1])
