"""Linear layers that take two of their three products in 8 bits: forward, and the gradient of the input.

Forward: e4m3, made for inputs of order one, as norms and activations give them: they are rounded as they are, weights
are scaled. Backward: gradients in e5m2, which has the wider range. The weights' own gradient stays in 16 bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

FORWARD, BACKWARD = torch.float8_e4m3fn, torch.float8_e5m2


def rounded(values: Tensor, dtype: torch.dtype) -> Tensor:
    largest = torch.finfo(dtype).max
    return values.clamp(-largest, largest).to(dtype)


def product(left: Tensor, scale_left: Tensor, right: Tensor, scale_right: Tensor, bias: Tensor | None = None) -> Tensor:
    """left [m, k] @ right [k, n], both in 8 bits, times their scales."""
    columns = right.t().contiguous().t()  # the kernel reads the right factor by columns
    return torch._scaled_mm(
        left, columns, scale_left, scale_right, bias=bias, out_dtype=torch.bfloat16, use_fast_accum=True
    )


class Float8Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """x [rows, in], weight [out, in]."""
        x, weight = x.bfloat16(), weight.bfloat16()
        scale = weight.abs().amax().float().clamp(min=1e-12) / torch.finfo(FORWARD).max
        small = rounded(weight / scale, FORWARD)
        ctx.save_for_backward(x, small, scale)
        return product(rounded(x, FORWARD), torch.ones_like(scale), small.t(), scale, bias.bfloat16())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[override]
        x, small, scale = ctx.saved_tensors
        # The loss is a mean over rows, so a row's gradient is of order 1 / rows.
        rows = gradient.shape[0]
        of_input = product(rounded(gradient * rows, BACKWARD), torch.ones_like(scale) / rows, small, scale)
        return of_input, (gradient.t() @ x).float(), gradient.sum(0, dtype=torch.float32)


class Float8Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.is_autocast_enabled(x.device.type) or not self.training:
            return super().forward(x)
        found = Float8Product.apply(x.flatten(0, -2), self.weight, self.bias)  # type: ignore[no-untyped-call]
        return found.unflatten(0, x.shape[:-1])


def use_float8(model: nn.Module) -> None:
    """The MLPs' layers, in place: the parameters and their names stay. Attention is left alone: it compares."""
    for name, module in model.named_modules():
        if name.endswith((".mlp.up", ".mlp.down")):
            module.__class__ = Float8Linear
