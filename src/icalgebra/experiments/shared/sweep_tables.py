"""Shared by experiments about sweeps: finished rows of a table, several seeds of one setting, curves for figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from icalgebra.errors import InputError
from icalgebra.experiments.shared.emergence import LEARNED, PLATEAU_END
from icalgebra.experiments.shared.estimates import across_seeds, point_estimate
from icalgebra.experiments.shared.loaded_model import Runs
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.statistics import Estimate, mean
from icalgebra.sweep.table import read_table, run_curves
from icalgebra.train.config import TrainConfig

Row = dict[str, Any]
# Name in values and in the paper's table -> name in evaluations.
SKILLS = {"holdout": "holdout", **dict(zip(MECHANISMS, MECHANISMS)), "closure": "closure_top_k"}
RECIPE = ("optimiser", "lr", "muon_lr", "steps", "schedule", "warmup", "batch_size", "n_facts", "precision", "residual",
          "float8")  # fmt: skip
OWN_WORLD = ("final", "own")  # evaluations of a sweep that use the run's own world, with more sequences
LAST_SHARE = 0.1  # of the logged losses: the final loss is their mean


def finished_rows(runs: Runs) -> list[Row]:
    """The finished rows of one table, or of several that are parts of one sweep."""
    rows = {row["id"]: row for source in runs.sources for row in _finished(Path(source))}
    if not rows:
        raise InputError(f"{runs.sources[0]}: no run of this sweep is done yet")
    return list(rows.values())


def _finished(table: Path) -> list[Row]:
    """With complete configs: fields that were added since have their defaults."""
    done = [row for row in read_table(table)["runs"] if row["done"]]
    return [{**row, "config": TrainConfig.from_dict(row["config"]).to_dict()} for row in done]


def measured(row: Row, evaluation: str) -> dict[str, Estimate]:
    """Skills of a finished model in an evaluation; for its own world, the last one during training is the fallback."""
    found = row["evaluations"].get(evaluation, row["final"] if evaluation in OWN_WORLD else {})
    return {key: Estimate(**found[name]) for key, name in SKILLS.items() if name in found}


def skills_of(rows: Sequence[Row], evaluation: str) -> dict[str, Estimate]:
    """Skills of a setting, over its seeds."""
    found = [measured(row, evaluation) for row in rows]
    return {key: across_seeds([one[key] for one in found]) for key in SKILLS if all(key in one for one in found)}


def steps_to(rows: Sequence[Row], target: str = f"{LEARNED:g}") -> float | None:
    """Steps to a hold-out accuracy, the mean over seeds; infinite if a seed never got there; None without runs."""
    found = [row["steps_to"][target] for row in rows]
    return None if not found else float("inf") if None in found else sum(found) / len(found)


def plateau_end(rows: Sequence[Row]) -> float | None:
    """Step of the first evaluation at 50 % hold-out accuracy, the mean over seeds; infinite if a seed has none."""
    histories = [row["course"]["holdout"] for row in rows]
    found = [next((step for step, share in history if share >= PLATEAU_END), float("inf")) for history in histories]
    return sum(found) / len(found) if found else None


def reached(rows: Sequence[Row]) -> dict[str, Estimate]:
    """Steps to three hold-out accuracies, those that all seeds reached."""
    steps = {"steps_to_50": plateau_end(rows), "steps_to_90": steps_to(rows), "steps_to_99": steps_to(rows, "0.99")}
    return {name: point_estimate(at, len(rows)) for name, at in steps.items() if at is not None and at != float("inf")}


def read_in_bf16(rows: Sequence[Row]) -> bool:
    """Whether a run was evaluated before logits were computed in fp32; newer outcomes say so.

    In bf16 the two highest logits are often equal, and a tie is wrong.
    """
    return any(row["config"]["precision"] == "bf16" and row.get("logits") != "fp32" for row in rows)


def later(one: float | None, other: float | None) -> bool | None:
    """Whether the first step is later; None if a run is missing or neither got there."""
    if one is None or other is None or one == other == float("inf"):
        return None
    return one > other


def final_loss(rows: Sequence[Row]) -> Estimate:
    """The mean training loss over the last tenth of the logged values."""
    by_seed = []
    for row in rows:
        loss = [value for _, value in row["course"]["loss"]]
        last = max(2, round(LAST_SHARE * len(loss)))
        by_seed.append(mean(np.array(loss[-last:])))
    return across_seeds(by_seed)


def run_summary(row: Row) -> dict[str, Any]:
    """One run for tables and figures: its shape and recipe, its duration, and its curves."""
    config = row["config"]
    curves = run_curves(row["name"], row["course"], config["eval_n"])
    shape = {key: config[key] for key in ("n_layers", "n_heads", "d_model", "p_mix", "seed")}
    return {
        **shape,
        "recipe": {key: config[key] for key in RECIPE},
        "steps_to": row["steps_to"],
        "seconds": row["clock"]["training_seconds"],
        "holdout": vars(curves.holdout),
        "loss": curves.loss,
    }


def world_of(rows: Sequence[Row], varied: str = "") -> dict[str, Any]:
    """The world of all runs without the swept field; other fields in which they differ are lists."""
    worlds = [TrainConfig.from_dict(row["config"]).world.to_dict() for row in rows]
    found = {key: [world[key] for world in worlds] for key in worlds[0] if key != varied}
    return {key: values[0] if all(value == values[0] for value in values) else values for key, values in found.items()}


def devices(rows: Sequence[Row]) -> list[str]:
    """The devices that the runs were trained on, if their tables name them."""
    return sorted({row["clock"]["device"] for row in rows if "device" in row["clock"]})


def one_recipe(rows: Sequence[Row]) -> bool:
    """Whether all runs had the same number of steps and schedule, so that their steps can be compared."""
    return len({(row["config"]["steps"], row["config"]["schedule"]) for row in rows}) == 1
