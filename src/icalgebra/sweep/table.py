"""The results of a sweep: a table with one row per run, from which a sweep can be continued, and training curves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from icalgebra.atomic_files import read_json, write_json
from icalgebra.records import read
from icalgebra.results import Curve
from icalgebra.statistics import proportion
from icalgebra.sweep.manifest import Entry, varying_fields
from icalgebra.sweep.outcome import PlainOutcome, adopt, course, failure, finished
from icalgebra.train.run import RunFolder

TABLE = "table.json"


class PlainRow(TypedDict):
    """A row of table.json; that of a finished run has the fields of its outcome in addition."""

    id: str
    name: str
    config: dict[str, Any]
    done: bool
    failed: NotRequired[str]


class PlainTable(TypedDict):
    sweep: str
    runs: list[PlainRow]


def sweep_table(entries: list[Entry], out: Path) -> list[dict[str, Any]]:
    """One row per run, in the manifest's order; a run that is not done has no values, but the reason if it failed."""
    fields = varying_fields(entries)
    return [_row(entry, fields, entry.folder(out)) for entry in entries]


def _row(entry: Entry, fields: list[str], folder: Path) -> dict[str, Any]:
    outcome, failed = finished(entry, folder), failure(folder)
    config = entry.config.to_dict()
    row = {"id": entry.id, "name": entry.name, "varies": {field: config[field] for field in fields}, "config": config}
    if outcome is None:
        return {**row, "done": False, **({"failed": failed} if failed else {})}
    # An outcome of an earlier version may lack fields or use former names: config and evaluate come from the entry.
    return {**row, "done": True, **outcome, "config": config, "evaluate": entry.evaluate}


def write_table(name: str, entries: list[Entry], out: Path) -> dict[str, Any]:
    table = {"sweep": name, "runs": sweep_table(entries, out)}
    write_json(out / TABLE, table)
    return table


def read_table(path: Path) -> dict[str, Any]:
    """A sweep's table.json, or the one in its folder."""
    path = path / TABLE if path.is_dir() else path
    table = read_json(path)
    read(PlainTable, table, f"{path} is not the table of a sweep")
    for number, row in enumerate(table["runs"]):
        if row["done"]:
            read(PlainOutcome, row, f"{path} is not the table of a sweep: runs[{number}]")
    return table


def adopt_table(entries: list[Entry], out: Path) -> None:
    """Mark as done the runs that the folder's table lists as done, even if their folders are on another machine."""
    if (out / TABLE).is_file():
        rows = {row["id"]: row for row in read_table(out)["runs"]}
        for entry in entries:
            adopt(entry, rows.get(entry.id, {}), entry.folder(out))


@dataclass(frozen=True)
class RunCurves:
    """One run's training curves: hold-out accuracy with its interval, and training loss as (step, nats)."""

    name: str
    holdout: Curve
    loss: list[list[float]]


def sweep_curves(entries: list[Entry], out: Path) -> list[RunCurves]:
    """The curves of every run that has been evaluated at least once, done or not."""
    courses = [(entry, _course(entry, out)) for entry in entries]
    return [run_curves(entry.name, found, entry.config.eval_n) for entry, found in courses if found["holdout"]]


def _course(entry: Entry, out: Path) -> dict[str, list[list[float]]]:
    run = RunFolder(entry.folder(out), entry.config)
    outcome = finished(entry, run.path)
    if outcome is not None:
        return outcome["course"]
    return course(run.records() if run.metrics.exists() else [])


def run_curves(name: str, found: dict[str, list[list[float]]], n: int) -> RunCurves:
    """Curves from a run's `course`, whose accuracies come from n sequences each."""
    steps, accuracies = zip(*found["holdout"])
    return RunCurves(
        name, Curve.from_estimates(steps, [proportion(value * n, n) for value in accuracies]), found["loss"]
    )
