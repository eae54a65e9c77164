"""How long training would take without a GPU: a guard before days of work that nobody meant to start."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import torch

from icalgebra.errors import InputError
from icalgebra.train import TrainConfig
from icalgebra.train.speedrun import flops_before

LIMIT = 2 * 3600.0  # seconds of training on a CPU that need no second thought; the preset tiny takes eight minutes
# Of the rate of a small matrix product: on two cores that had 190 GFLOP/s, and the preset tiny trains at 44 GFLOP/s.
TRAINING_SHARE = 0.25


def check_time_without_gpu(configs: Iterable[TrainConfig], device: str | None, what: str) -> None:
    """Raise InputError, with an estimate, if these runs would take hours on a CPU that the user did not ask for."""
    if device is not None or torch.cuda.is_available():
        return
    work = sum(training_flops(config) for config in configs)
    seconds = work / (TRAINING_SHARE * matmul_rate())
    if seconds > LIMIT:
        raise InputError(
            f"{what} is meant for a GPU, and this machine has none: training would take about {in_words(seconds)}; "
            "--device cpu does it all the same, and the preset tiny takes minutes"
        )


def training_flops(config: TrainConfig) -> float:
    return flops_before(config, config.steps)


def matmul_rate(size: int = 256, repeats: int = 50) -> float:
    """Floating-point operations per second of a matrix product: the best of many short ones, which other work on the
    machine interrupts less."""
    a = torch.ones(size, size)
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        a @ a
        times.append(perf_counter() - begin)
    return 2.0 * size**3 / min(times)


def in_words(seconds: float) -> str:
    """'3 hours', '12 days': one figure is as exact as the estimate."""
    for size, name in ((86400 * 365, "years"), (86400, "days"), (3600, "hours")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds / 60:.0f} minutes"
