"""done.json: the results of a finished run. It is written last and atomically, and only it marks a run as done.

A sweep's table contains them all, so the table alone is enough to continue a sweep on another machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired, TypedDict

from icalgebra.atomic_files import read_json, write_json
from icalgebra.errors import InputError, one_line
from icalgebra.records import Count, read
from icalgebra.statistics import Estimate, proportion
from icalgebra.sweep.manifest import Entry, current_evaluations
from icalgebra.train.distributed import device_name
from icalgebra.train.evaluation import is_accuracy
from icalgebra.train.loop import Record, TrainResult
from icalgebra.train.run import RunFolder

DONE = "done.json"
REASON = "failed.txt"  # why the last attempt at a run failed, in one line
TARGETS = (0.9, 0.99)
FIELDS = ("id", "config", "evaluate", "step", "logits", "final", "steps_to", "course", "evaluations", "clock")

Outcome = dict[str, Any]
Estimates = dict[str, Estimate]


class FinalValue(TypedDict):
    """An accuracy with its interval, or a mean."""

    value: float
    low: NotRequired[float]
    high: NotRequired[float]
    n: Count


class Course(TypedDict):
    """(step, value) through training."""

    holdout: list[tuple[float, float]]
    loss: list[tuple[float, float]]


class OutcomeClock(TypedDict):
    seconds: NotRequired[float]
    training_seconds: float
    device: NotRequired[str]


class PlainOutcome(TypedDict):
    """done.json; the rows of a table have the same fields. Outcomes of earlier versions lack step and logits."""

    id: NotRequired[str]
    config: dict[str, Any]
    evaluate: NotRequired[dict[str, dict[str, Any]]]
    step: NotRequired[Count]
    logits: NotRequired[str]
    final: dict[str, FinalValue]
    steps_to: dict[str, Count | None]
    course: Course
    evaluations: dict[str, dict[str, FinalValue]]
    clock: OutcomeClock


def write_outcome(entry: Entry, folder: Path, result: TrainResult, evaluations: dict[str, Estimates]) -> None:
    """Write done.json. Everything outside `clock` is the same for the same entry."""
    records = RunFolder(folder, entry.config).records()
    outcome = {
        "id": entry.id,
        "config": entry.config.to_dict(),
        "evaluate": entry.evaluate,
        "step": result.step,
        "logits": "fp32",  # precision of the evaluations' logits; older outcomes, read out in bf16, lack this key
        "final": final_values(result.final, entry.config.eval_n),
        "steps_to": {f"{target:g}": steps_to(target, records) for target in TARGETS},
        "course": course(records),
        "evaluations": {name: {key: e.to_dict() for key, e in found.items()} for name, found in evaluations.items()},
        "clock": _clock(result),
    }
    write_json(folder / DONE, outcome)


def _clock(result: TrainResult) -> dict[str, Any]:
    seconds = {"seconds": round(result.seconds, 3), "training_seconds": round(result.training_seconds, 3)}
    return {**seconds, "device": device_name(result.model.unembedding.device)}


def finished(entry: Entry, folder: Path) -> Outcome | None:
    """The contents of done.json if it exists, is sound, and is about this config and these evaluations."""
    path = folder / DONE
    if not path.exists():
        return None
    try:
        outcome = read_json(path)
        read(PlainOutcome, outcome, path)
    except InputError:  # then the run is not done: it ends again from its last checkpoint, at once
        return None
    return outcome if _is_about(outcome, entry) else None


def failure(folder: Path) -> str | None:
    """Why the last attempt at a run failed; None where it did not, or could not say."""
    try:
        return one_line((folder / REASON).read_text(encoding="utf-8", errors="replace").strip()) or None
    except OSError:
        return None


def adopt(entry: Entry, row: Outcome, folder: Path) -> None:
    """Write done.json from a finished row of a table, for a run whose folder is on another machine."""
    if row.get("done") and _is_about(row, entry) and finished(entry, folder) is None:
        write_json(folder / DONE, {key: row[key] for key in FIELDS if key in row})


def _is_about(outcome: Outcome, entry: Entry) -> bool:
    """The id covers only what differs from the defaults, which other versions may have changed: so the whole config is
    compared."""
    if outcome.get("id") != entry.id or not entry.config.matches(outcome.get("config")):
        return False
    try:
        return current_evaluations(outcome.get("evaluate")) == entry.evaluate
    except InputError:
        return False


def final_values(record: Record, n: int) -> dict[str, dict[str, float | int]]:
    """The last evaluation of a run: accuracies with intervals, means as metrics.jsonl has them."""
    values = {name: value for name, value in record.items() if isinstance(value, float)}
    return {
        name: proportion(value * n, n).to_dict() if is_accuracy(name) else {"value": value, "n": n}
        for name, value in values.items()
    }


def course(records: list[Record]) -> dict[str, list[list[float]]]:
    """Hold-out accuracy and training loss by step, for figures of many runs."""
    return {name: [[r["step"], r[name]] for r in records if name in r] for name in ("holdout", "loss")}


def steps_to(target: float, records: list[Record]) -> int | None:
    """The step of the first evaluation whose hold-out accuracy reached the target; None if none did."""
    return next((record["step"] for record in records if record.get("holdout", 0.0) >= target), None)
