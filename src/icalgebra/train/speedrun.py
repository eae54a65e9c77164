"""The speedrun: how long a preset takes to pass a hold-out accuracy, and how well it uses the GPU."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.model.accuracy import accuracy
from icalgebra.model.flops import flops_a_sequence
from icalgebra.model.predict import as_predictor
from icalgebra.model.prefix_accuracy import hits_by_facts
from icalgebra.model.transformer import Transformer
from icalgebra.oracle import ceiling_hits
from icalgebra.processes import seconds_since_start
from icalgebra.statistics import Estimate, auc_ratio
from icalgebra.train.config import TrainConfig
from icalgebra.train.distributed import choose_device, device_name
from icalgebra.train.loop import Record, train
from icalgebra.train.run import RunFolder
from icalgebra.train.step import autocast

# Steps between two evaluations of the hold-out accuracy, and sequences of the first, small one. With all n each
# time (and a slower GELU) evaluation took half as long as training; now it takes a tenth.
EVAL_EVERY, EVAL_N = 100, 512
QUALITY_N = 1000  # sequences behind what else is said of a model that has passed
BLOCK = 10  # steps between two readings of the clock, which wait for the device


@dataclass(frozen=True)
class Speedrun:
    """One run to the target. training_seconds are without evaluation and saving, seconds_in_all with them.

    quality: what a target of hold-out accuracy might hide; a speed must not be bought with it in silence.
    The field names are the keys of the result file.
    """

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
    quality: dict[str, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        quality = {name: found.to_dict() for name, found in self.quality.items()}
        return {**vars(self), "accuracy": self.accuracy.to_dict(), "quality": quality}


@dataclass(frozen=True)
class WarmUp:
    """Seconds of the throw-away runs, and from the start of the process to the end of their first step."""

    seconds: float
    to_first_step: float


def speedrun(
    config: TrainConfig,
    target: float = 0.99,
    n: int = 5000,
    device: str | None = None,
    keep: Path | None = None,
    progress: bool = False,
) -> Speedrun:
    """Train until the hold-out accuracy on n fresh sequences passes the target, or the schedule ends.

    Call warm_up before, or the time of the first step includes compilation.
    keep: a run folder; training then continues to the end of the schedule. An interrupted run there is started over,
    since the time must be that of one uninterrupted run.
    """
    if keep is not None:
        RunFolder.clear_unfinished(keep, config)
    chosen = choose_device(device)
    begun = time.perf_counter()
    evaluated: list[tuple[Record, Estimate, float]] = []  # with the total seconds until then
    quality: dict[str, Estimate] = {}

    def passes(record: Record, model: Transformer) -> bool:
        """Whether to stop. A few sequences decide whether all n are evaluated."""
        done = bool(evaluated) and evaluated[-1][1].value >= target
        last = record["step"] == config.steps
        if record["kind"] != "train" or done or not (last or record["step"] % EVAL_EVERY == 0):
            return False
        if not last and fresh_accuracy(model, config, min(n, EVAL_N)).value < target - 0.01:
            return False
        found = fresh_accuracy(model, config, n)
        evaluated.append((record, found, time.perf_counter() - begun))
        if found.value >= target or last:
            quality.update(quality_of(model, config, min(n, QUALITY_N)))
        return found.value >= target and keep is None

    train(config, keep, device=device, callback=passes, progress=progress)
    record, found, seconds_in_all = evaluated[-1]
    steps, seconds = record["step"], record["clock"]["training_seconds"]
    rate = flops_before(config, steps) / seconds
    return Speedrun(
        seed=config.seed,
        passed=found.value >= target,
        accuracy=found,
        steps=steps,
        tokens=config.tokens_before(steps),
        training_seconds=seconds,
        seconds_in_all=seconds_in_all,
        milliseconds_a_step=1000 * seconds / steps,
        flops=flops_before(config, steps),
        flops_a_second=rate,
        share_of_chip=rate / matrix_rate(chosen) if chosen.type == "cuda" else None,
        device=device_name(chosen),
        quality=quality,
    )


def time_steps(config: TrainConfig, steps: int, device: str | None = None) -> np.ndarray:
    """Milliseconds per step of each block of ten out of `steps`, data included; the ten steps before are not timed."""
    marks: list[float] = []
    quiet = config.with_changes(steps=BLOCK + steps, log_every=BLOCK, eval_every=0, checkpoint_every=0, eval_n=64)

    def mark(record: Record, model: Transformer) -> None:
        if record["kind"] == "train":
            marks.append(record["clock"]["training_seconds"])

    train(quiet, device=device, callback=mark)
    return 1000 * np.diff(marks) / BLOCK


def warm_up(config: TrainConfig, device: str | None) -> WarmUp:
    """Compile what a run will need, by a throw-away run of a few steps at each of its lengths."""
    begun = time.perf_counter()
    steps_done: list[float] = []

    def mark(record: Record, model: Transformer) -> None:
        steps_done.append(seconds_since_start())

    brief = config.with_changes(short_steps=0, steps=3, eval_n=64, log_every=1)
    for facts, _ in config.lengths:
        train(brief.with_changes(lengths=((facts, 1.0),)), device=device, callback=mark)
    lengths = [config.n_facts, *([config.short_facts] if config.short_steps else [])]
    for n_facts in lengths if not config.lengths else ():
        train(brief.with_changes(n_facts=n_facts), device=device, callback=mark)
    return WarmUp(time.perf_counter() - begun, steps_done[0])


def fresh_accuracy(model: Transformer, config: TrainConfig, n: int) -> Estimate:
    """Accuracy on sequences that neither training nor its evaluations have used."""
    model.eval()
    with autocast(config, model.unembedding.device):
        measured = accuracy(
            as_predictor(model), "holdout", n, config.n_facts, config.seed, config.world, stream="speedrun/holdout"
        )
    model.train()
    return measured


def quality_of(model: Transformer, config: TrainConfig, n: int) -> dict[str, Estimate]:
    """Hold-out AUC as a share of the exact ceiling's, and association, on sequences that training has not used."""
    holdout = sample("holdout", n, config.n_facts, config.seed, config.world, stream="speedrun/auc")
    model.eval()
    hit = hits_by_facts(model, holdout, range(2, config.n_facts + 1))
    found = {"share_of_ceiling": auc_ratio(hit, ceiling_hits(holdout, "holdout").expected)}
    with suppress(InputError):  # a small world may have no sequences to associate in
        found["associate"] = accuracy(
            as_predictor(model), "associate", n, config.n_facts, config.seed, config.world, stream="speedrun/associate"
        )
    model.train()
    return found


def flops_before(config: TrainConfig, step: int) -> float:
    work = config.work_before(step)
    return sum(steps * rows * flops_a_sequence(config.model, facts) for steps, rows, facts in work)


def matrix_rate(device: torch.device, size: int = 8192) -> float:
    """The GPU's measured rate of bf16 matrix products on random data, in FLOP/s."""
    left, right = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        left @ right
    torch.cuda.synchronize(device)
    begun = time.perf_counter()
    for _ in range(10):
        left @ right
    torch.cuda.synchronize(device)
    return 10 * 2.0 * size**3 / (time.perf_counter() - begun)
