"""The full tier of every experiment about a model, in resumable stages: python scripts/full_tier.py OUT MODEL ….

A stage is one experiment on one model. Its result file in OUT is written when it ends, and a stage whose file exists is
skipped. --workers stages run at a time, since each uses the processor and the device only in turns.
MODEL is a shipped model's name or a run folder; a folder named after a preset, such as runs/fast or runs/sprint-seed3,
is first trained, or resumed, to its end; meanwhile the stages of the models before it run. Of the stages that can
start, those of the experiments that --only names first start first; `dynamics` can be among them for a run folder.
--limit S: no training and no stage starts after S seconds. --tf32: products in TF32 on a GPU; the results say so.
--set 'subspaces.sites="last"' subspaces.sizes=[16]: other settings than the tier's, in JSON; the command in the results
says so. --train adamw256.lr=0.002: other fields of a preset, for runs that begin.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from queue import PriorityQueue
from typing import Any

import torch

from icalgebra.errors import InputError
from icalgebra.experiments import EXPERIMENTS, experiment
from icalgebra.experiments.running import run_experiment, settings
from icalgebra.experiments.shared.loaded_model import Runs, load_with_config, name_of
from icalgebra.results import result_path, write_result
from icalgebra.train import PRESETS, preset, train
from icalgebra.train.distributed import choose_device

# Thousands of forward passes that only need the likeliest answer: TF32 is precise enough for models trained in bf16.
MANY_PASSES = ("training", "accuracy_by_facts", "unseen_structures", "distributions", "model_coverage")
# A new run is evaluated and kept at log-spaced steps: skills come early and close together.
WATCHED = {"eval_every": 0, "eval_points": 40, "eval_n": 256, "eval_facts": (), "log_checkpoints": 10}


def train_to_the_end(given: argparse.Namespace, model: str) -> None:
    """Train or resume a run folder that is named after a preset, to its end; leave any other alone."""
    path = Path(model)
    named = re.fullmatch(r"(.+?)(?:-seed(\d+))?", path.name)
    if path.parent == Path() or not named or named[1] not in PRESETS:
        return
    begun = time.perf_counter()
    if (path / "config.json").exists():
        result = train(resume=path, device=given.device)
    else:
        config = preset(named[1]).with_changes(seed=int(named[2] or 0), **changes_of(named[1], given.train))
        if not config.log_checkpoints:
            config = config.with_changes(**WATCHED)
        result = train(config, path, device=given.device)
    print(f"{model}: step {result.step}, {time.perf_counter() - begun:.0f} s", flush=True)


def changes_of(name: str, given: list[str]) -> dict[str, Any]:
    """What `name.field=value` says of one name; lists become tuples, as in experiment.toml."""
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


def check(given: argparse.Namespace, names: list[str]) -> None:
    """A mistyped name ends the script here, and not an hour later the one stage that has it."""
    for name in {*names, *(item.split(".")[0] for item in given.set)}:
        settings(experiment(name), given.tier, changes_of(name, given.set))
    for name in {item.split(".")[0] for item in given.train}:
        preset(name).with_changes(**changes_of(name, given.train))


def has_result(given: argparse.Namespace, model: str, name: str) -> bool:
    return result_path(given.out, given.tier, name_of(model), name).exists()


def run_apart(given: argparse.Namespace, model: str, name: str) -> None:
    """Run a stage in its own process, so that a crash does not affect the others."""
    if not has_result(given, model, name) and time.perf_counter() < given.until:
        command = [sys.executable, __file__, str(given.out), model, "--only", name, "--one", "--tier", given.tier]
        command += ["--device", given.device] if given.device else []
        command += ["--tf32"] if given.tf32 else []
        command += ["--set", *given.set] if given.set else []
        threads = max(1, (os.cpu_count() or 1) // given.workers)
        subprocess.run(command, check=False, env={"OMP_NUM_THREADS": str(threads), **os.environ})


def train_and_ask(given: argparse.Namespace, names: list[str]) -> None:
    """Train the models one after the other here, while workers run the stages of those that are ready."""
    ready: PriorityQueue[tuple[float, int, str, str]] = PriorityQueue()
    count = itertools.count()  # among stages of one experiment: the order of the models

    def work() -> None:
        while True:
            rank, _, model, name = ready.get()
            if rank == float("inf"):
                return
            run_apart(given, model, name)

    workers = [threading.Thread(target=work) for _ in range(given.workers)]
    for worker in workers:
        worker.start()
    for model in given.models:
        if time.perf_counter() > given.until:
            break
        try:
            train_to_the_end(given, model)
        except Exception:  # a run that fails is a finding; the others still run
            traceback.print_exc()
            continue
        for rank, name in enumerate(names):
            ready.put((rank, next(count), model, name))
    for _ in workers:
        ready.put((float("inf"), next(count), "", ""))
    for worker in workers:
        worker.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
    parser.add_argument("--train", nargs="*", default=[])
    given = parser.parse_args()
    names = given.only or [name for name, item in EXPERIMENTS.items() if item.can_run and item.about == "model"]
    if given.one:
        stage(given, given.models[0], names[0])
        return
    try:
        check(given, names)
    except (InputError, json.JSONDecodeError) as error:
        parser.error(str(error))
    given.until = time.perf_counter() + given.limit
    train_and_ask(given, names)
    stages = list(itertools.product(given.models, names))
    missing = [" ".join(one) for one in stages if not has_result(given, *one)]
    there = len(stages) - len(missing)
    print(f"{there} of {len(stages)} results exist" + (f"; missing: {', '.join(missing)}" if missing else ""))


if __name__ == "__main__":
    main()
