"""The full tier of every experiment about a model, in resumable stages: python scripts/full_tier.py OUT MODEL ….

A stage is one experiment on one model. Its result file in OUT is written when it ends, and a stage whose file exists is
skipped. --workers stages run at a time, since each uses the processor and the device only in turns.
MODEL is a shipped model's name or a run folder; a folder named after a preset, such as runs/fast or runs/sprint-seed3,
is first trained, or resumed, to its end. Stages start in the order of --only; `dynamics` can be among them for a run
folder. --limit S: no stage starts after S seconds. --tf32: products in TF32 on a GPU; the results say so.
--set 'subspaces.sites="last"' subspaces.sizes=[16]: other settings than the tier's, in JSON; the command in the results
says so.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from icalgebra.experiments import EXPERIMENTS
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.loaded_model import Runs, load_with_config, name_of
from icalgebra.results import result_path, write_result
from icalgebra.train import PRESETS, preset, train
from icalgebra.train.distributed import choose_device

# Thousands of forward passes that only need the likeliest answer: TF32 is precise enough for models trained in bf16.
MANY_PASSES = ("training", "accuracy_by_facts", "unseen_structures", "distributions", "model_coverage")
LOG_CHECKPOINTS = 10  # log-spaced checkpoints of a new run, for experiments about training


def train_to_the_end(model: str, device: str | None) -> None:
    """Train or resume a run folder that is named after a preset, to its end; leave any other alone."""
    path = Path(model)
    named = re.fullmatch(r"(.+?)(?:-seed(\d+))?", path.name)
    if path.parent == Path() or not named or named[1] not in PRESETS:
        return
    begun = time.perf_counter()
    if (path / "config.json").exists():
        result = train(resume=path, device=device)
    else:
        config = preset(named[1]).with_changes(seed=int(named[2] or 0))
        if not config.log_checkpoints:
            config = config.with_changes(eval_n=256, eval_facts=(), log_checkpoints=LOG_CHECKPOINTS)
        result = train(config, path, device=device)
    print(f"{model}: step {result.step}, {time.perf_counter() - begun:.0f} s", flush=True)


def changes_of(name: str, given: list[str]) -> dict[str, Any]:
    """The settings of one experiment among `experiment.setting=value`; lists become tuples, as in experiment.toml."""
    parts = [item.partition("=") for item in given if item.startswith(f"{name}.")]
    plain = {key.removeprefix(f"{name}."): json.loads(value) for key, _, value in parts}
    return {key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()}


def stage(given: argparse.Namespace, model: str, name: str) -> None:
    torch.set_float32_matmul_precision("high" if given.tf32 or name in MANY_PASSES else "highest")
    begun, device = time.perf_counter(), choose_device(given.device)
    changes = changes_of(name, given.set)
    if EXPERIMENTS[name].needs_runs:
        result = run_experiment(name, given.tier, 0, runs=Runs((model,), device), changes=changes)
    else:
        result = run_experiment(name, given.tier, 0, load_with_config(model, device), changes=changes)
    if changes:
        chosen = [item for item in given.set if item.startswith(f"{name}.")]
        command = ["python", "scripts/full_tier.py", "build/ft", model, "--only", name, "--set", *chosen]
        result = replace(result, command=shlex.join(command))
    write_result(given.out, result)
    print(f"{model} {name}: {time.perf_counter() - begun:.0f} s", flush=True)


def run_apart(given: argparse.Namespace, model: str, name: str, begun: float) -> bool:
    """Run a stage in its own process, so that a crash does not affect the others. True if its file exists then."""
    path = result_path(given.out, given.tier, name_of(model), name)
    if not path.exists() and time.perf_counter() - begun < given.limit:
        command = [sys.executable, __file__, str(given.out), model, "--only", name, "--one", "--tier", given.tier]
        command += ["--device", given.device] if given.device else []
        command += ["--tf32"] if given.tf32 else []
        command += ["--set", *given.set] if given.set else []
        subprocess.run(command, check=False)
    return path.exists()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--one", action="store_true", help="run this one stage in this process")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device")
    parser.add_argument("--tier", default="full")
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--set", nargs="*", default=[])
    given = parser.parse_args()
    names = given.only or [name for name, item in EXPERIMENTS.items() if item.can_run and item.about == "model"]
    if given.one:
        stage(given, given.models[0], names[0])
        return
    for model in given.models:
        train_to_the_end(model, given.device)
    begun = time.perf_counter()
    stages = [(model, name) for name in names for model in given.models]
    with ThreadPoolExecutor(given.workers) as pool:
        done = list(pool.map(lambda one: run_apart(given, *one, begun), stages))
    missing = [" ".join(one) for one, there in zip(stages, done) if not there]
    print(f"{sum(done)} of {len(stages)} results exist" + (f"; missing: {', '.join(missing)}" if missing else ""))


if __name__ == "__main__":
    main()
