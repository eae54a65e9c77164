"""The run folder: config.json, metrics.jsonl, checkpoints/step_NNNNNN."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from icalgebra.atomic_files import sync_folder, write_json, write_text
from icalgebra.errors import InputError, RunError, warn
from icalgebra.model.checkpoints import (
    Checkpoint,
    by_step,
    newest_checkpoint,
    read_manifest,
    remove_checkpoint,
    write_checkpoint,
)
from icalgebra.model.transformer import Transformer
from icalgebra.train.config import TrainConfig
from icalgebra.train.metrics import Record, check_complete, count_until, finite, line_of, read_metrics
from icalgebra.train.optimisers import Optimisers

LOCK = ".lock"
LEFTOVERS = (".part", ".gone")  # a checkpoint half written or half removed when the process was killed


class RunFolder:
    """A run on disk: config.json, metrics.jsonl, and the checkpoints that the config keeps."""

    def __init__(self, path: Path, config: TrainConfig) -> None:
        self.path, self.config = path, config
        self.metrics, self.checkpoints = path / "metrics.jsonl", path / "checkpoints"
        self.n_records: int | None = None  # lines of metrics.jsonl; None: not counted yet

    @staticmethod
    def create(path: Path, config: TrainConfig) -> RunFolder:
        if (path / "config.json").exists():
            raise InputError(f"{path} already holds a run; continue it with --resume {path}, or choose another folder")
        run = RunFolder(path, config)
        try:
            run.checkpoints.mkdir(parents=True, exist_ok=True)
            run.metrics.touch()
            write_json(path / "config.json", config.to_dict())  # last: a folder with a config is a run
        except OSError as error:
            raise InputError(f"cannot write to {path}: {error.strerror}") from error
        return run

    @staticmethod
    def open(path: Path) -> RunFolder:
        if not (path / "config.json").is_file():
            raise InputError(f"{path} is not a run folder: it has no config.json")
        run = RunFolder(path, TrainConfig.load(path / "config.json"))
        for leftover in run.checkpoints.glob(".step_*"):
            if leftover.suffix in LEFTOVERS:
                shutil.rmtree(leftover, ignore_errors=True)
        return run

    @staticmethod
    def clear_unfinished(path: Path, config: TrainConfig) -> None:
        """Delete an interrupted run of the same config, for callers that cannot resume: a speedrun needs its time in
        one piece."""
        run = RunFolder(path, config)
        there = (path / "config.json").is_file() and TrainConfig.load(path / "config.json") == config
        if not there or config.steps in by_step(run.checkpoints):
            return
        warn(f"{path} was interrupted; starting over")
        shutil.rmtree(run.checkpoints, ignore_errors=True)
        run.metrics.unlink(missing_ok=True)
        (path / "config.json").unlink()  # last: until then the folder is still recognised as this run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One writer at a time: two processes that resume the same run would write over each other's checkpoints. The
        system releases the lock if the process dies."""
        try:
            lock = open(self.path / LOCK, "a", encoding="utf-8")  # noqa: SIM115 (closed below)
        except OSError as error:
            raise InputError(f"cannot write to {self.path}: {error.strerror}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(f"{self.path} is being trained by another process; wait for it, or stop it") from error
            yield

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest intact checkpoint of this run (None: it has none yet), and complaints about newer ones."""
        found, complaints = newest_checkpoint(self.checkpoints, self.config.matches)
        if found is None and complaints:
            raise InputError(f"{'; '.join(complaints)}; no intact checkpoint is left to resume from")
        return found, complaints

    def records(self) -> list[Record]:
        """The sound records of metrics.jsonl; a warning names damaged lines."""
        return read_metrics(self.metrics)

    def truncate_after(self, step: int, expected: int | None = None) -> list[Record]:
        """Drop the records after `step`, which the resumed run will write again, and return the others.

        expected: how many there were when the checkpoint of this step was written. Where some are lost, a warning says
        so, and the run goes on with the sound ones.
        """
        records = self.records() if self.metrics.exists() else []
        check_complete(self.metrics, records, step, expected)
        kept = records[: count_until(records, step)]
        with _disk_errors(self.metrics):
            write_text(self.metrics, "".join(map(line_of, kept)))
        self.n_records = len(kept)
        return kept

    def append(self, record: Record) -> None:
        line = line_of(finite(record))
        with _disk_errors(self.metrics), open(self.metrics, "a", encoding="utf-8") as stream:
            stream.write(line)
        if self.n_records is not None:
            self.n_records += 1

    def save(self, step: int, model: Transformer, optimisers: Optimisers, score: float | None) -> None:
        """Write a checkpoint after `step` steps, then remove those that the config does not keep."""
        self._flush_metrics()
        if self.n_records is None:
            self.n_records = len(self.records())
        write_checkpoint(
            self.checkpoints / f"step_{step:06d}",
            model,
            config=self.config.to_dict(),
            trainer=optimisers.state_tensors(),
            step=step,
            score=score,
            records=self.n_records,
        )
        for folder in self._unkept():
            remove_checkpoint(folder)

    def _flush_metrics(self) -> None:
        """A checkpoint guarantees that the metrics up to its step are on disk."""
        with _disk_errors(self.metrics), open(self.metrics, "rb") as stream:
            os.fsync(stream.fileno())
            sync_folder(self.path)

    def _unkept(self) -> list[Path]:
        folders = by_step(self.checkpoints)
        best = max(folders.values(), key=_score)
        older = list(folders.items())[: -self.config.keep_checkpoints]
        return [folder for step, folder in older if folder != best and step not in self.config.log_checkpoint_steps]


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """A failed write becomes a RunError of one line."""
    try:
        yield
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}; the checkpoints are intact") from error


def _score(folder: Path) -> float:
    """A checkpoint without a score, or one that cannot be read, is never the best."""
    try:
        score = read_manifest(folder).score
    except InputError:
        return -1.0
    return -1.0 if score is None else score
