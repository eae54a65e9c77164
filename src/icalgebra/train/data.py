"""Training batches, sampled in a background thread while the device trains."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

from icalgebra.data.dataset import step_rows
from icalgebra.randomness import row_uniforms, stream_key
from icalgebra.train.config import TrainConfig
from icalgebra.train.distributed import Ranks

AHEAD = 2  # batches sampled ahead of the step that needs them


def training_rows(config: TrainConfig, step: int, ranks: Ranks) -> Tensor:
    """This rank's rows of a step's batch, uint8; their length may change from step to step.

    With mixed lengths every length has its own stream, `train/50` say, of which step t of B rows reads t·B … t·B+B−1:
    rows of one number in one stream begin alike, whatever their length. Row i shows each fact once where row i of
    another stream says so, and is then row i of a third one; the rows beside it are not touched.
    """
    facts = config.facts_at(step)
    rows = config.rows_of(facts)
    stream = f"train/{facts}" if config.lengths else "train"
    shared = {"rank": ranks.rank, "n_ranks": ranks.size}
    plain = step_rows("train", step, rows, facts, config.seed, config.world, stream=stream, **shared)
    if not config.once_share:
        return plain
    once = step_rows("once", step, rows, facts, config.seed, config.world, stream=f"{stream}/once", **shared)
    share = rows // ranks.size
    drawn = row_uniforms(stream_key(config.seed, f"{stream}/is_once"), step * rows + ranks.rank * share, share)
    return torch.where(torch.from_numpy(drawn < config.once_share)[:, None], once, plain)


def training_batches(config: TrainConfig, first_step: int, ranks: Ranks, device: torch.device) -> Iterator[Tensor]:
    """The batches of steps first_step … steps−1 on the device. The compiled sampler releases the GIL, so one thread
    is enough: it makes 1.3 million training sequences of 200 facts per second on one core."""

    def make(step: int) -> Tensor:
        rows = training_rows(config, step, ranks)
        return rows.pin_memory() if device.type == "cuda" else rows

    waiting: deque[Future[Tensor]] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="sampler") as sampler:
        try:
            for step in range(first_step, config.steps + AHEAD):
                if step < config.steps:
                    waiting.append(sampler.submit(make, step))
                if step >= first_step + AHEAD and waiting:
                    yield waiting.popleft().result().to(device, non_blocking=True)
        finally:
            for future in waiting:
                future.cancel()
