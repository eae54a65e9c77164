"""One step of learning: loss, gradient, clip, optimisers. On one CUDA device it is recorded once and then replayed.

A small model's step is hundreds of launches, each of which costs the CPU more than the GPU; a CUDA graph makes them
one. (At d_model = 256 a step took 21 ms whether the batch was 128 or 64: the GPU was waiting.)
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

NOTHING = -100  # a target that is not counted
EAGER_STEPS = 3  # at each shape of batch before it is recorded: compilation and the optimisers' state come first


def autocast(config: TrainConfig, device: torch.device) -> AbstractContextManager[Any]:
    """The precision that a run learns, and is evaluated, in."""
    used = config.precision == "bf16" and device.type == "cuda"
    return torch.autocast(device.type, torch.bfloat16) if used else nullcontext()


class NextTokenLoss(nn.Module):
    """Mean loss over all tokens of a batch: with answers weighted, to learn from, and plain, to compare runs by.

    This is what is compiled and, with several ranks, wrapped.
    """

    weights: Tensor  # of what follows each token of a fact

    def __init__(self, model: Transformer, answer_weight: float = 1.0) -> None:
        super().__init__()
        self.model = model
        weights = torch.ones(FACT_LENGTH, device=model.unembedding.device)
        weights[EQUALS] = answer_weight
        self.register_buffer("weights", weights, persistent=False)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        tokens = tokens.long()  # they travel as bytes
        # The last token goes in as well, though nothing follows it: 1000 is a rounder number for kernels than 999.
        logits = self.model(tokens)
        targets = F.pad(tokens[:, 1:], (0, 1), value=NOTHING)
        losses = F.cross_entropy(
            logits.flatten(0, 1).float(), targets.flatten(), ignore_index=NOTHING, reduction="none"
        ).view(-1, FACT_LENGTH)
        rows, facts = tokens.shape[0], losses.shape[0]
        weight = facts * self.weights.sum() - rows  # nothing follows the last token of a row
        plain = losses.detach().sum() / (tokens.numel() - rows)
        return (losses * self.weights).sum() / weight, plain


class TrainStep:
    """Calling it with a batch takes one step; the plain loss comes back and stays on the device."""

    def __init__(
        self, model: Transformer, optimisers: Optimisers, config: TrainConfig, device: torch.device, ranks: Ranks
    ) -> None:
        self.model, self.optimisers, self.config, self.device = model, optimisers, config, device
        self.loss = self._loss_module(ranks)
        self.records = device.type == "cuda" and config.cuda_graphs and ranks.size == 1
        self.recorded: dict[torch.Size, CudaGraphStep] = {}
        self.eager_steps: dict[torch.Size, int] = {}

    def __call__(self, batch: Tensor, lr_scale: float) -> Tensor:
        self.optimisers.set_lr_scale(lr_scale)
        shape = batch.shape
        if shape in self.recorded:
            return self.recorded[shape].replay(batch)
        if self.records and self.eager_steps.get(shape, 0) == EAGER_STEPS:
            self.recorded = {shape: CudaGraphStep(self, batch)}  # the graph of another length is not needed again
            return self.recorded[shape].replay(batch)
        self.eager_steps[shape] = self.eager_steps.get(shape, 0) + 1
        return self.learn(batch)

    def learn(self, batch: Tensor) -> Tensor:
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
    """A step as a CUDA graph. Recording runs nothing: the first replay is the step itself."""

    def __init__(self, learner: TrainStep, batch: Tensor) -> None:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.batch = batch.clone()
        self.graph = torch.cuda.CUDAGraph()
        # thread_local: the sampler's thread goes on pinning memory meanwhile
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = learner.learn(self.batch)

    def replay(self, batch: Tensor) -> Tensor:
        self.batch.copy_(batch, non_blocking=True)
        self.graph.replay()
        return self.loss
