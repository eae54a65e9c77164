"""Four runs small enough for tests, and ways to break them off."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from icalgebra.atomic_files import write_json
from icalgebra.cli import main
from icalgebra.sweep import Entry, Status, load_sweep
from training_helpers import MICRO

# Log-spaced checkpoints keep that of step 1 for good: a run that began anew would write it anew.
COURSE = MICRO.with_changes(steps=40, eval_every=20, checkpoint_every=8, log_checkpoints=2)
STOP = {"mixture_rule": "stop"}
FOUR = {"config": "base.json", "seeds": [0, 1], "grid": {"p_mix": [0.3, 0.7]}, "evaluate": {"stop": STOP}}


def described(folder: Path, description: dict[str, Any]) -> Path:
    write_json(folder / "base.json", COURSE.to_dict())
    write_json(folder / "sweep.json", description)
    return folder / "sweep.json"


def four_runs(folder: Path) -> list[Entry]:
    return load_sweep(described(folder, FOUR))


def typed(arguments: list[str]) -> None:
    """The command in a process of its own, which hears Ctrl-C: what comes from the fork server is deaf to it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(arguments)


def rows(out: Path) -> list[dict[str, Any]]:
    """The table without its clocks."""
    runs = json.loads((out / "table.json").read_text())["runs"]
    return [{key: value for key, value in row.items() if key != "clock"} for row in runs]


def first_checkpoint(run: Path) -> Path:
    return run / "checkpoints/step_000001"


def under_way(out: Path) -> list[Path]:
    """Runs with a checkpoint behind them and work ahead."""
    begun = [path for path in sorted(out.glob("runs/*")) if first_checkpoint(path).exists()]
    return [run for run in begun if not (run / "done.json").exists()]


def wait_for(condition: Callable[[], Any], seconds: float = 180.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
    return found


class Killer(threading.Thread):
    """Kills, once, the process that runs one of a sweep's runs, as soon as there is a checkpoint to go on from."""

    def __init__(self, out: Path) -> None:
        super().__init__(daemon=True)
        self.out = out
        self.start()

    def run(self) -> None:
        self.victim = wait_for(lambda: under_way(self.out))[0]
        self.begun = first_checkpoint(self.victim).stat().st_ino
        os.kill(int((self.victim / "holder").read_text().split()[1]), signal.SIGKILL)

    def check(self, status: Status) -> None:
        """It died once, went on from its checkpoint, and every run was counted once."""
        assert not self.is_alive(), "nothing was killed"
        assert status.deaths == {self.victim.name: 1}
        assert first_checkpoint(self.victim).stat().st_ino == self.begun
        assert not status.failed
        assert len({entry.id for entry in status.done}) == len(status.done) == 4
