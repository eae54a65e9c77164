"""What a set of heads is worth. Everything happens at the last position, so runs are resumed.

necessary    the heads' outputs are replaced by their mean over `train` sequences (mean) or by those of one other
             sequence (resample); the share of queries still answered, against the same number of other heads (control)
sufficient   only these heads' outputs are carried from a run into a `holdout` run with another query and answer; the
             share of runs that now give the first one's answer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from icalgebra.interp.heads import Head
from icalgebra.interp.last_token_cache import LastTokenCache, cache_last_token, resume
from icalgebra.interp.patching import swap_heads
from icalgebra.interp.query_batch import QueryBatch
from icalgebra.model.predict import chunks, on_device, rows_per_pass, top_variable
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from torch import Tensor


def head_masks(model: Transformer, sets: Sequence[Sequence[Head]]) -> Bool[Tensor, "variants n_layers n_heads"]:
    masks = torch.zeros(len(sets), model.config.n_layers, model.config.n_heads, dtype=torch.bool)
    for mask, heads in zip(masks, sets, strict=True):
        for layer, head in heads:
            mask[layer, head] = True
    return masks.to(model.unembedding.device)


def other_heads(model: Transformer, heads: Sequence[Head], seed: int) -> list[Head]:
    """As many random heads outside the set, from the same layers where these have any left: the control.

    None at all where there are not as many: fewer heads would be no fair comparison.
    """
    everywhere = [(i, head) for i in range(model.config.n_layers) for head in range(model.config.n_heads)]
    if len(everywhere) < 2 * len(heads):
        return []
    drawn: list[Head] = []
    generator = np.random.Generator(np.random.PCG64(seed % 2**64))
    for layer, _ in heads:
        free = [head for head in everywhere if head not in heads and head not in drawn]
        near = [head for head in free if head[0] == layer] or free
        drawn.append(near[generator.integers(len(near))])
    return drawn


@torch.no_grad()
def with_heads_replaced(
    model: Transformer, run: LastTokenCache, source: Float[Tensor, "n n_layers n_heads d_head"], masks: Tensor
) -> Float[Tensor, "n variants d_vocab"]:
    """Logits where every variant's heads carry the source's output; the run has keys."""
    changes = {
        f"blocks.{layer}.attn.hook_z": swap_heads(source[:, layer], masks[:, layer])
        for layer in range(model.config.n_layers)
        if masks[:, layer].any()
    }
    return resume(model, run, changes, len(masks))


@dataclass(frozen=True)
class Worth:
    """Which queries got the wanted answer, bool [n, sets of heads]."""

    plain: Bool[np.ndarray, " n"]
    mean: Bool[np.ndarray, "n sets"]
    resample: Bool[np.ndarray, "n sets"]
    sufficient: Bool[np.ndarray, "n sets"]


def ablation_effects(
    model: Transformer,
    cases: QueryBatch,
    corrupt: QueryBatch,
    donors: Float[Tensor, "n n_layers n_heads d_head"],
    sets: Sequence[Sequence[Head]],
) -> Worth:
    """Ablate every set of heads in the runs of `cases`, and carry it from them into those of `corrupt`.

    donors: head outputs of other sequences, one for each case; their mean is what mean ablation puts in.
    """
    masks, average = head_masks(model, sets), donors.mean(0, keepdim=True)
    parts = [
        _worth_of(model, cases[rows], corrupt[rows], donors[rows], average, masks)
        for rows in chunks(len(cases), rows_per_pass(model, cases.prompts.shape[1]))
    ]
    names = ("plain", "mean", "resample", "sufficient")
    return Worth(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _worth_of(
    model: Transformer, cases: QueryBatch, corrupt: QueryBatch, donors: Tensor, average: Tensor, masks: Tensor
) -> Worth:
    run, other = (cache_last_token(model, on_device(model, part.prompts), keys=True) for part in (cases, corrupt))

    def right(logits: Tensor) -> np.ndarray:
        return answered(model, logits, cases)

    return Worth(
        plain=right(run.logits),
        mean=right(with_heads_replaced(model, run, average.expand(len(run), -1, -1, -1), masks)),
        resample=right(with_heads_replaced(model, run, donors, masks)),
        sufficient=right(with_heads_replaced(model, other, run.z, masks)),
    )


def mean_ablate(
    model: Transformer,
    cases: QueryBatch,
    average: Float[Tensor, "1 n_layers n_heads d_head"],
    sets: Sequence[Sequence[Head]],
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, "n sets"]]:
    """Which queries are answered as it is, and with every set of heads in turn replaced by an average output."""
    masks, found = head_masks(model, sets), []
    for rows in chunks(len(cases), rows_per_pass(model, cases.prompts.shape[1])):
        run = cache_last_token(model, on_device(model, cases.prompts[rows]), keys=True)
        logits = with_heads_replaced(model, run, average.expand(len(run), -1, -1, -1), masks)
        found.append(answered(model, torch.cat([run.logits[:, None], logits], dim=1), cases[rows]))
    right = np.concatenate(found)
    return right[:, 0], right[:, 1:]


def answered(
    model: Transformer, logits: Float[Tensor, "n ... d_vocab"], cases: QueryBatch
) -> Bool[np.ndarray, "n ..."]:
    """Whether the highest logit among the variables is the answer's, and its alone."""
    predicted = top_variable(logits[..., : model.config.n_variables])
    return predicted == cases.answer.reshape(-1, *[1] * (predicted.ndim - 1))
