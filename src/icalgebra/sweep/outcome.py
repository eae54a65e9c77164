"""done.json: what a finished run came to. It is written whole, last, and is the only thing that makes a run count.

A sweep's table holds all of them, so a table alone is enough to go on with a sweep on another machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from icalgebra.atomic_files import write_json
from icalgebra.errors import InputError
from icalgebra.statistics import Estimate, proportion
from icalgebra.sweep.manifest import Entry, current_evaluations
from icalgebra.train.distributed import device_name
from icalgebra.train.evaluation import is_accuracy
from icalgebra.train.loop import Record, TrainResult
from icalgebra.train.run import RunFolder

DONE = "done.json"
TARGETS = (0.9, 0.99)
FIELDS = ("id", "config", "evaluate", "step", "logits", "final", "steps_to", "course", "evaluations", "clock")

Outcome = dict[str, Any]
Estimates = dict[str, Estimate]


def write_outcome(entry: Entry, folder: Path, result: TrainResult, evaluations: dict[str, Estimates]) -> None:
    """Everything outside `clock` is the same for the same entry."""
    records = RunFolder(folder, entry.config).records()
    told = {
        "id": entry.id,
        "config": entry.config.to_dict(),
        "evaluate": entry.evaluate,
        "step": result.step,
        "logits": "fp32",  # how evaluations read them out; outcomes without this word are from before
        "final": final_values(result.final, entry.config.eval_n),
        "steps_to": {f"{target:g}": steps_to(target, records) for target in TARGETS},
        "course": course(records),
        "evaluations": {name: {key: e.to_dict() for key, e in found.items()} for name, found in evaluations.items()},
        "clock": _clock(result),
    }
    write_json(folder / DONE, told)


def _clock(result: TrainResult) -> dict[str, Any]:
    seconds = {"seconds": round(result.seconds, 3), "training_seconds": round(result.training_seconds, 3)}
    return {**seconds, "device": device_name(result.model.unembedding.device)}


def finished(entry: Entry, folder: Path) -> Outcome | None:
    """What done.json says, if it is there and about this very run with these very evaluations."""
    try:
        told = json.loads((folder / DONE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) and _is_about(told, entry) else None


def adopt(entry: Entry, row: Outcome, folder: Path) -> None:
    """Take a finished run over from a row of a table, where its own folder has stayed behind."""
    if row.get("done") and _is_about(row, entry) and finished(entry, folder) is None:
        write_json(folder / DONE, {key: row[key] for key in FIELDS if key in row})


def _is_about(told: Outcome, entry: Entry) -> bool:
    """The id says what differs from the defaults. Another version may have had others: so the whole config counts."""
    if told.get("id") != entry.id or not entry.config.matches(told.get("config")):
        return False
    try:
        return current_evaluations(told.get("evaluate")) == entry.evaluate
    except InputError:
        return False


def final_values(record: Record, n: int) -> dict[str, dict[str, float | int]]:
    """The last evaluation of a run: shares with their intervals, means as they were written down."""
    values = {name: value for name, value in record.items() if isinstance(value, float)}
    return {
        name: proportion(value * n, n).to_dict() if is_accuracy(name) else {"value": value, "n": n}
        for name, value in values.items()
    }


def course(records: list[Record]) -> dict[str, list[list[float]]]:
    """Hold-out accuracy and training loss by step: what a figure of many runs needs."""
    return {name: [[r["step"], r[name]] for r in records if name in r] for name in ("holdout", "loss")}


def steps_to(target: float, records: list[Record]) -> int | None:
    """The first evaluation whose hold-out accuracy reached the target; None: none did."""
    return next((record["step"] for record in records if record.get("holdout", 0.0) >= target), None)
