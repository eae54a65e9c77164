"""Run one experiment, and record the provenance of its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch

from icalgebra.errors import InputError, unknown
from icalgebra.experiments import Experiment, experiment
from icalgebra.experiments.shared.loaded_model import LoadedModel, Runs
from icalgebra.results import Result, provenance
from icalgebra.train.distributed import device_name


def run_experiment(
    name: str,
    tier: str,
    seed: int = 0,
    loaded: LoadedModel | None = None,
    runs: Runs | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Result:
    """changes: other settings than the tier's; the caller then states the command that makes such a result."""
    chosen = experiment(name)
    if not chosen.can_run:
        raise InputError(f"{name} is not run by reproduce; another command writes its results")
    if chosen.about == "runs" and (runs is None or not runs.sources):
        raise InputError(f"{name} reads finished training runs: give --runs RUN … (dynamics) or --runs SWEEP")
    begin = perf_counter()
    subjects: dict[str, dict[str, Any]] = {"model": {"loaded": loaded}, "runs": {"runs": runs}}
    subject = subjects.get(chosen.about, {})
    result: Result = chosen.part("measure").run(
        tier=tier, seed=seed, **subject, **settings(chosen, tier, changes or {})
    )
    used = loaded.device if loaded else torch.device(runs.device if runs else "cpu")
    return replace(result, provenance=provenance(perf_counter() - begin, _device_and_precision(used)))


def settings(chosen: Experiment, tier: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The tier's settings with these changes."""
    known = chosen.settings(tier)
    for name in changes:
        if name not in known:
            raise unknown(f"setting of {chosen.name}", name, known)
    return {**known, **changes}


def _device_and_precision(device: torch.device) -> str:
    tf32 = device.type == "cuda" and torch.get_float32_matmul_precision() != "highest"
    return device_name(device) + (", TF32 products" if tf32 else "")
