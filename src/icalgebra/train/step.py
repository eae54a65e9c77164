"""One training step: loss, gradient, clipping, optimisers. On one GPU it is captured as a CUDA graph and replayed.

A small model's step is hundreds of kernel launches, each of which costs the CPU more than the GPU; a CUDA graph is one
launch. At d_model = 256 a step took 21 ms whether the batch was 128 or 64, since the GPU was waiting; as a graph it
takes 17 to 18 ms.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from icalgebra.language.vocabulary import EQUALS, FACT_LENGTH
from icalgebra.model.transformer import Transformer
from icalgebra.train.config import TrainConfig
from icalgebra.train.distributed import Ranks
from icalgebra.train.optimisers import Optimisers

NO_TARGET = -100  # a target that cross_entropy ignores
EAGER_STEPS = 3  # at each batch shape before capture: compilation and the optimisers' state must come first


def autocast(config: TrainConfig, device: torch.device) -> AbstractContextManager[Any]:
    """The precision in which a run is trained and evaluated."""
    used = config.precision == "bf16" and device.type == "cuda"
    return torch.autocast(device.type, torch.bfloat16) if used else nullcontext()


class NextTokenLoss(nn.Module):
    """Mean loss over all tokens of a batch: with weighted answers, to train on, and unweighted, to compare runs.

    This module is what is compiled and, with several ranks, wrapped in DistributedDataParallel.
    """

    weights: Tensor  # of the next token's loss, by slot of the current token

    def __init__(self, model: Transformer, answer_weight: float = 1.0) -> None:
        super().__init__()
        self.model = model
        weights = torch.ones(FACT_LENGTH, device=model.unembedding.device)
        weights[EQUALS] = answer_weight
        self.register_buffer("weights", weights, persistent=False)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        tokens = tokens.long()  # batches are sent to the device as uint8
        # The last token goes in too, though nothing follows it: kernels prefer length 1000 to 999 (not measured alone).
        logits = self.model(tokens)
        targets = F.pad(tokens[:, 1:], (0, 1), value=NO_TARGET)
        losses = F.cross_entropy(
            logits.flatten(0, 1).float(), targets.flatten(), ignore_index=NO_TARGET, reduction="none"
        ).view(-1, FACT_LENGTH)
        rows, facts = tokens.shape[0], losses.shape[0]
        weight = facts * self.weights.sum() - rows  # nothing follows the last token of a row
        plain = losses.detach().sum() / (tokens.numel() - rows)
        return (losses * self.weights).sum() / weight, plain


class TrainStep:
    """Calling it with a batch takes one step and returns the unweighted loss, which stays on the device."""

    def __init__(
        self, model: Transformer, optimisers: Optimisers, config: TrainConfig, device: torch.device, ranks: Ranks
    ) -> None:
        self.model, self.optimisers, self.config, self.device = model, optimisers, config, device
        self.loss = self._loss_module(ranks)
        self.captures = device.type == "cuda" and config.cuda_graphs and ranks.size == 1
        self.captured: dict[torch.Size, CudaGraphStep] = {}
        self.eager_steps: dict[torch.Size, int] = {}

    def __call__(self, batch: Tensor, lr_scale: float) -> Tensor:
        self.optimisers.set_lr_scale(lr_scale)
        shape = batch.shape
        if shape in self.captured:
            return self.captured[shape].replay(batch)
        if self.captures and self.eager_steps.get(shape, 0) == EAGER_STEPS:
            kept = self.captured if self.config.lengths else {}  # after a short phase its graph is not needed again
            self.captured = {**kept, shape: CudaGraphStep(self, batch)}
            return self.captured[shape].replay(batch)
        self.eager_steps[shape] = self.eager_steps.get(shape, 0) + 1
        return self.run(batch)

    def run(self, batch: Tensor) -> Tensor:
        """The step itself, eagerly or under capture."""
        parts = batch.chunk(self.config.micro_batches)
        total = torch.zeros((), device=self.device)
        for i, part in enumerate(parts):
            with self._synchronised_only_at(i == len(parts) - 1), autocast(self.config, self.device):
                weighted, plain = self.loss(part)
            (weighted / len(parts)).backward()
            total += plain / len(parts)
        if self.config.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimisers.step()
        return total

    def _loss_module(self, ranks: Ranks) -> nn.Module:
        loss: Any = NextTokenLoss(self.model, self.config.answer_weight)
        if self.config.compile != "none" and self.device.type == "cuda":
            loss = torch.compile(loss, dynamic=False, mode=self.config.compile)
        return DistributedDataParallel(loss) if ranks.size > 1 else loss

    def _synchronised_only_at(self, last: bool) -> AbstractContextManager[Any]:
        wrapped = isinstance(self.loss, DistributedDataParallel)
        return self.loss.no_sync() if wrapped and not last else nullcontext()  # type: ignore[operator]


class CudaGraphStep:
    """A step as a CUDA graph. Capturing runs nothing: the first replay is the step itself."""

    def __init__(self, step: TrainStep, batch: Tensor) -> None:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.batch = batch.clone()
        self.graph = torch.cuda.CUDAGraph()
        # thread_local: the sampler's thread keeps pinning memory during capture
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = step.run(self.batch)

    def replay(self, batch: Tensor) -> Tensor:
        self.batch.copy_(batch, non_blocking=True)
        self.graph.replay()
        return self.loss
