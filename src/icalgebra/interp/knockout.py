"""Attention knock-out: which reads of the context are needed?

A read is (query token, slot of the earlier facts, layer, head): the token attends to that slot of every fact of the
context. Blocked reads get no attention, in all their layers and heads at once, and the rest of the attention is
renormalised. Both what is read and where the reading takes place show in what the model can still answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from icalgebra.interp.query_cache import QUERY_TOKENS, cache_query, resume_query, variants_per_pass
from icalgebra.language.vocabulary import SLOTS
from icalgebra.model.predict import chunks, on_device, passes, top_variable
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool, Int, Integer


@dataclass(frozen=True)
class Reads:
    """Reads to block; an empty field means all: Reads(slots=("comma",)) is every read of a ',' by any query token."""

    slots: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()

    def mask(self, model: Transformer) -> Bool[Tensor, "n_layers n_heads 4 5"]:
        chosen = [
            _flags(self.layers, range(model.config.n_layers)),
            _flags(self.heads, range(model.config.n_heads)),
            _flags(self.tokens, QUERY_TOKENS),
            _flags(self.slots, SLOTS),
        ]
        layers, heads, tokens, slots = chosen
        return layers[:, None, None, None] & heads[:, None, None] & tokens[:, None] & slots


def _flags(chosen: Sequence[object], every: Sequence[object]) -> Tensor:
    return torch.tensor([not chosen or item in chosen for item in every])


@torch.no_grad()
def answers_without(
    model: Transformer, prompts: Integer[np.ndarray, "n T"], reads: Sequence[Reads]
) -> Int[np.ndarray, "n reads"]:
    """What the model answers with each set of reads blocked; −1 where two answers tie."""
    blocked = torch.stack([item.mask(model) for item in reads]).to(model.unembedding.device)
    n_variables, found = model.config.n_variables, []
    for rows in passes(model, prompts):
        run = cache_query(model, on_device(model, prompts[rows]))
        size = variants_per_pass(model, run)
        logits = [resume_query(model, run, {}, len(blocked[part]), blocked[part]) for part in chunks(len(reads), size)]
        found.append(top_variable(torch.cat(logits, 1)[..., :n_variables]))
    return np.concatenate(found)


def by_slot(tokens: Sequence[tuple[str, ...]] = (*((token,) for token in QUERY_TOKENS), ())) -> list[Reads]:
    """Every slot, by each of the query's tokens alone and (the empty tuple) by all four."""
    return [Reads(slots=(slot,), tokens=chosen) for slot in SLOTS for chosen in tokens]


def by_layer_and_head(model: Transformer, slot: str) -> list[Reads]:
    """One slot, in each head of each layer alone."""
    config = model.config
    return [
        Reads((slot,), layers=(layer,), heads=(head,))
        for layer in range(config.n_layers)
        for head in range(config.n_heads)
    ]
