"""The input of an experiment: a model with its world, length, name and hash, or finished training runs."""

from __future__ import annotations

import hashlib
import os
import shlex
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from icalgebra.language.world import World
from icalgebra.model.accuracy import Predictor
from icalgebra.model.checkpoints import by_step, find_checkpoint, is_shipped
from icalgebra.model.predict import as_predictor
from icalgebra.model.transformer import Transformer
from icalgebra.results import Curve, Result, reproduce_command
from icalgebra.statistics import Estimate
from icalgebra.train.config import TrainConfig
from icalgebra.train.metrics import check_complete, read_metrics
from icalgebra.train.run import RunFolder


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """`name` is the folder for its results: the preset's name for a shipped model, else the run folder's.

    `source` is what the user gave; an empty one means a run of that name.
    """

    name: str
    model: Transformer
    config: TrainConfig
    metrics: list[dict[str, Any]] = field(default_factory=list)  # of its training, if available
    checkpoints: list[Path] = field(default_factory=list)  # all of them, for a run folder only
    source: str = ""

    @property
    def world(self) -> World:
        """The world it was trained in."""
        return self.config.world

    def facts(self, wanted: int) -> int:
        """The wanted number of facts per sequence, but no more than the model was trained on."""
        return min(wanted, self.config.n_facts)

    @property
    def given(self) -> str:
        """The source for the reproduce command. Results are committed, so it never names an absolute path."""
        if is_shipped(self.source or self.name):
            return self.source or self.name
        nearby = self.source and not Path(self.source).is_absolute()
        return shlex.quote(str(Path(self.source)) if nearby else f"runs/{self.name}")

    @property
    def device(self) -> torch.device:
        return self.model.unembedding.device

    @cached_property
    def predictor(self) -> Predictor:
        return as_predictor(self.model)

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the weights, in a fixed order."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(tensor.detach().float().cpu().numpy()).tobytes())
        return digest.hexdigest()


def result_about(
    loaded: LoadedModel,
    experiment: str,
    tier: str,
    seed: int,
    config: dict[str, Any],
    values: dict[str, Estimate],
    curves: dict[str, Curve] | None = None,
    details: dict[str, Any] | None = None,
) -> Result:
    """The result of an experiment about a model. Estimates without observations are left out."""
    values = {key: estimate for key, estimate in values.items() if estimate.n}
    command = reproduce_command(experiment, tier, seed, f"--model {loaded.given}")
    config = {**config, "world": loaded.world.to_dict()}
    return Result(
        experiment, tier, loaded.name, seed, config, command, values, curves or {}, details or {}, loaded.hash
    )


@dataclass(frozen=True)
class Runs:
    """Run folders, or a sweep's folder or table, and the device for their checkpoints."""

    sources: tuple[str, ...]
    device: str | torch.device = "cpu"

    @property
    def name(self) -> str:
        """The folder for their results: the run's or the sweep's own name."""
        return _run_name(self.sources[0])

    @property
    def given(self) -> str:
        """The sources for the reproduce command. Results are committed, so it never names an absolute path."""
        places = [f"runs/{_run_name(source)}" if Path(source).is_absolute() else source for source in self.sources]
        return f"--runs {shlex.join(places)}"


def _run_name(source: str) -> str:
    path = Path(source)
    return name_of(path.parent if path.name == "table.json" else path)


def name_of(source: str | Path) -> str:
    """A shipped model's name, a folder's name with its dots (p0.5 is not p0), or a file's without its suffix."""
    if is_shipped(str(source)):
        return str(source)
    path = Path(os.path.abspath(source))  # for '.' and '..'; symbolic links keep their own name
    return path.stem if path.is_file() else path.name


def load_with_config(source: str = "small", device: str | torch.device = "cpu") -> LoadedModel:
    """A shipped model's name, a run folder, a checkpoint folder or a file."""
    checkpoint = find_checkpoint(source)
    config = TrainConfig.from_dict(checkpoint.config)
    checkpoints = [] if is_shipped(source) else list(by_step(Path(source) / "checkpoints").values())
    # metrics.jsonl is beside a shipped model's weights, or in the run folder of a checkpoint.
    runs = [RunFolder(folder, config) for folder in (checkpoint.path, *checkpoint.path.parents[:2])]
    metrics = next((run.metrics for run in runs if run.metrics.is_file()), None)
    records = read_metrics(metrics) if metrics else []
    if metrics:
        check_complete(metrics, records, checkpoint.step, checkpoint.records)
    return LoadedModel(name_of(source), checkpoint.model(device), config, records, checkpoints, source)
