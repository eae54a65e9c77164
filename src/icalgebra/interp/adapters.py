"""The model in other tools. These are extras, so each tool is imported only when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from icalgebra.errors import InputError
from icalgebra.interp.patching import head_sites, target_probability
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor


def to_nnsight(model: Transformer) -> Any:
    """The model inside nnsight; every hook point is an envoy of the same name."""
    try:
        from nnsight import NNsight
    except ImportError as error:
        raise InputError("nnsight is not installed: pip install 'icalgebra[nnsight]'") from error
    return NNsight(model)


@torch.no_grad()
def nnsight_head_sweep(
    wrapped: Any, clean: Int[Tensor, "n T"], corrupt: Int[Tensor, "n T"], targets: Int[Tensor, " n"]
) -> Float[Tensor, "sites n"]:
    """Every head's indirect effect through nnsight, one patched run per head: an independent check of patching.py."""
    model: Transformer = wrapped._module if hasattr(wrapped, "_module") else wrapped._model
    before = target_probability(model(corrupt)[:, -1:], targets)[:, 0]
    effects = []
    for site in head_sites(model):
        layer = int(site.name.split(".")[1])
        with wrapped.trace(clean):
            value = wrapped.blocks[layer].attn.hook_z.output[:, -1, site.head].save()
        with wrapped.trace(corrupt):
            wrapped.blocks[layer].attn.hook_z.output[:, -1, site.head] = value
            logits = wrapped.output.save()
        effects.append(target_probability(logits[:, -1:], targets)[:, 0] - before)
    return torch.stack(effects)
