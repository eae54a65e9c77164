"""The sweep itself: give waiting runs to free workers and retry those that died. Only done.json marks a run as done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from icalgebra.sweep.manifest import Entry
from icalgebra.sweep.outcome import failure, finished

TICK = 0.25  # seconds between two checks of the workers


class Workers(Protocol):
    """Where runs are executed: processes on this machine, or a cluster."""

    @property
    def slots(self) -> int:
        """The number of concurrent runs."""

    def start(self, entry: Entry, folder: Path) -> None: ...

    def ended(self, timeout: float) -> Iterator[tuple[Entry, str]]:
        """Runs that ended since the last call, each with how it ended; waits up to `timeout` seconds for one."""

    def stop(self) -> None:
        """Stop all runs."""


@dataclass
class Status:
    waiting: list[Entry]
    running: list[Entry] = field(default_factory=list)
    done: list[Entry] = field(default_factory=list)
    failed: list[Entry] = field(default_factory=list)
    deaths: Counter[str] = field(default_factory=Counter)  # by id
    complaints: dict[str, str] = field(default_factory=dict)  # the last one, by id


def run_sweep(
    entries: list[Entry],
    out: Path,
    workers: Workers,
    retries: int = 2,
    watch: Callable[[Status], None] = lambda status: None,
) -> Status:
    """Run what is not done yet; a run that dies is resumed from its checkpoint, at most `retries` times."""
    status = Status(waiting=list(entries))
    try:
        while status.waiting or status.running:
            _fill(status, out, workers)
            watch(status)
            for entry, complaint in workers.ended(TICK) if status.running else ():
                status.running.remove(entry)
                folder = entry.folder(out)
                _settle(status, entry, finished(entry, folder) is not None, failure(folder) or complaint, retries)
        watch(status)
    finally:
        workers.stop()
    return status


def _fill(status: Status, out: Path, workers: Workers) -> None:
    while status.waiting and len(status.running) < workers.slots:
        entry = status.waiting.pop(0)
        if finished(entry, entry.folder(out)) is not None:
            status.done.append(entry)
        else:
            workers.start(entry, entry.folder(out))
            status.running.append(entry)


def _settle(status: Status, entry: Entry, done: bool, complaint: str, retries: int) -> None:
    """A worker may die after its run was done, or exit normally without finishing it, so only done.json counts."""
    if done:
        status.done.append(entry)
        return
    status.deaths[entry.id] += 1
    status.complaints[entry.id] = complaint
    (status.waiting if status.deaths[entry.id] <= retries else status.failed).append(entry)
