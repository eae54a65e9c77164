"""A forward pass that computes only what is read: the same logits at some places, at two thirds of the work.

- The last block is computed at these places alone. Elsewhere only its keys and values are needed. For the answer of
  one query that is a quarter of a pass of four layers.
- A trunk with branches (prefix_accuracy.py) needs no mask of [T, T]: the trunk is causal, and only the branches have a
  mask. With a mask, scores are computed in full, those above the diagonal as well.

On a CPU, where a pass is bound by its arithmetic, and only while nothing is hooked: a hook reads or changes activations
that are skipped here. The products sum in another order, so logits differ in the last bits, by up to 2e-5 in `small`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from icalgebra.model.transformer import Block, Transformer, rotate

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


@dataclass(frozen=True)
class Branches:
    """What the tokens behind a causal trunk may attend to, bool [branch tokens, T]: rows of the whole mask."""

    n_trunk: int
    mask: Bool[Tensor, "branch T"]

    def full_mask(self) -> Bool[Tensor, "T T"]:
        trunk = torch.ones(self.n_trunk, self.mask.shape[1], dtype=torch.bool, device=self.mask.device).tril()
        return torch.cat([trunk, self.mask])


def can_be_partial(model: Transformer) -> bool:
    """Whether this is a plain model on a CPU that nothing reads or changes."""
    return (
        type(model) is Transformer
        and model.unembedding.device.type == "cpu"
        and not model.training
        and not is_hooked(model)
        and not any(getattr(module, "watched", False) for module in model.modules())
    )


def is_hooked(model: Transformer) -> bool:
    """Whether any of its modules has a forward hook, icalgebra's or torch's own."""
    return any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def partial_logits(
    model: Transformer,
    tokens: Int[Tensor, "n T"],
    places: slice,
    positions: Int[Tensor, " T"] | None = None,
    branches: Branches | None = None,
) -> Float[Tensor, "n places d_vocab"]:
    """As model(tokens)[:, places]."""
    length = tokens.shape[1]
    cos, sin = model.angles(length, positions)
    x = model.embedded(tokens)
    *before, last = cast(list[Block], list(model.blocks))
    for block in before:
        # Without branches the very operations of the block itself.
        x = block(x, cos, sin, None) if branches is None else _block(block, x, cos, sin, slice(None), branches)
    return model.read_out(_block(last, x, cos, sin, places, branches))


def _block(
    block: Block, x: Float[Tensor, "n T d"], cos: Tensor, sin: Tensor, places: slice, branches: Branches | None
) -> Float[Tensor, "n places d"]:
    """A block's output at some places."""
    q, k, v = block.attn.queries_keys_values(block.ln1(x))
    q, k = rotate(q[:, places], cos[places], sin[places]), rotate(k, cos, sin)
    z = _attended(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), places, branches)
    x = x[:, places] + block.attn.o(z.transpose(1, 2).flatten(2))
    return x + block.mlp(block.ln2(x))


def _attended(q: Tensor, k: Tensor, v: Tensor, places: slice, branches: Branches | None) -> Float[Tensor, "n H P d"]:
    length = k.shape[2]
    at = torch.arange(length, device=k.device)
    n_trunk = length if branches is None else branches.n_trunk
    asked = at[places]
    n_early = int((asked < n_trunk).sum())  # places are in order: first those in the trunk
    early, late = asked[:n_early], asked[n_early:]
    parts = []
    if n_early:
        whole = n_early == n_trunk
        mask = None if whole else at[:n_trunk] <= early[:, None]
        parts.append(F.scaled_dot_product_attention(
            q[:, :, :n_early], k[:, :, :n_trunk], v[:, :, :n_trunk], attn_mask=mask, is_causal=whole
        ))  # fmt: skip
    if branches is not None and len(late):
        parts.append(F.scaled_dot_product_attention(q[:, :, n_early:], k, v, attn_mask=branches.mask[late - n_trunk]))
    return torch.cat(parts, dim=2) if len(parts) > 1 else parts[0]
