"""The progress bar of a run: loss, hold-out accuracy, tokens per second, time left. Shown only in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from icalgebra.train.config import TrainConfig


@contextmanager
def live_progress(config: TrainConfig, shown: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yields a function that shows a metrics record."""
    if not shown or not sys.stderr.isatty():
        yield lambda record: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=config.steps)
        seen: dict[str, str] = {}

        def show(record: dict[str, Any]) -> None:
            seen.update(_described(record))
            bar.update(task, completed=record["step"], description="  ".join(seen.values()))

        yield show


def _described(record: dict[str, Any]) -> dict[str, str]:
    found = {}
    if "loss" in record:
        found["loss"] = f"loss {record['loss']:.3f}"
    if "holdout" in record:
        found["holdout"] = f"hold-out {record['holdout']:.1%}"
    if "tokens_per_second" in record["clock"]:
        found["speed"] = f"{record['clock']['tokens_per_second']:,.0f} tokens/s"
    return found
