"""What an experiment is about: a model, with its world, length, name and hash; or finished runs."""

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
from icalgebra.train.run import RunFolder


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """`name` is the folder its results go to: the preset's for a shipped model, the run folder's otherwise.

    `source` is what the user gave; without one the model is taken for a run of that name.
    """

    name: str
    model: Transformer
    config: TrainConfig
    metrics: list[dict[str, Any]] = field(default_factory=list)  # of its training, where they are known
    checkpoints: list[Path] = field(default_factory=list)  # all checkpoints, of a run folder alone
    source: str = ""

    @property
    def world(self) -> World:
        """The world it was trained in."""
        return self.config.world

    def facts(self, wanted: int) -> int:
        """So many facts a sequence, but no more than it was trained on."""
        return min(wanted, self.config.n_facts)

    @property
    def given(self) -> str:
        """Its source as a command may state it: results are committed and name no folder of one machine."""
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
    """The result of an experiment about a model; a share of nothing is not a measurement and is left out."""
    values = {key: estimate for key, estimate in values.items() if estimate.n}
    command = reproduce_command(experiment, tier, seed, f"--model {loaded.given}")
    config = {**config, "world": loaded.world.to_dict()}
    return Result(
        experiment, tier, loaded.name, seed, config, command, values, curves or {}, details or {}, loaded.hash
    )


@dataclass(frozen=True)
class Runs:
    """Run folders, or a sweep's folder or table, and where their checkpoints may be run."""

    sources: tuple[str, ...]
    device: str | torch.device = "cpu"

    @property
    def name(self) -> str:
        """The folder its results go to: the run's or the sweep's own name."""
        return _run_name(self.sources[0])

    @property
    def given(self) -> str:
        """Its sources as a command may state them: results are committed and name no folder of one machine."""
        places = [f"runs/{_run_name(source)}" if Path(source).is_absolute() else source for source in self.sources]
        return f"--runs {shlex.join(places)}"


def _run_name(source: str) -> str:
    path = Path(source)
    return name_of(path.parent if path.name == "table.json" else path)


def name_of(source: str | Path) -> str:
    """A shipped model's or a folder's own name, points and all (p0.5 is not p0), or a file's without its ending."""
    if is_shipped(str(source)):
        return str(source)
    path = Path(os.path.abspath(source))  # for '.' and '..'; links keep the name they were given by
    return path.stem if path.is_file() else path.name


def load_with_config(source: str = "small", device: str | torch.device = "cpu") -> LoadedModel:
    """A shipped model's name, a run folder, a checkpoint folder or a file."""
    checkpoint = find_checkpoint(source)
    config = TrainConfig.from_dict(checkpoint.config)
    checkpoints = [] if is_shipped(source) else list(by_step(Path(source) / "checkpoints").values())
    # metrics.jsonl stands beside a shipped model's weights, or in the run folder of a checkpoint.
    runs = [RunFolder(folder, config) for folder in (checkpoint.path, *checkpoint.path.parents[:2])]
    metrics = next((run.records() for run in runs if run.metrics.is_file()), [])
    return LoadedModel(name_of(source), checkpoint.model(device), config, metrics, checkpoints, source)
