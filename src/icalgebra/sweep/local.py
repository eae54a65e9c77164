"""Workers of this machine: processes of their own, several to a device, so that one death takes nothing along."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import torch

from icalgebra.errors import InputError, RunError
from icalgebra.sweep.manifest import Entry
from icalgebra.sweep.task import run_entry

LOG = "log.txt"
# Forked from a server that has the imports behind it and has not touched CUDA. torch imports its compiler with the
# first optimiser, which costs as much as all the rest.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["icalgebra.sweep.task", "torch._dynamo"])


class LocalWorkers:
    """Up to `slots` runs at once, each in a process of its own, dealt out evenly among the devices."""

    def __init__(self, slots: int = 1, devices: list[str | None] | None = None) -> None:
        if slots < 1:
            raise InputError(f"a sweep needs at least one worker, not {slots}")
        self.slots, self.devices = slots, devices or [None]
        self.running: dict[int, tuple[ForkServerProcess, Entry, str | None]] = {}  # by sentinel

    def start(self, entry: Entry, folder: Path) -> None:
        in_use = [device for _, _, device in self.running.values()]
        device = min(self.devices, key=in_use.count)
        start_server()
        process = PROCESSES.Process(target=_work, args=(entry, folder, device, self.slots))
        process.start()
        self.running[process.sentinel] = process, entry, device

    def ended(self, timeout: float) -> Iterator[tuple[Entry, str]]:
        for sentinel in wait(list(self.running), timeout):
            process, entry, _ = self.running.pop(sentinel)  # type: ignore[arg-type]  # they are the ints given
            process.join()
            yield entry, f"its process ended with {process.exitcode}; see {LOG} in its folder"

    def stop(self) -> None:
        for process, _, _ in self.running.values():
            process.kill()  # a run can be killed at any moment; nothing is gained by asking kindly
        for process, _, _ in self.running.values():
            process.join()
        self.running.clear()


def start_server() -> None:
    """The fork server, if it does not run yet. Ctrl-C reaches it too, and during its imports it would answer with a
    traceback: it inherits that this signal is ignored, as it does by itself later."""
    if threading.current_thread() is not threading.main_thread():
        return forkserver.ensure_running()  # signals are the main thread's
    listened = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, listened)


def _work(entry: Entry, folder: Path, device: str | None, slots: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the sweep decides
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _write_to(folder / LOG)
    # Processes that each use every core only get in each other's way.
    torch.set_num_threads(max(1, torch.get_num_threads() // slots))
    try:
        run_entry(entry, folder, device)
    except (InputError, RunError) as error:
        sys.exit(f"icalgebra: {error}")


def _leave_with_parent() -> None:
    """A sweep that is killed cannot stop its workers: they notice, so that none goes on unseen."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _write_to(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
