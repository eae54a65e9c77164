"""What experiments about sweeps share: finished rows of a table, several seeds of one setting, curves for figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from icalgebra.errors import InputError
from icalgebra.experiments.shared.estimates import across_seeds, point_estimate
from icalgebra.experiments.shared.loaded_model import Runs
from icalgebra.experiments.shared.sweep_targets import LEARNED, PLATEAU_END
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.statistics import Estimate, mean
from icalgebra.sweep.table import read_table, run_curves
from icalgebra.train.config import TrainConfig

Row = dict[str, Any]
# As values and the paper's table call them, and as evaluations do.
SKILLS = {"holdout": "holdout", **dict(zip(MECHANISMS, MECHANISMS)), "closure": "closure_top_k"}
RECIPE = ("optimiser", "lr", "muon_lr", "steps", "schedule", "warmup", "batch_size", "n_facts", "precision", "residual",
          "float8")  # fmt: skip
OWN_WORLD = ("final", "own")  # evaluations of the sweeps' descriptions that only ask more sequences
LAST_SHARE = 0.1  # of the logged losses: their mean is the final one


def finished_rows(runs: Runs) -> list[Row]:
    """Of one table, or of several that are pieces of one sweep."""
    rows = {row["id"]: row for source in runs.sources for row in _finished(Path(source))}
    if not rows:
        raise InputError(f"{runs.sources[0]}: no run of this sweep is done yet")
    return list(rows.values())


def _finished(table: Path) -> list[Row]:
    """Their configs in full: a field that was added since has its default."""
    done = [row for row in read_table(table)["runs"] if row["done"]]
    return [{**row, "config": TrainConfig.from_dict(row["config"]).to_dict()} for row in done]


def measured(row: Row, evaluation: str) -> dict[str, Estimate]:
    """Skills of a finished model under a further evaluation; of its own world, its last running one will do."""
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
    """The first evaluation with half of the hold-out queries right, the mean over seeds; infinite if one has none."""
    courses = [row["course"]["holdout"] for row in rows]
    found = [next((step for step, share in course if share >= PLATEAU_END), float("inf")) for course in courses]
    return sum(found) / len(found) if found else None


def reached(rows: Sequence[Row]) -> dict[str, Estimate]:
    """Steps to three hold-out accuracies, those that all seeds reached."""
    steps = {"steps_to_50": plateau_end(rows), "steps_to_90": steps_to(rows), "steps_to_99": steps_to(rows, "0.99")}
    return {name: point_estimate(at, len(rows)) for name, at in steps.items() if at is not None and at != float("inf")}


def read_in_bf16(rows: Sequence[Row]) -> bool:
    """Whether a run is from before logits were read out in fp32, which outcomes say since then.

    In bf16 the best two are often equal, and a tie is wrong.
    """
    return any(row["config"]["precision"] == "bf16" and row.get("logits") != "fp32" for row in rows)


def later(one: float | None, other: float | None) -> bool | None:
    """Whether the first came later; None where a run is missing or neither came."""
    if one is None or other is None or one == other == float("inf"):
        return None
    return one > other


def final_loss(rows: Sequence[Row]) -> Estimate:
    """The mean training loss over the last tenth of what was logged."""
    return across_seeds([_final_loss(row["course"]["loss"]) for row in rows])


def _final_loss(loss: list[list[float]]) -> Estimate:
    last = max(2, round(LAST_SHARE * len(loss)))
    return mean(np.array([value for _, value in loss[-last:]]))


def told(row: Row) -> dict[str, Any]:
    """One run for tables and figures: what it was, how long it took, and its course."""
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
    """The world of all runs, without what the sweep varies; a list where they differ in something else."""
    worlds = [TrainConfig.from_dict(row["config"]).world.to_dict() for row in rows]
    found = {key: [world[key] for world in worlds] for key in worlds[0] if key != varied}
    return {key: values[0] if all(value == values[0] for value in values) else values for key, values in found.items()}


def devices(rows: Sequence[Row]) -> list[str]:
    """Where the runs were trained, as far as their tables say."""
    return sorted({row["clock"]["device"] for row in rows if "device" in row["clock"]})


def one_recipe(rows: Sequence[Row]) -> bool:
    """Whether all runs had the same number of steps and schedule, so that their steps can be compared."""
    return len({(row["config"]["steps"], row["config"]["schedule"]) for row in rows}) == 1
