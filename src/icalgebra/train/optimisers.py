"""AdamW, or Muon on the blocks' matrices with AdamW on the rest; state as named tensors, without pickle."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.optim import Optimizer

from icalgebra.errors import InputError
from icalgebra.model.transformer import Transformer
from icalgebra.train.config import TrainConfig
from icalgebra.train.muon import BatchedMuon


class Optimisers:
    """The optimisers of one model, stepped together; the schedule scales each one's peak learning rate."""

    def __init__(self, model: Transformer, config: TrainConfig) -> None:
        named = dict(model.named_parameters())
        matrices = [name for name in named if is_block_matrix(name, named[name])]
        chosen = matrices if config.optimiser == "muon" else []
        rest = [name for name in named if name not in set(chosen)]
        self.names = {"adamw": rest, **({"muon": chosen} if chosen else {})}
        self.peaks = {"adamw": config.lr, "muon": config.muon_lr}
        # On CUDA the learning rate is a tensor: a CUDA graph would replay a plain number as it was at capture.
        device = model.unembedding.device
        lr = {
            kind: torch.tensor(peak, device=device) if device.type == "cuda" else peak
            for kind, peak in self.peaks.items()
        }
        decay = config.weight_decay
        on_cuda = device.type == "cuda"
        adamw = torch.optim.AdamW(
            [named[name] for name in rest], lr=lr["adamw"], weight_decay=decay, fused=True, capturable=on_cuda
        )
        self.parts: dict[str, Optimizer] = {"adamw": adamw}
        if chosen:
            self.parts["muon"] = BatchedMuon([named[name] for name in chosen], lr["muon"], decay)

    def set_lr_scale(self, scale: float) -> None:
        for kind, optimiser in self.parts.items():
            for group in optimiser.param_groups:
                lr = self.peaks[kind] * scale
                if isinstance(group["lr"], Tensor):
                    group["lr"].fill_(lr)
                else:
                    group["lr"] = lr

    def step(self) -> None:
        for optimiser in self.parts.values():
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    def state_tensors(self) -> dict[str, Tensor]:
        """muon/blocks.0.mlp.up.weight/momentum_buffer -> tensor, and so on."""
        return {
            f"{kind}/{self.names[kind][place]}/{key}": value.detach().cpu().contiguous()
            for kind, optimiser in self.parts.items()
            for place, values in optimiser.state_dict()["state"].items()
            for key, value in values.items()
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        for kind, optimiser in self.parts.items():
            state: dict[int, dict[str, Tensor]] = {}
            for place, name in enumerate(self.names[kind]):
                prefix = f"{kind}/{name}/"
                state[place] = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
            if not all(state.values()):
                raise InputError(
                    "the checkpoint's optimiser state belongs to another optimiser or model; start a new run instead"
                )
            optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def is_block_matrix(name: str, parameter: Tensor) -> bool:
    return name.startswith("blocks.") and parameter.ndim == 2


def lr_scale(step: int, config: TrainConfig) -> float:
    """The share of the peak learning rates: from warmup_from up to 1, then down to 0 at the end of the schedule.

    A pure function of the step; steps count from 0.
    """
    if step < config.warmup:
        return config.warmup_from + (1.0 - config.warmup_from) * step / config.warmup
    if config.schedule == "constant":
        return 1.0
    length = config.schedule_steps or config.steps
    progress = (step - config.warmup) / max(1, length - config.warmup)
    return 1.0 - progress if config.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * progress))
