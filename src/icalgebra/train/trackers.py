"""Trackers: thin adapters from a metrics record to wandb, trackio or tensorboard. metrics.jsonl is always written."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from icalgebra.errors import InputError
from icalgebra.train.config import TrainConfig

Record = dict[str, Any]
Tracker = Callable[[Record], None]


def tracker(config: TrainConfig, run: Path) -> Tracker:
    """Where records go besides the file: a function of one record."""
    return {"none": _none, "wandb": _wandb, "trackio": _trackio, "tensorboard": _tensorboard}[config.tracker](
        config, run
    )


def _none(config: TrainConfig, run: Path) -> Tracker:
    return lambda record: None


def _wandb(config: TrainConfig, run: Path) -> Tracker:
    session = _module("wandb", "wandb").init(project="icalgebra", name=run.name, config=config.to_dict(), dir=str(run))
    return lambda record: session.log(_numbers(record), step=record["step"])


def _trackio(config: TrainConfig, run: Path) -> Tracker:
    trackio = _module("trackio", "trackio")
    trackio.init(project="icalgebra", name=run.name, config=config.to_dict())
    return lambda record: trackio.log(_numbers(record), step=record["step"])


def _tensorboard(config: TrainConfig, run: Path) -> Tracker:
    writer = _module("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(run / "tensorboard"))

    def log(record: Record) -> None:
        for name, value in _numbers(record).items():
            writer.add_scalar(name, value, record["step"])

    return log


def _module(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(f"the tracker {package} is not installed; pip install {package}") from error


def _numbers(record: Record) -> dict[str, float]:
    return {name: value for name, value in record.items() if isinstance(value, int | float)}
