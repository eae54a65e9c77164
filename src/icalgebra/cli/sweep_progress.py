"""The live view of a sweep: how many runs are waiting, running and done, and how far the running ones are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Group
from rich.live import Live
from rich.text import Text

from icalgebra.cli.common import console
from icalgebra.errors import InputError
from icalgebra.sweep import Entry, Status
from icalgebra.train.metrics import read_line

TAIL_BYTES = 4096  # more than two records of metrics.jsonl


@contextmanager
def live_status(out: Path) -> Iterator[Callable[[Status], None]]:
    """A function that shows a sweep's status on standard error; it does nothing when piped."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda status: None
        return
    with Live(console=screen, auto_refresh=False, transient=True) as live:
        yield lambda status: live.update(_view(status, out), refresh=True)


def _view(status: Status, out: Path) -> Group:
    counts = {"waiting": status.waiting, "running": status.running, "done": status.done, "failed": status.failed}
    summary = " · ".join(f"{len(entries)} {state}" for state, entries in counts.items())
    crashes = status.deaths.total()
    lines = [f"{summary}{f' · {crashes} crashes' if crashes else ''}"]
    lines += [f"  {entry.name}  {_position(entry, out)}" for entry in status.running]
    return Group(*(Text(line, no_wrap=True, overflow="ellipsis") for line in lines))


def _position(entry: Entry, out: Path) -> str:
    step, holdout = 0, ""
    for record in _last_records(entry.folder(out) / "metrics.jsonl"):
        step = record["step"]
        if "holdout" in record:
            holdout = f"  hold-out {record['holdout']:.1%}"
    return f"{step:,} of {entry.config.steps:,} steps{holdout}"


def _last_records(metrics: Path) -> list[dict]:
    """The complete lines at the end of a file that is being written."""
    try:
        with open(metrics, "rb") as stream:
            start = max(0, metrics.stat().st_size - TAIL_BYTES)
            stream.seek(start)
            tail = stream.read().decode(errors="ignore")
    except OSError:
        return []
    found = []
    for line in tail.split("\n")[1 if start else 0 : -1]:
        with suppress(InputError):  # a damaged line is reported when the run is resumed
            found.append(read_line(line))
    return found
