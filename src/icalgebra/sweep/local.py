"""Workers on this machine: one process per run, several per device, so that a crash ends only its own run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import torch

from icalgebra.errors import InputError, reason
from icalgebra.processes import PROCESSES, be_a_worker, start_server
from icalgebra.sweep.manifest import Entry
from icalgebra.sweep.task import run_entry

LOG = "log.txt"
# The fork server has not touched CUDA. torch imports its compiler with the first optimiser, which takes as long as all
# other imports together.
PRELOADED = ("icalgebra.sweep.task", "torch._dynamo")


class LocalWorkers:
    """Up to `slots` concurrent runs, each in its own process, spread evenly over the devices."""

    def __init__(self, slots: int = 1, devices: list[str | None] | None = None) -> None:
        if slots < 1:
            raise InputError(f"a sweep needs at least one worker, not {slots}")
        self.slots, self.devices = slots, devices or [None]
        self.running: dict[int, tuple[ForkServerProcess, Entry, str | None]] = {}  # by sentinel

    def start(self, entry: Entry, folder: Path) -> None:
        in_use = [device for _, _, device in self.running.values()]
        device = min(self.devices, key=in_use.count)
        start_server(PRELOADED)
        process = PROCESSES.Process(target=_work, args=(entry, folder, device, self.slots))
        process.start()
        self.running[process.sentinel] = process, entry, device

    def ended(self, timeout: float) -> Iterator[tuple[Entry, str]]:
        for sentinel in wait(list(self.running), timeout):
            process, entry, _ = self.running.pop(sentinel)  # type: ignore[arg-type]  # wait returns the ints it was given
            process.join()
            yield entry, f"its process ended with exit code {process.exitcode}; see {LOG} in its folder"

    def stop(self) -> None:
        for process, _, _ in self.running.values():
            process.kill()  # a run can be killed at any moment without loss, so no gentler signal is needed
        for process, _, _ in self.running.values():
            process.join()
        self.running.clear()


def _work(entry: Entry, folder: Path, device: str | None, slots: int) -> None:
    be_a_worker()
    _redirect_output(folder / LOG)
    # Workers that each use every core slow each other down.
    torch.set_num_threads(max(1, torch.get_num_threads() // slots))
    try:
        run_entry(entry, folder, device)
    except Exception as error:
        known = reason(error)
        if known is None:
            raise
        sys.exit(f"icalgebra: {known[0]}")


def _redirect_output(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
