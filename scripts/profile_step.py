"""Which kernels a training step spends its time in: python scripts/profile_step.py PRESET."""

from __future__ import annotations

import sys

import torch
from torch.profiler import ProfilerActivity, profile

from icalgebra.train import preset
from icalgebra.train.data import training_batches
from icalgebra.train.distributed import Ranks
from icalgebra.train.loop import Trainer

STEPS, BEFORE = 4, 4  # profiled, and run before to warm up


def main() -> None:
    config = preset(sys.argv[1]).with_changes(steps=STEPS + BEFORE, cuda_graphs=False)
    device = torch.device("cuda")
    trainer = Trainer(config, device, Ranks(), None)
    batches = training_batches(config, 0, Ranks(), device)
    for _ in range(BEFORE):
        trainer.train_step(next(batches), 1.0)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(STEPS):
            trainer.train_step(next(batches), 1.0)
        torch.cuda.synchronize()
    events = sorted(found.key_averages(), key=lambda event: -event.device_time_total)
    for event in events[:32]:
        print(f"{event.device_time_total / 1000 / STEPS:8.2f} ms {event.count // STEPS:5d} x  {event.key[:110]}")
    print(f"{sum(event.device_time_total for event in events) / 1000 / STEPS:8.2f} ms in all")


if __name__ == "__main__":
    main()
