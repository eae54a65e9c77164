"""Thin adapters that send metrics records to wandb, trackio or tensorboard. metrics.jsonl is written in any case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from icalgebra.errors import InputError
from icalgebra.train.config import TrainConfig

Record = dict[str, Any]
Tracker = tuple[Callable[[Record], None], Callable[[], None]]  # log a record; close

MODULES = {"wandb": "wandb", "trackio": "trackio", "tensorboard": "torch.utils.tensorboard"}


def check_installed(config: TrainConfig) -> None:
    """Called before the run folder is created: the folder of a run that cannot start would block the next attempt."""
    if config.tracker != "none":
        _module(config.tracker)


@contextmanager
def tracker(config: TrainConfig, run: Path | None) -> Iterator[Callable[[Record], None]]:
    """Yields a function that sends one record to the config's tracker, if it has one."""
    if run is None or config.tracker == "none":
        yield lambda record: None
        return
    log, close = {"wandb": _wandb, "trackio": _trackio, "tensorboard": _tensorboard}[config.tracker](config, run)
    try:
        yield log
    finally:
        close()  # flushes the last records; the next run of this process starts its own session


def _wandb(config: TrainConfig, run: Path) -> Tracker:
    session = _module("wandb").init(project="icalgebra", name=run.name, config=config.to_dict(), dir=str(run))
    return lambda record: session.log(_numbers(record), step=record["step"]), session.finish


def _trackio(config: TrainConfig, run: Path) -> Tracker:
    trackio = _module("trackio")
    trackio.init(project="icalgebra", name=run.name, config=config.to_dict())
    return lambda record: trackio.log(_numbers(record), step=record["step"]), trackio.finish


def _tensorboard(config: TrainConfig, run: Path) -> Tracker:
    writer = _module("tensorboard").SummaryWriter(str(run / "tensorboard"))

    def log(record: Record) -> None:
        for name, value in _numbers(record).items():
            writer.add_scalar(name, value, record["step"])

    return log, writer.close


def _module(name: str) -> Any:
    try:
        return import_module(MODULES[name])
    except ImportError as error:
        raise InputError(f"the tracker {name} is not installed; pip install {name}") from error


def _numbers(record: Record) -> dict[str, float]:
    return {name: value for name, value in record.items() if isinstance(value, int | float)}
