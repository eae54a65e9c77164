"""The speedrun: how long a preset takes to pass a hold-out accuracy, and how well it uses the chip."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch

from icalgebra.evaluate import accuracy
from icalgebra.model.checkpoints import as_predictor
from icalgebra.model.transformer import ModelConfig, Transformer
from icalgebra.statistics import Estimate
from icalgebra.train.config import TrainConfig
from icalgebra.train.distributed import choose_device
from icalgebra.train.loop import Record, train
from icalgebra.vocabulary import FACT_LENGTH


@dataclass(frozen=True)
class Speedrun:
    """One run to the target. Seconds of training leave out compilation, evaluation and saving; those in all do not."""

    seed: int
    passed: bool
    accuracy: Estimate
    steps: int
    tokens: int
    training_seconds: float
    seconds_in_all: float
    milliseconds_a_step: float
    flops: float
    flops_a_second: float
    share_of_chip: float | None
    device: str

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "accuracy": self.accuracy.to_dict()}


def speedrun(config: TrainConfig, target: float = 0.99, n: int = 5000, device: str | None = None) -> Speedrun:
    """Train until the hold-out accuracy on n fresh sequences passes the target, or the schedule ends."""
    chosen = choose_device(device)
    begun = time.perf_counter()
    warm_up(config, device)
    found: list[Estimate] = []

    def passes(record: Record, model: Transformer) -> bool:
        """Ask the n fresh sequences only when the running evaluation says that it may be worth it."""
        if record["kind"] != "evaluation" or (record["holdout"] < target - 0.01 and record["step"] < config.steps):
            return False
        found.append(fresh_accuracy(model, config, n))
        return found[-1].value >= target

    result = train(config, device=device, callback=passes)
    seconds_in_all = time.perf_counter() - begun
    flops = flops_before(config, result.step)
    rate = flops / result.training_seconds
    return Speedrun(
        seed=config.seed,
        passed=found[-1].value >= target,
        accuracy=found[-1],
        steps=result.step,
        tokens=config.tokens_before(result.step),
        training_seconds=result.training_seconds,
        seconds_in_all=seconds_in_all,
        milliseconds_a_step=1000 * result.training_seconds / result.step,
        flops=flops,
        flops_a_second=rate,
        share_of_chip=rate / matrix_rate(chosen) if chosen.type == "cuda" else None,
        device=torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else "cpu",
    )


def warm_up(config: TrainConfig, device: str | None) -> None:
    """Compile what the run will need: a throw-away run of a few steps at every length it has."""
    lengths = [config.n_facts, *([config.short_facts] if config.short_steps else [])]
    for n_facts in lengths:
        train(config.with_changes(n_facts=n_facts, short_steps=0, steps=3, eval_n=64), device=device)


def fresh_accuracy(model: Transformer, config: TrainConfig, n: int, name: str = "holdout") -> Estimate:
    """On sequences that neither training nor the running evaluation has seen."""
    autocast = torch.autocast("cuda", torch.bfloat16, enabled=model.unembedding.is_cuda and config.precision == "bf16")
    model.eval()
    with autocast:
        measured = accuracy(
            as_predictor(model), name, n, config.n_facts, config.seed, config.world, stream=f"speedrun/{name}"
        )
    model.train()
    return measured


def flops_a_sequence(model: ModelConfig, n_facts: int) -> float:
    """Forward and backward: 6 a weight and token, and causal attention."""
    tokens = n_facts * FACT_LENGTH
    weights = model.n_layers * (4 * model.d_model**2 + 2 * model.d_model * model.d_mlp) + model.d_model * model.d_vocab
    return 6.0 * weights * tokens + 6.0 * model.n_layers * model.d_model * tokens**2


def flops_before(config: TrainConfig, step: int) -> float:
    short = min(step, config.short_steps)
    a_step = {k: config.batch_size * flops_a_sequence(config.model, k) for k in (config.short_facts, config.n_facts)}
    return short * a_step[config.short_facts] + (step - short) * a_step[config.n_facts]


def matrix_rate(device: torch.device, size: int = 8192) -> float:
    """The chip's rate in bf16 matrix products on random data, in FLOP/s, measured now."""
    left, right = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        left @ right
    torch.cuda.synchronize(device)
    begun = time.perf_counter()
    for _ in range(10):
        left @ right
    torch.cuda.synchronize(device)
    return 10 * 2.0 * size**3 / (time.perf_counter() - begun)
