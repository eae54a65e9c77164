"""Run one experiment, and record the provenance of its result."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import torch

from icalgebra.errors import InputError
from icalgebra.experiments import experiment
from icalgebra.experiments.shared.loaded_model import LoadedModel, Runs
from icalgebra.results import Result, provenance
from icalgebra.train.distributed import device_name


def run_experiment(
    name: str, tier: str, seed: int = 0, loaded: LoadedModel | None = None, runs: Runs | None = None
) -> Result:
    chosen = experiment(name)
    if not chosen.can_run:
        raise InputError(f"{name} is not run by reproduce; another command writes its results")
    if chosen.about == "runs" and (runs is None or not runs.sources):
        raise InputError(f"{name} reads finished training runs: give --runs RUN … (dynamics) or --runs SWEEP")
    begin = perf_counter()
    subjects: dict[str, dict[str, Any]] = {"model": {"loaded": loaded}, "runs": {"runs": runs}}
    subject = subjects.get(chosen.about, {})
    result: Result = chosen.part("measure").run(tier=tier, seed=seed, **subject, **chosen.settings(tier))
    used = loaded.device if loaded else torch.device(runs.device if runs else "cpu")
    return replace(result, provenance=provenance(perf_counter() - begin, _device_and_precision(used)))


def _device_and_precision(device: torch.device) -> str:
    tf32 = device.type == "cuda" and torch.get_float32_matmul_precision() != "highest"
    return device_name(device) + (", TF32 products" if tf32 else "")
