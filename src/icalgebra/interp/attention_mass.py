"""Attention mass of the last position, by the relation of the attended fact to the query xy= and by slot.

    self         the query's own tokens            same left    xw=… with w ≠ y
    same pair    xy=…                              same right   wy=… with w ≠ x
    reverse      yx=… (x ≠ y)                      identity     a fact with the identity of the query's structure
                                                                as an operand
    other        the rest

A fact's slots are left, right, '=', answer and the ',' after it. That ',' opens the next fact but comes before all its
variables, so a model may store the finished fact there. The sequence's first ',' belongs to no fact. A fact may have
several relations to the query (`relations`); `partition` keeps the first that applies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from icalgebra.errors import InputError
from icalgebra.interp.head_names import HeadLike, as_head
from icalgebra.interp.last_token_cache import as_run
from icalgebra.interp.query_batch import QueryBatch
from icalgebra.language.vocabulary import ANSWER, EQUALS, FACT_LENGTH, facts_of
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

RELATIONS = ("self", "same pair", "reverse", "identity", "same left", "same right")
# Not the vocabulary's order of slots: the ',' before a fact carries no information about it, so here a fact begins with
# its left variable and ends with the ',' of the next fact.
FACT_SLOTS = ("left", "right", "=", "answer", "comma behind")
ANSWER_SLOT, COMMA_SLOT = FACT_SLOTS.index("answer"), FACT_SLOTS.index("comma behind")


def attention(model: Transformer, run: Any, head: HeadLike | None = None) -> Float[Tensor, "n ... T"]:
    """Attention of the query's '=' to every token: one head's, [n, T], or all heads', [n, n_layers, n_heads, T].

    run: sequences, text or token rows that end in the query's '='; or a run cached with pattern=True. by_fact() makes
    it attention over facts and their slots.
    """
    pattern = as_run(model, run, pattern=True).pattern
    if pattern is None:
        raise InputError("this run was cached without attention; cache it with pattern=True, or give the prompts")
    return pattern if head is None else pattern[:, *as_head(model, head)]


def relations(queries: QueryBatch) -> dict[str, Bool[np.ndarray, "n k"]]:
    """Which facts have which relation to their row's query. The query itself is the last fact and only `self`."""
    facts = facts_of(queries.tokens)
    left, right = facts[:, :, 0], facts[:, :, 1]
    x, y, e = queries.left[:, None], queries.right[:, None], queries.identity[:, None]
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
    """Each fact under the first relation that applies to it, or under `other`."""
    taken = np.zeros_like(next(iter(found.values())))
    parts = {}
    for name, mask in found.items():
        parts[name] = mask & ~taken
        taken = taken | mask
    return {**parts, "other": ~taken}


def by_fact(pattern: Float[Tensor, "n ... T"]) -> Float[Tensor, "n ... k slots"]:
    """Attention over tokens as attention over facts and slots; the query's answer and the ',' after it are zeros."""
    return F.pad(pattern[..., 1:], (0, 2)).unflatten(-1, (-1, FACT_LENGTH))


def attention_mass(
    pattern: Float[Tensor, "n ... T"], facts: Bool[np.ndarray, "n k"], slot: int | None = None
) -> Float[Tensor, "n ..."]:
    """Total attention on the chosen facts: on all their slots, or on one slot."""
    mass = by_fact(pattern)
    mass = mass.sum(-1) if slot is None else mass[..., slot]
    chosen = torch.tensor(facts, device=pattern.device).to(mass.dtype)
    return torch.einsum("n...k,nk->n...", mass, chosen)


def most_attended_variable(pattern: Float[Tensor, "n ... T"], queries: QueryBatch) -> Int[Tensor, "n ..."]:
    """The variable at the most attended position.

    A context fact's '=' and the ',' after it count as its answer: the first predicts it, the second follows it. The
    sequence's first ',' and the query's '=' keep their own ids.
    """
    tokens = queries.prompts.astype(np.int64)
    counts_as = tokens.copy()
    answers = tokens[:, ANSWER::FACT_LENGTH]
    counts_as[:, EQUALS:-1:FACT_LENGTH] = answers
    counts_as[:, FACT_LENGTH::FACT_LENGTH] = answers
    table = torch.as_tensor(counts_as, device=pattern.device)
    position = pattern.argmax(-1).reshape(len(queries), -1)
    return table.gather(1, position).view(pattern.shape[:-1])
