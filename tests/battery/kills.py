"""kill -9 at random moments of training, of the resume itself, of a sweep and of its workers; and gentler signals."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

from battery.tally import Tally
from icalgebra.sweep import LocalWorkers, run_sweep
from icalgebra.sweep.local import PROCESSES
from sweep_helpers import FOUR, Killer, described, four_runs, rows, typed, under_way, wait_for

ROOT = Path(__file__).parents[2]


def script() -> Any:
    """scripts/kill_and_resume.py, which has the runs and the comparison."""
    spec = importlib.util.spec_from_file_location("kill_and_resume", ROOT / "scripts" / "kill_and_resume.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its processes import the module by name.
    import sys

    sys.modules["kill_and_resume"] = module
    sys.path.append(str(ROOT / "scripts"))
    spec.loader.exec_module(module)
    return module


def run(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """Of ten kills, four hit training (every second one a checkpoint being written), three the resume, two a sweep and
    one a worker."""
    n_sweeps, n_workers = count // 5, count // 10
    n_resumes = 3 * count // 10
    n_training = count - n_sweeps - n_workers - n_resumes
    training(tally, n_training, n_resumes, rng, folder / "training")
    sweeps(tally, n_sweeps, n_workers, rng, folder / "sweeps")


def training(tally: Tally, n_training: int, n_resumes: int, rng: Random, folder: Path) -> None:
    kill = script()
    reference = kill.finished(kill.start, folder / "reference")
    expected, seconds = kill.outcome(reference), kill.duration(reference)
    for i in range(n_training):
        with tally.trial(f"training, kill {i}"):
            history = kill.killed_and_resumed(
                folder / f"run{i}", rng.uniform(0, 0.9 * seconds), while_writing=i % 2 == 1
            )
            assert kill.outcome(folder / f"run{i}") == expected, history
    for i in range(n_resumes):
        with tally.trial(f"resume, kill {i}"):
            run = folder / f"twice{i}"
            kill.killed(kill.start, run, rng.uniform(0, 0.6 * seconds), while_writing=i % 2 == 0)
            kill.killed(kill.resume, run, rng.uniform(0, 0.6 * seconds), while_writing=i % 3 == 0)
            kill.finished(kill.resume, run)
            assert kill.outcome(run) == expected


def sweeps(tally: Tally, n_sweeps: int, n_workers: int, rng: Random, folder: Path) -> None:
    expected = _swept(folder / "whole")
    for i in range(n_sweeps):
        with tally.trial(f"sweep, kill {i}"):
            out = folder / f"sweep{i}"
            out.mkdir(parents=True)
            process = _start(out)
            wait_for(lambda out=out: list((out / "out").glob("runs/*/config.json")))
            time.sleep(rng.uniform(0, 3))
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
            process.join()
            assert _swept(out) == expected, "another table"
    for i in range(n_workers):
        with tally.trial(f"worker, kill {i}"):
            out = folder / f"worker{i}"
            out.mkdir(parents=True)
            entries, killer = four_runs(out), Killer(out)
            killer.check(run_sweep(entries, out, LocalWorkers(2, ["cpu"])))


def _arguments(folder: Path) -> list[str]:
    file = described(folder, FOUR)
    return ["sweep", str(file), "--out", str(folder / "out"), "--workers", "2", "--device", "cpu"]


def _start(folder: Path) -> Any:
    process = PROCESSES.Process(target=typed, args=(_arguments(folder),))
    process.start()
    return process


def _swept(folder: Path) -> list[dict[str, Any]]:
    folder.mkdir(parents=True, exist_ok=True)
    process = _start(folder)
    process.join()
    assert process.exitcode == 0, f"the sweep ended with {process.exitcode}"
    return rows(folder / "out")


# --- signals, and two processes on one folder -------------------------------------------------------------------------


def signals(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """SIGINT, SIGTERM, SIGHUP and two Ctrl-C after each other, at random moments; the run resumes to the same end."""
    kill = script()
    reference = kill.finished(kill.start, folder / "reference")
    expected, seconds = kill.outcome(reference), kill.duration(reference)
    blows = ([signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP], [signal.SIGINT, signal.SIGINT])
    for i in range(count):
        with tally.trial(f"signal {i}"):
            run, blow = folder / f"run{i}", blows[i % len(blows)]
            process = kill.PROCESSES.Process(target=_train_interruptibly, args=(run,))
            process.start()
            wait_for(lambda run=run, process=process: (run / "config.json").exists() or not process.is_alive())
            time.sleep(rng.uniform(0, 0.8 * seconds))
            for one in blow:
                if process.is_alive():
                    os.kill(process.pid, one)
                time.sleep(0.01)
            process.join(60)
            assert process.exitcode is not None, "it does not end"
            kill.finished(kill.resume, run)
            assert kill.outcome(run) == expected


def _train_interruptibly(run: Path) -> None:
    """What comes from the fork server ignores Ctrl-C, and under nohup everything ignores SIGHUP."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    script().start(run)


def sharing(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """Two sweeps in one folder at once: the same table, each run trained once; and one writer of a run at a time."""
    expected = _swept(folder / "whole")
    for i in range(count):
        with tally.trial(f"two sweeps {i}"):
            out = folder / f"two{i}"
            out.mkdir(parents=True)
            first = _start(out)
            time.sleep(rng.uniform(0, 2))
            second = _start(out)
            first.join()
            second.join()
            assert (first.exitcode, second.exitcode) == (0, 0)
            assert rows(out / "out") == expected
            assert not under_way(out / "out")
    kill = script()
    with tally.trial("two processes on one run"):
        run = folder / "run"
        processes = [kill.PROCESSES.Process(target=kill.start, args=(run,))]
        processes[0].start()
        wait_for(lambda: (run / "config.json").exists())
        processes.append(kill.PROCESSES.Process(target=kill.resume_unless_in_use, args=(run,)))
        processes[1].start()
        for process in processes:
            process.join()
        assert processes[0].exitcode == 0
        assert processes[1].exitcode in (0, 2)
        lines = (run / "metrics.jsonl").read_text().splitlines()
        steps = [json.loads(line)["step"] for line in lines]
        assert steps == sorted(steps)
        reference = kill.finished(kill.start, folder / "reference")
        assert kill.outcome(run) == kill.outcome(reference)
