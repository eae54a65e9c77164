"""What `subspaces` and `probes` share: the plan of the experiment, its pairs, and the published fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from icalgebra.data.counterfactuals import Pairs, counterfactual_pairs
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.interp.subspaces import LEARNING_RATE, Fit, PairRuns, fit, run_pairs, site_name
from icalgebra.results import Curve

KINDS = ("closure", "cancellation")
WATCHED = 250  # fresh pairs behind each point of a training curve
POINTS = 25  # points of a training curve


@dataclass(frozen=True)
class Plan:
    """Sizes of the experiment: pairs to fit on and fresh ones, steps, seeds, and the sizes and sites of the sweep."""

    n: int
    n_test: int
    n_sides: int  # pairs of left, and of right, cancellation to fit on
    n_sweep: int
    n_line: int  # hold-out queries behind the dotted line
    steps: int
    steps_sweep: int
    n_seeds: int
    size: int
    sizes: tuple[int, ...]
    sites: str  # of the sweep: `last` or `all`
    n_facts: int
    seed: int
    learning_rate: float = LEARNING_RATE

    @staticmethod
    def for_model(
        loaded: LoadedModel, seed: int, sizes: Sequence[int], size: int, n_facts: int, **settings: Any
    ) -> Plan:
        """Subspaces no larger than d_model, and no more facts than the model was trained on."""
        d = loaded.model.config.d_model
        fitting = tuple(k for k in sizes if k <= d)
        return Plan(sizes=fitting, size=min(size, d), n_facts=loaded.facts(n_facts), seed=seed, **settings)

    def with_seed(self, index: int) -> Plan:
        """The same plan with other pairs and another initialisation."""
        return replace(self, seed=self.seed + 1000 * index)


@dataclass(frozen=True)
class Setting:
    """Pairs of one kind: those to fit on, and fresh ones to test on."""

    train: PairRuns
    test: PairRuns
    fresh: Pairs


def flag_name(identity: bool) -> str:
    return "identity" if identity else "no_identity"


def pairs_of(loaded: LoadedModel, kind: str, identity: bool, part: str, n: int, n_facts: int, seed: int) -> Pairs:
    """Parts (train, test) have disjoint random streams, and so do pairs with and without identity facts."""
    stream = f"subspaces/{part}/{flag_name(identity)}"
    return counterfactual_pairs(kind, n, n_facts, seed, loaded.world, identity=identity, stream=stream)


def prepare(loaded: LoadedModel, kind: str, identity: bool, plan: Plan, keys: bool = False) -> Setting:
    """Both runs of all pairs."""
    train, fresh = (
        pairs_of(loaded, kind, identity, part, n, plan.n_facts, plan.seed)
        for part, n in (("train", plan.n), ("test", plan.n_test))
    )
    return Setting(run_pairs(loaded.model, train, keys=keys), run_pairs(loaded.model, fresh, keys=keys), fresh)


def with_other_targets(runs: PairRuns, seed: int) -> PairRuns:
    """The same runs with the targets of other pairs, for the control."""
    order = torch.randperm(len(runs), generator=torch.Generator().manual_seed(seed))
    return replace(runs, targets=runs.targets[order.to(runs.targets.device)])


def last_attention(loaded: LoadedModel) -> str:
    return site_name("attention", loaded.model.config.n_layers - 1)


def main_fit(loaded: LoadedModel, setting: Setting, plan: Plan) -> Fit:
    """The published fit, at our learning rate: one subspace at the final attention output, with its training curve."""
    return fit(
        loaded.model, setting.train, last_attention(loaded), (plan.size,), steps=plan.steps, rate=plan.learning_rate,
        seed=plan.seed, watched=setting.test[:WATCHED], every=max(1, plan.steps // POINTS),
    )  # fmt: skip


def watched_curve(found: Fit) -> Curve:
    """Accuracy on the watched pairs through a fit of one size."""
    return Curve.from_hits(np.stack([seen[:, 0] for seen in found.watched], 1), found.steps)
