"""A model made wider without changing what it computes: is a fit that converges at one width good at another?

Every coordinate of the residual stream, every head and every neuron is repeated `factor` times, and every matrix that
reads from repeated inputs is divided by it. A LayerNorm sees the same mean and variance, so each copy is normalised
alike. The last norm is divided as well, since the unembedding is the transposed embedding and sums over all copies.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from icalgebra.model.transformer import Transformer


@torch.no_grad()
def widened(model: Transformer, factor: int) -> Transformer:
    """Logits equal those of the model up to rounding; d_model, d_mlp and n_heads are `factor` times as large."""
    config = model.config
    shape = replace(
        config, d_model=factor * config.d_model, d_mlp=factor * config.d_mlp, n_heads=factor * config.n_heads
    )
    wide = Transformer(shape).to(model.unembedding.device).eval()
    wide.load_state_dict({name: _repeated(name, value, factor) for name, value in model.state_dict().items()})
    return wide


def _repeated(name: str, value: Tensor, factor: int) -> Tensor:
    if name == "embed.weight":
        return value.repeat(1, factor)
    if value.ndim == 2:  # [out, in]: all outputs again for every copy, each summing over all copies of its inputs
        return value.repeat(factor, factor) / factor
    return value.repeat(factor) / (factor if name.startswith("ln_final") else 1)
