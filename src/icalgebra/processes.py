"""Worker processes on this machine: forked from a server that has already imported what they need.

Ctrl-C reaches every process of a terminal: the command hears it and stops its workers, which are deaf to it. A killed
command cannot stop its workers, so each exits when its parent is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Sequence
from multiprocessing import forkserver
from pathlib import Path

PROCESSES = multiprocessing.get_context("forkserver")
IMPORTED = time.monotonic()


def seconds_since_start() -> float:
    """Since this process began, all imports included. Only Linux says that; elsewhere, since this import."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):
        return time.monotonic() - IMPORTED


def memory_size() -> int:
    """This machine's memory in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def free_memory() -> int:
    """What of it programs can still get, in bytes. Only Linux says that; elsewhere all of it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return memory_size()


def start_server(preload: Sequence[str]) -> None:
    """Start the fork server, with some modules imported, unless it runs already. Ctrl-C reaches it too, and during its
    imports would print a traceback: so it inherits SIG_IGN. Later it ignores the signal by itself."""
    PROCESSES.set_forkserver_preload(list(preload))
    if threading.current_thread() is not threading.main_thread():
        return forkserver.ensure_running()  # only the main thread may set signal handlers
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, previous)


def be_a_worker() -> None:
    """Leave Ctrl-C to the command that started this process, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
