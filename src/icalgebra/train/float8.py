"""Linear layers whose forward product is taken in 8 bits (e4m3); gradients stay in 16.

Made for inputs of order one, as norms and activations give them: they are rounded as they are, weights are scaled.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

LARGEST = torch.finfo(torch.float8_e4m3fn).max


def rounded(values: Tensor) -> Tensor:
    return values.clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)


class Float8Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """x [rows, in], weight [out, in]."""
        x, weight = x.bfloat16(), weight.bfloat16()
        ctx.save_for_backward(x, weight)
        scale = weight.abs().amax().float().clamp(min=1e-12) / LARGEST
        return torch._scaled_mm(
            rounded(x),
            rounded(weight / scale).t(),
            scale_a=torch.ones((), device=x.device),
            scale_b=scale,
            bias=bias.bfloat16(),
            out_dtype=torch.bfloat16,
            use_fast_accum=True,
        )

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[override]
        x, weight = ctx.saved_tensors
        return gradient @ weight, (gradient.t() @ x).float(), gradient.sum(0, dtype=torch.float32)


class Float8Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.is_autocast_enabled(x.device.type) or not self.training:
            return super().forward(x)
        product = Float8Product.apply(x.flatten(0, -2), self.weight, self.bias)  # type: ignore[no-untyped-call]
        return product.unflatten(0, x.shape[:-1])


def use_float8(model: nn.Module) -> None:
    """The MLPs' layers, in place: the parameters and their names stay. Attention is left alone: it compares."""
    for name, module in model.named_modules():
        if name.endswith((".mlp.up", ".mlp.down")):
            module.__class__ = Float8Linear
