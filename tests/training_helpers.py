"""A run small enough for tests, and what two runs must share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from icalgebra.train import TrainConfig

MICRO = TrainConfig(
    structures=("C3", "C4"), n_variables=6, n_layers=2, n_heads=2, d_model=16, n_facts=8, batch_size=8,
    steps=6, warmup=2, log_every=1, eval_every=3, eval_n=16, eval_facts=(4,), checkpoint_every=2,
)  # fmt: skip


def records(run: Path) -> list[dict[str, Any]]:
    """The metrics of a run without their clock."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "clock"} for line in lines]


def losses(run: Path) -> list[float]:
    return [record["loss"] for record in records(run) if record["kind"] == "train"]


def same_weights(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def checkpoint_names(run: Path) -> list[str]:
    return sorted(folder.name for folder in (run / "checkpoints").iterdir())
