"""One run of a sweep, from its current state to its done.json. Every kind of worker calls run_entry."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from icalgebra.atomic_files import write_text
from icalgebra.errors import InputError, one_line, reason
from icalgebra.statistics import Estimate
from icalgebra.sweep.manifest import Entry
from icalgebra.sweep.outcome import REASON, finished, write_outcome
from icalgebra.train.config import TrainConfig
from icalgebra.train.evaluation import Evaluations
from icalgebra.train.loop import TrainResult, train
from icalgebra.train.step import autocast

HOLDER = "holder"


def run_entry(entry: Entry, folder: Path, device: str | None = None) -> None:
    """Start the run, or resume it from its newest checkpoint; done.json is written last.

    A second caller waits for the first: a run has one writer, even if a worker of an earlier sweep is still alive.
    """
    with held(folder), explained(folder):
        if finished(entry, folder) is None:
            result = _trained(entry.config, folder, device)
            evaluations = {name: _evaluated(result, config) for name, config in entry.evaluation_configs.items()}
            write_outcome(entry, folder, result, evaluations)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """A run that cannot go on leaves the reason in its folder, for the sweep's table; one that was killed cannot."""
    (folder / REASON).unlink(missing_ok=True)
    try:
        yield
    except Exception as error:
        known = reason(error)
        line = known[0] if known else one_line(f"{type(error).__name__}: {error}; its log has the traceback")
        with suppress(OSError, InputError):  # on a full disk the reason is only in the log
            write_text(folder / REASON, line + "\n")
        raise


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which the system releases if the process dies; the file names host and process."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / HOLDER, "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        print(socket.gethostname(), os.getpid(), file=lock, flush=True)
        yield


def _trained(config: TrainConfig, folder: Path, device: str | None) -> TrainResult:
    if not (folder / "config.json").exists():
        return train(config, folder, device=device)
    if TrainConfig.load(folder / "config.json") != config:
        raise InputError(f"{folder} holds a run of another config; move it away")
    return train(resume=folder, device=device)


def _evaluated(result: TrainResult, config: TrainConfig) -> dict[str, Estimate]:
    """The finished model under other settings, in the precision it was trained in."""
    with autocast(config, result.model.unembedding.device):
        return Evaluations(config.world, config.n_facts, config.eval_n, config.eval_facts, config.seed)(result.model)
