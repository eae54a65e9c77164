"""The history of a training run: its evaluations, its loss, and which head had which role at each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from icalgebra.errors import InputError
from icalgebra.interp.heads import ROLES, Head, RoleScores, head_name, head_roles
from icalgebra.model.checkpoints import WEIGHTS, by_step, is_shipped, sound_models
from icalgebra.model.transformer import Transformer
from icalgebra.results import Curve
from icalgebra.train.config import TrainConfig
from icalgebra.train.loop import Record
from icalgebra.train.run import RunFolder

Scores = dict[str, RoleScores]


@dataclass(frozen=True)
class RoleHistory:
    """One role through training."""

    head: str  # with the highest score at the last checkpoint
    own: Curve  # its score
    best: Curve  # the highest score of any head, at each step
    heads: list[str]  # which head that was


@dataclass(frozen=True)
class TrainingHistory:
    config: TrainConfig
    steps: list[int]  # of the evaluations
    values: dict[str, list[float]]  # every evaluation by its name
    loss: list[list[float]]  # of training: step, nats per token
    roles: dict[str, RoleHistory]

    def to_dict(self) -> dict[str, Any]:
        roles = {
            role: {**vars(found), "own": vars(found.own), "best": vars(found.best)}
            for role, found in self.roles.items()
        }
        return {**vars(self), "config": self.config.to_dict(), "roles": roles}

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> TrainingHistory:
        roles = {
            role: RoleHistory(**{**found, "own": Curve(**found["own"]), "best": Curve(**found["best"])})
            for role, found in plain["roles"].items()
        }
        return TrainingHistory(**{**plain, "config": TrainConfig.from_dict(plain["config"]), "roles": roles})


def training_history(config: TrainConfig, records: Sequence[Record], scores: Mapping[int, Scores]) -> TrainingHistory:
    """From the records of metrics.jsonl, and the role scores at some steps."""
    evaluations = [record for record in records if record["kind"] == "evaluation"]
    if not evaluations:
        raise InputError("the run has not been evaluated yet")
    names = [name for name, value in evaluations[-1].items() if isinstance(value, float)]
    return TrainingHistory(
        config=config,
        steps=[record["step"] for record in evaluations],
        values={name: [record[name] for record in evaluations] for name in names},
        loss=[[record["step"], record["loss"]] for record in records if record["kind"] == "train"],
        roles=_role_histories(dict(scores)),
    )


def load_training_history(
    source: str | Path, n: int, n_facts: int, seed: int, device: str | torch.device
) -> TrainingHistory:
    """A run folder, whose checkpoints give the roles (--log-checkpoints keeps log-spaced ones), or a shipped model."""
    folder = WEIGHTS / source if is_shipped(str(source)) else Path(source)
    if not (folder / "config.json").is_file() or not (folder / "metrics.jsonl").is_file():
        raise InputError(f"{source} is not a run folder: it needs config.json and metrics.jsonl")
    run = RunFolder(folder, TrainConfig.load(folder / "config.json"))
    scores = {
        checkpoint.step: measured_roles(checkpoint.model(device), run.config, n, n_facts, seed)
        for checkpoint in sound_models(by_step(run.checkpoints).values())
    }
    return training_history(run.config, run.records(), scores)


@torch.no_grad()
def measured_roles(model: Transformer, config: TrainConfig, n: int, n_facts: int, seed: int) -> Scores:
    """The scores of all roles; empty in a world without the queries they need."""
    was_training = model.training
    model.eval()
    try:
        return head_roles(model, config.world, n, min(n_facts, config.n_facts), seed)
    except InputError:
        return {}
    finally:
        model.train(was_training)


def _role_histories(scores: dict[int, Scores]) -> dict[str, RoleHistory]:
    steps = [step for step in sorted(scores) if scores[step]]
    if not steps:
        return {}
    return {role: _role_history(steps, [scores[step][role] for step in steps]) for role in ROLES}


def _role_history(steps: list[int], found: list[RoleScores]) -> RoleHistory:
    last: Head = found[-1].best
    own = Curve.from_estimates(steps, [scores.score(last) for scores in found])
    best = Curve.from_estimates(steps, [scores.score(scores.best) for scores in found])
    return RoleHistory(head_name(last), own, best, [head_name(scores.best) for scores in found])
