"""Fingerprints of short runs of the presets, scaled down: what a change of the trainer must not change.

tests/data/golden_runs.json was made before mixed lengths, each-fact-once rows and looped blocks existed. To add one:
python tests/golden_runs.py NAME … (only after an intended change of a recipe or a random stream, recorded in LOG.md).
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from pathlib import Path
from typing import Any

import torch

from icalgebra.train import TrainConfig, preset, train
from icalgebra.train.data import training_rows
from icalgebra.train.distributed import Ranks

PATH = Path(__file__).parent / "data" / "golden_runs.json"
PRESETS = ("paper", "fast", "small", "sprint", "tiny")  # those that existed then
SMALL = {
    "n_layers": 2, "n_heads": 2, "d_model": 16, "n_facts": 12, "batch_size": 4, "steps": 6, "warmup": 2, "log_every": 1,
    "eval_every": 0, "eval_points": 0, "eval_n": 8, "eval_facts": (6,), "checkpoint_every": 0,
}  # fmt: skip
SHORT = {"short_facts": 5, "short_steps": 2}  # of every second run, so that the phase of short sequences is held too


def scaled_down(name: str, seed: int) -> TrainConfig:
    return preset(name).with_changes(**SMALL, seed=seed, **(SHORT if seed % 2 else {}))


def fingerprint(config: TrainConfig) -> dict[str, Any]:
    """Rows are the same on every machine; weights to the last bit only on the same kind of processor, and with the
    same number of threads."""
    losses: list[float] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        result = train(config, device="cpu", callback=lambda record, model: losses.extend(loss_of(record)))
    finally:
        torch.set_num_threads(threads)
    rows = [training_rows(config, step, Ranks()).numpy().tobytes() for step in range(config.steps)]
    weights = [value.detach().cpu().numpy().tobytes() for value in result.model.parameters()]
    evaluation = {name: value for name, value in result.final.items() if isinstance(value, float)}
    return {
        "rows": digest(rows), "weights": digest(weights), "tokens": config.tokens_before(config.steps),
        "losses": losses, "evaluation": evaluation,
    }  # fmt: skip


def loss_of(record: dict[str, Any]) -> list[float]:
    return [record["loss"]] if "loss" in record else []


def digest(parts: list[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def machine() -> list[str]:
    """Where the last bits of a sum are the same."""
    return [torch.__version__, platform.machine(), torch.backends.cpu.get_cpu_capability()]


def main() -> None:
    known = json.loads(PATH.read_text()) if PATH.exists() else {"machine": machine(), "runs": {}}
    for name in sys.argv[1:]:
        for seed in (0, 1):
            known["runs"][f"{name}/{seed}"] = fingerprint(scaled_down(name, seed))
    PATH.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
