"""Kill a short run with -9 at random moments, resume it, and compare with the run that was never interrupted.

    python scripts/kill_and_resume.py --moments 20 --seed 0

Every second kill hits a checkpoint being written: the run is killed as soon as a half-written folder appears.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from pathlib import Path

from icalgebra.errors import InputError
from icalgebra.train import TrainConfig, train

CONFIG = TrainConfig(
    structures=("C3", "C4"), n_variables=6, n_layers=2, n_heads=2, d_model=32, n_facts=8, batch_size=8,
    steps=200, warmup=5, log_every=1, eval_every=50, eval_n=16, eval_facts=(4,), checkpoint_every=4, log_checkpoints=4,
)  # fmt: skip
# Every run is its own process, forked from a server that has done the slow imports (the first optimiser imports torch's
# compiler).
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["icalgebra.train", "torch._dynamo"])


def start(run: Path) -> None:
    train(CONFIG, run, device="cpu")


def resume(run: Path) -> None:
    train(resume=run, device="cpu")


def resume_unless_in_use(run: Path) -> None:
    """Ends with exit code 2 where another process trains the run, as the command line does."""
    try:
        resume(run)
    except InputError:
        sys.exit(2)


def outcome(run: Path) -> tuple[bytes, bytes, list[dict]]:
    """What must not depend on interruptions: final weights, optimiser state, metrics without their clock."""
    last = sorted((run / "checkpoints").glob("step_*"))[-1]
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for record in records:
        del record["clock"]
    return (last / "model.safetensors").read_bytes(), (last / "trainer.safetensors").read_bytes(), records


def finished(task, run: Path) -> Path:
    """The run folder, after `task` has run in its own process."""
    process = PROCESSES.Process(target=task, args=(run,))
    process.start()
    process.join()
    assert process.exitcode == 0, f"{run} ended with {process.exitcode}"
    return run


def duration(run: Path) -> float:
    return json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["clock"]["seconds"]


def killed_and_resumed(run: Path, delay: float, while_writing: bool) -> str:
    """Kill a run `delay` seconds after it began (with while_writing: at the next checkpoint write), and resume it."""
    left = killed(start, run, delay, while_writing)
    finished(resume, run)
    return f"killed after {delay:.2f} s, left {' '.join(left) or 'no checkpoint'}"


def killed(task, run: Path, delay: float, while_writing: bool) -> list[str]:
    """Kill a task; returns what it leaves among the checkpoints."""
    process = PROCESSES.Process(target=task, args=(run,))
    process.start()
    while not (run / "config.json").exists() and process.is_alive():
        time.sleep(0.002)
    time.sleep(delay)
    while while_writing and process.is_alive() and not list((run / "checkpoints").glob(".step_*.part")):
        pass
    process.kill()
    process.join()
    return [entry.name for entry in sorted((run / "checkpoints").iterdir())]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--moments", type=int, default=20)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    moments, same = random.Random(chosen.seed), 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reference = finished(start, folder / "reference")
        expected = outcome(reference)
        for i in range(chosen.moments):
            run, delay = folder / f"run{i}", moments.uniform(0, 0.9 * duration(reference))
            history = killed_and_resumed(run, delay, while_writing=i % 2 == 1)
            identical = outcome(run) == expected
            same += identical
            print(f"{i + 1:2}: {'identical' if identical else 'DIFFERENT'}; {history}", flush=True)
    print(f"{same} of {chosen.moments} identical to the uninterrupted run")
    sys.exit(same != chosen.moments)


if __name__ == "__main__":
    main()
