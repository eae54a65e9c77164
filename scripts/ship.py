"""Train a preset and package it as a shipped model: python scripts/ship.py PRESET OUT [--steps N] [--seed S].

OUT/<preset>/ gets the weights in 16 bits with their manifest, config.json, metrics.jsonl and evaluation.json. All
accuracies are measured on the rounded weights, in fp32, on fresh sequences. scripts/card.py writes the model card.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import torch

from icalgebra.atomic_files import write_json
from icalgebra.errors import InputError
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.model.accuracy import accuracy
from icalgebra.model.checkpoints import load_model, write_checkpoint
from icalgebra.model.predict import as_predictor
from icalgebra.train import preset, train
from icalgebra.train.evaluation import HOLDOUTS
from icalgebra.train.run import RunFolder

FACTS = (50, 200)


def evaluate(folder: Path, config, n: int) -> dict:
    torch.set_float32_matmul_precision("highest")
    model = load_model(folder, "cuda" if torch.cuda.is_available() else "cpu")
    found = {}
    for name in (*HOLDOUTS, *MECHANISMS, "cancel_embedded", "associate_embedded"):
        for k in FACTS:
            try:
                measured = accuracy(as_predictor(model), name, n, k, 0, config.world, stream=f"ship/{name}")
            except InputError:
                continue
            found[f"{name}/{k}"] = measured.to_dict()
            print(f"{name}/{k}: {measured.value:.4f} [{measured.low:.4f}, {measured.high:.4f}]", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset")
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n", type=int, default=5000)
    given = parser.parse_args()
    changes = {"seed": given.seed, **({"steps": given.steps} if given.steps else {})}
    config = preset(given.preset).with_changes(**changes)
    target = given.out / given.preset
    target.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result = train(config, Path(folder) / "run")
        run = RunFolder.open(Path(folder) / "run")
        shutil.copy(run.metrics, target / "metrics.jsonl")
    shipped = target / "weights"
    score = result.final["holdout"]
    written = {"config": config.to_dict(), "trainer": None, "step": result.step, "score": score}
    write_checkpoint(shipped, result.model, dtype=torch.float16, **written)
    for file in shipped.iterdir():
        shutil.move(file, target / file.name)
    shipped.rmdir()
    write_json(target / "config.json", config.to_dict())
    print(f"trained in {result.training_seconds:.1f} s, {time.perf_counter() - begun:.1f} s in all", flush=True)
    measured = {
        "n": given.n,
        "training_seconds": round(result.training_seconds, 1),
        "steps": result.step,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "accuracy": evaluate(target, config, given.n),
    }
    write_json(target / "evaluation.json", measured)
    print(json.dumps({key: measured[key] for key in ("steps", "training_seconds", "device")}))


if __name__ == "__main__":
    main()
