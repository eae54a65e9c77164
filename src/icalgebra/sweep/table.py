"""What comes out of a sweep: a row a run, and the curves of the figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icalgebra.results import Curve
from icalgebra.statistics import proportion
from icalgebra.sweep.manifest import Entry, varying_fields
from icalgebra.sweep.outcome import finished
from icalgebra.train.loop import Record
from icalgebra.train.run import RunFolder


def sweep_table(entries: list[Entry], out: Path) -> list[dict[str, Any]]:
    """A row a run, in the manifest's order; one that is not done has no values yet."""
    fields = varying_fields(entries)
    return [_row(entry, fields, finished(entry, entry.folder(out))) for entry in entries]


def _row(entry: Entry, fields: list[str], outcome: dict[str, Any] | None) -> dict[str, Any]:
    config = entry.config.to_dict()
    row = {"id": entry.id, "name": entry.name, "varies": {field: config[field] for field in fields}}
    return {**row, "done": outcome is not None, **(outcome or {})}


@dataclass(frozen=True)
class RunCurves:
    """One run's course: hold-out accuracy with its interval, and training loss as (step, nats)."""

    name: str
    holdout: Curve
    loss: list[tuple[int, float]]


def sweep_curves(entries: list[Entry], out: Path) -> list[RunCurves]:
    """Of every run that has been evaluated, done or not."""
    begun = [entry for entry in entries if (entry.folder(out) / "metrics.jsonl").exists()]
    courses = [(entry, RunFolder(entry.folder(out), entry.config).records()) for entry in begun]
    return [_curves(entry, records) for entry, records in courses if any("holdout" in record for record in records)]


def _curves(entry: Entry, records: list[Record]) -> RunCurves:
    n = entry.config.eval_n
    evaluated = [record for record in records if "holdout" in record]
    holdout = [proportion(record["holdout"] * n, n) for record in evaluated]
    loss = [(record["step"], record["loss"]) for record in records if "loss" in record]
    return RunCurves(entry.name, Curve.of([record["step"] for record in evaluated], holdout), loss)
