"""Ablation effects of sets of heads. All interventions are at the last position, so runs are resumed.

necessary    the heads' outputs are replaced by their mean over `train` sequences (mean) or by those of one other
             sequence (resample). Accuracy then, compared with as many other heads ablated (control)
sufficient   only these heads' outputs are patched from a run into a `holdout` run with another query and answer. The
             share of patched runs that give the first run's answer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from icalgebra.interp.components import Component, Masks, set_where
from icalgebra.interp.head_names import Head, HeadLike, as_head
from icalgebra.interp.last_token_cache import LastTokenCache, as_run, cache_last_token, resume
from icalgebra.interp.patching import swap_heads
from icalgebra.interp.query_batch import QueryBatch
from icalgebra.model.predict import on_device, passes, top_variable
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from torch import Tensor


def mean_outputs(model: Transformer, prompts: Any) -> Float[Tensor, "n_layers n_heads d_head"]:
    """Every head's mean output at the last position: ablate("2.1", to=mean_outputs(model, sample("train", 64, 50)))."""
    return as_run(model, prompts).z.mean(0)


def head_masks(model: Transformer, sets: Sequence[Sequence[HeadLike]]) -> Bool[Tensor, "variants n_layers n_heads"]:
    masks = torch.zeros(len(sets), model.config.n_layers, model.config.n_heads, dtype=torch.bool)
    for mask, heads in zip(masks, sets, strict=True):
        for head in heads:
            mask[as_head(model, head)] = True
    return masks.to(model.unembedding.device)


def other_heads(model: Transformer, heads: Sequence[Head], seed: int) -> list[Head]:
    """The control: as many random heads outside the set, from the same layers as far as these have heads left.

    Empty if there are not as many: ablating fewer heads would not be a fair comparison.
    """
    all_heads = [(i, head) for i in range(model.config.n_layers) for head in range(model.config.n_heads)]
    if len(all_heads) < 2 * len(heads):
        return []
    drawn: list[Head] = []
    generator = np.random.Generator(np.random.PCG64(seed % 2**64))
    for layer, _ in heads:
        free = [head for head in all_heads if head not in heads and head not in drawn]
        near = [head for head in free if head[0] == layer] or free
        drawn.append(near[generator.integers(len(near))])
    return drawn


@torch.no_grad()
def with_heads_replaced(
    model: Transformer, run: LastTokenCache, source: Float[Tensor, "n n_layers n_heads d_head"], masks: Tensor
) -> Float[Tensor, "n variants d_vocab"]:
    """Logits with each variant's heads set to the source's outputs. The run must have been cached with keys=True."""
    changes = {
        f"blocks.{layer}.attn.hook_z": swap_heads(source[:, layer], masks[:, layer])
        for layer in range(model.config.n_layers)
        if masks[:, layer].any()
    }
    return resume(model, run, changes, len(masks))


@dataclass(frozen=True)
class AblationEffects:
    """Which queries are answered correctly: without ablation (plain), and for every set of heads."""

    plain: Bool[np.ndarray, " n"]
    mean: Bool[np.ndarray, "n sets"]
    resample: Bool[np.ndarray, "n sets"]
    sufficient: Bool[np.ndarray, "n sets"]


def ablation_effects(
    model: Transformer,
    queries: QueryBatch,
    corrupt: QueryBatch,
    donors: Float[Tensor, "n n_layers n_heads d_head"],
    sets: Sequence[Sequence[HeadLike]],
) -> AblationEffects:
    """Ablate every set of heads in the runs of `queries`, and patch it from these into the runs of `corrupt`.

    donors: head outputs of other sequences, one for each query (resample ablation); mean ablation uses their mean.
    """
    masks, average = head_masks(model, sets), donors.mean(0, keepdim=True)
    parts = [
        _batch_effects(model, queries[rows], corrupt[rows], donors[rows], average, masks)
        for rows in passes(model, queries.prompts)
    ]
    names = ("plain", "mean", "resample", "sufficient")
    return AblationEffects(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _batch_effects(
    model: Transformer, queries: QueryBatch, corrupt: QueryBatch, donors: Tensor, average: Tensor, masks: Tensor
) -> AblationEffects:
    run, other = (cache_last_token(model, on_device(model, part.prompts), keys=True) for part in (queries, corrupt))

    def right(logits: Tensor) -> np.ndarray:
        return answered(model, logits, queries)

    return AblationEffects(
        plain=right(run.logits),
        mean=right(with_heads_replaced(model, run, average.expand(len(run), -1, -1, -1), masks)),
        resample=right(with_heads_replaced(model, run, donors, masks)),
        sufficient=right(with_heads_replaced(model, other, run.z, masks)),
    )


def mean_ablate(
    model: Transformer,
    queries: QueryBatch,
    average: Float[Tensor, "1 n_layers n_heads d_head"],
    sets: Sequence[Sequence[HeadLike]],
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, "n sets"]]:
    """Which queries are answered correctly without ablation, and with each set of heads set to an average output."""
    masks, found = head_masks(model, sets), []
    for rows in passes(model, queries.prompts):
        run = cache_last_token(model, on_device(model, queries.prompts[rows]), keys=True)
        logits = with_heads_replaced(model, run, average.expand(len(run), -1, -1, -1), masks)
        found.append(answered(model, torch.cat([run.logits[:, None], logits], dim=1), queries[rows]))
    right = np.concatenate(found)
    return right[:, 0], right[:, 1:]


def ablate_each(
    model: Transformer, queries: QueryBatch, donors: LastTokenCache, components: Sequence[Component]
) -> Bool[np.ndarray, "n components"]:
    """Which queries are answered correctly with each head or MLP, at '=', set to its mean over the donors' runs."""
    z, mlp_out, sets = donors.z.mean(0), donors.mlp_out.mean(0), [[component] for component in components]
    found = []
    for rows in passes(model, queries.prompts):
        run = cache_last_token(model, on_device(model, queries.prompts[rows]), keys=True)
        found.append(answered(model, with_parts_replaced(model, run, z, mlp_out, sets), queries[rows]))
    return np.concatenate(found)


@torch.no_grad()
def with_parts_replaced(
    model: Transformer,
    run: LastTokenCache,
    z: Float[Tensor, "n_layers n_heads d_head"],
    mlp_out: Float[Tensor, "n_layers d_model"],
    sets: Sequence[Sequence[Component]],
) -> Float[Tensor, "n sets d_vocab"]:
    """Logits with the heads and MLPs of each set, at '=', set to these outputs; the run was cached with keys=True."""
    masks, changes = Masks.of_sets(model, sets), {}
    for layer in range(model.config.n_layers):
        changes[f"blocks.{layer}.attn.hook_z"] = set_where(masks.heads[:, layer, -1, :, None], z[layer])
        changes[f"blocks.{layer}.hook_mlp_out"] = set_where(masks.mlps[:, layer, -1, None], mlp_out[layer])
    return resume(model, run, changes, len(sets))


def answered(
    model: Transformer, logits: Float[Tensor, "n ... d_vocab"], queries: QueryBatch
) -> Bool[np.ndarray, "n ..."]:
    """Whether the answer has the highest logit among the variables; a tie is wrong."""
    predicted = top_variable(logits[..., : model.config.n_variables])
    return predicted == queries.answer.reshape(-1, *[1] * (predicted.ndim - 1))
