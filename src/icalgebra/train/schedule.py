"""The learning-rate schedule, as a fraction of the peak: a pure function of the step."""

from __future__ import annotations

import math

from icalgebra.train.config import TrainConfig


def lr_scale(step: int, config: TrainConfig) -> float:
    """Warm-up from warmup_from to 1, then down to 0 at the end of the schedule. Steps count from 0."""
    if step < config.warmup:
        return config.warmup_from + (1.0 - config.warmup_from) * step / config.warmup
    if config.schedule == "constant":
        return 1.0
    length = config.schedule_steps or config.steps
    progress = (step - config.warmup) / max(1, length - config.warmup)
    return 1.0 - progress if config.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * progress))
