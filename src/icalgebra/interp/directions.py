"""Principal directions, and steering along them.

The sign of a principal direction is arbitrary. Here it points along a given difference of means, or else has a positive
largest coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from icalgebra.errors import InputError
from icalgebra.interp.head_names import as_layer
from icalgebra.interp.last_token_cache import as_run, resume
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True)
class Principal:
    """Orthonormal directions in order of decreasing variance, the mean, and the share of variance each explains."""

    mean: Float[Tensor, " d"]
    directions: Float[Tensor, "k d"]
    explained: Float[Tensor, " k"]

    def project(self, values: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        return (values - self.mean) @ self.directions.T


@torch.no_grad()
def principal(values: Float[Tensor, "n d"], k: int = 2, towards: Float[Tensor, " d"] | None = None) -> Principal:
    """PCA by an exact singular value decomposition in double precision, with the signs fixed."""
    exact = values.double().cpu()
    mean = exact.mean(0)
    _, spread, directions = torch.linalg.svd(exact - mean, full_matrices=False)
    directions = directions[:k]
    if towards is None:
        sign = directions.gather(1, directions.abs().argmax(1, keepdim=True))[:, 0].sign()
    else:
        sign = (directions @ towards.double().cpu()).sign()
    directions = directions * torch.where(sign == 0, 1.0, sign)[:, None]
    explained = spread.square()[:k] / spread.square().sum()
    return Principal(mean.to(values), directions.to(values), explained.to(values))


@dataclass(frozen=True)
class Separation:
    """Two clusters along one direction: the threshold halfway between their means, and the distance of the means."""

    scores: np.ndarray
    threshold: float
    distance: float


def separation(scores: Float[np.ndarray, " n"], labels: Bool[np.ndarray, " n"]) -> Separation:
    means = scores[labels].mean(), scores[~labels].mean()
    return Separation(scores, float(sum(means) / 2), float(means[0] - means[1]))


@torch.no_grad()
def steer(
    model: Transformer, run: Any, steps: Float[Tensor, "... d_model"], layer: int = -1
) -> Float[Tensor, "n variants d_vocab"]:
    """Logits after adding each steering vector to a layer's attention output at the last position.

    run: sequences, text or token rows that end in the query's '='; or a run cached with keys=True.
    """
    steps = torch.atleast_2d(steps)
    if steps.shape[-1] != model.config.d_model:
        raise InputError(f"steering vectors of this model have {model.config.d_model} entries, not {steps.shape[-1]}")
    change = {f"blocks.{as_layer(model, layer)}.hook_attn_out": lambda value: value + steps}
    return resume(model, as_run(model, run, keys=True), change, len(steps))


def doses(direction: Float[Tensor, " d"], amounts: Sequence[float]) -> Float[Tensor, "variants d"]:
    """One steering vector per amount, in raw units of the residual stream."""
    return torch.as_tensor(amounts, dtype=direction.dtype, device=direction.device)[:, None] * direction


def random_directions(like: Float[Tensor, " d"], n: int, seed: int) -> Float[Tensor, "n d"]:
    """Uniform random unit vectors: the control for any direction of the same norm."""
    drawn = torch.randn(n, len(like), generator=torch.Generator().manual_seed(seed))
    return (drawn / drawn.norm(dim=1, keepdim=True)).to(like)
