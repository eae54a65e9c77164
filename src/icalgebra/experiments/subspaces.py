"""Subspaces (L2, L3): does a subspace carry the closure set, and another one the elimination set?

Counterfactual pairs (counterfactuals.py) say what a run should answer if it had another run's closure or elimination
set; a subspace of the final attention output is fitted to make it so, and judged on fresh pairs. Controls: random
subspaces of the same size, the principal directions of the differences between the two runs, the whole space, a
subspace fitted to shuffled targets, and the base run left alone. The sweep puts subspaces of many sizes at every
layer's attention output, MLP output and residual stream.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icalgebra.distributions import sample
from icalgebra.evaluate import share
from icalgebra.experiments.subject import Subject, result_about
from icalgebra.experiments.subspace_fits import KINDS, Plan, Setting, flag_name, last_attention, main_fit, prepare
from icalgebra.experiments.values import across_seeds, exactly, holds
from icalgebra.interp.lens import head_results
from icalgebra.interp.subspaces import (
    COMPONENTS,
    Fit,
    PairRuns,
    fit,
    hits,
    overlap,
    predictions,
    principal_basis,
    random_bases,
    share_inside,
    site_name,
)
from icalgebra.interp.trace import top_variable
from icalgebra.results import Curve, Result
from icalgebra.statistics import Estimate, mean

Values = dict[str, Estimate]
SIDES = ("left", "right")
N_RANDOM = 8  # random subspaces behind each control


def run(tier: str, seed: int, subject: Subject, **settings: Any) -> Result:
    plan = Plan.of(subject, seed, **settings)
    prepared = {(kind, identity): prepare(subject, kind, identity, plan, keys=not identity)
                for kind in KINDS for identity in (False, True)}  # fmt: skip
    fits = {key: main_fit(subject, setting, plan) for key, setting in prepared.items()}
    bases = {key: found.of(plan.size) for key, found in fits.items()}
    plain = {kind: prepared[kind, False] for kind in KINDS}
    values: Values = {"holdout.not_identity": _not_identity(subject, plan)}
    for (kind, identity), setting in prepared.items():
        values |= _accuracy(subject, kind, identity, setting, bases[kind, identity], plan)
        values |= _controls(subject, f"{kind}.{flag_name(identity)}", setting, bases[kind, identity], plan)
    for kind, setting in plain.items():
        values |= _shuffled(subject, kind, setting, plan)
        values |= _failures(subject, kind, prepared[kind, True], bases[kind, True])
    values |= _cross(subject, plain, bases["closure", False], bases["elimination", False])
    values |= _sides(subject, bases["elimination", False], plain["elimination"], plan)
    values |= _heads(subject, plain["closure"].test, {kind: bases[kind, False] for kind in KINDS}, plan)
    heads = _heads_inside(values)
    values["several_heads"] = holds(len(heads["elimination"]) > 1, 1)
    swept = {kind: _sweep(subject, kind, setting, plan) for kind, setting in plain.items()}
    return result_about(
        subject, "subspaces", tier, seed,
        config=asdict(plan),
        values=values | swept["closure"].values | swept["elimination"].values,
        curves={f"{kind}.{flag_name(identity)}": _curve(found) for (kind, identity), found in fits.items()},
        details={"sweep": {kind: found.table for kind, found in swept.items()},
                 "best_size": {kind: found.best_size for kind, found in swept.items()},
                 "heads": heads, "d_model": subject.model.config.d_model},
    )  # fmt: skip


def _curve(found: Fit) -> Curve:
    return Curve.of_hits(np.stack([seen[:, 0] for seen in found.watched], 1), found.steps)


def _hits(subject: Subject, runs: PairRuns, basis: Tensor) -> np.ndarray:
    return hits(subject.model, runs, last_attention(subject), basis)[:, 0]


def _not_identity(subject: Subject, plan: Plan) -> Estimate:
    """The share of hold-out queries that are not identity facts: the paper's dotted line."""
    holdout = sample("holdout", plan.n_line, plan.n_facts, plan.seed, subject.world, stream="subspaces/holdout")
    return share(~holdout.identity_queries())


# --- at the final attention output ------------------------------------------------------------------------------------


def _accuracy(subject: Subject, kind: str, identity: bool, setting: Setting, basis: Tensor, plan: Plan) -> Values:
    """Interchange accuracy on fresh pairs, for every seed and for all of them together."""
    reached = [_hits(subject, setting.test, basis)]
    for place in range(1, plan.n_seeds):
        other = plan.of_seed(place)
        again = prepare(subject, kind, identity, other)
        reached.append(_hits(subject, again.test, main_fit(subject, again, other).of(plan.size)))
    name, by_seed = f"{kind}.{flag_name(identity)}", [share(hit) for hit in reached]
    return {name: across_seeds(by_seed), **{f"{name}.seed.{i}": estimate for i, estimate in enumerate(by_seed)}}


def _controls(subject: Subject, name: str, setting: Setting, basis: Tensor, plan: Plan) -> Values:
    model, site, test = subject.model, last_attention(subject), setting.test
    whole = torch.eye(basis.shape[1], device=basis.device)[None]
    random = hits(model, test, site, random_bases(model.unembedding, plan.size, N_RANDOM, plan.seed))
    answered = {
        part: top_variable(getattr(test, part).logits[:, : model.config.n_variables]) for part in ("source", "base")
    }
    predicted = predictions(model, test, site, basis)[:, 0]
    return {
        f"{name}.still_base": share(predicted == setting.fresh.base.answers),
        f"{name}.becomes_source": share(predicted == setting.fresh.source.answers),
        f"{name}.train": share(_hits(subject, setting.train, basis)),
        f"{name}.random": share(random.mean(axis=1)),
        f"{name}.principal": share(_hits(subject, test, principal_basis(setting.train, site, plan.size))),
        f"{name}.whole": share(_hits(subject, test, whole)),
        f"{name}.unchanged": share(answered["base"] == setting.fresh.targets),
        f"{name}.source_right": share(answered["source"] == setting.fresh.source.answers),
        f"{name}.base_right": share(answered["base"] == setting.fresh.base.answers),
    }


def _shuffled(subject: Subject, kind: str, setting: Setting, plan: Plan) -> Values:
    """A fit to the targets of other pairs: how far a subspace of this size can be bent, on its pairs and fresh ones."""
    train, test = (_with_other_targets(runs, plan.seed) for runs in (setting.train, setting.test))
    basis = fit(
        subject.model, train, last_attention(subject), (plan.size,), steps=plan.steps, seed=plan.seed
    ).of(plan.size)  # fmt: skip
    return {
        f"{kind}.no_identity.shuffled": share(_hits(subject, test, basis)),
        f"{kind}.no_identity.shuffled_train": share(_hits(subject, train, basis)),
    }


def _with_other_targets(runs: PairRuns, seed: int) -> PairRuns:
    order = torch.randperm(len(runs), generator=torch.Generator().manual_seed(seed))
    return replace(runs, targets=runs.targets[order.to(runs.targets.device)])


def _failures(subject: Subject, kind: str, setting: Setting, basis: Tensor) -> Values:
    """Failures of a subspace where identity facts are allowed: how many are identity cases, and of which sort."""
    hit, cases = _hits(subject, setting.test, basis), setting.fresh.identity_cases
    any_case = np.any(list(cases.values()), axis=0)
    values = {f"{kind}.pairs_identity": share(any_case)}
    if not hit.all():
        values[f"{kind}.failures_identity"] = share(any_case[~hit])
    for name, rows in {**cases, "none": ~any_case}.items():
        if rows.any():
            values[f"{kind}.case.{name}"] = share(hit[rows])
    return values


def _cross(subject: Subject, settings: dict[str, Setting], closure: Tensor, elimination: Tensor) -> Values:
    """Each subspace in the other's place, and how much of one lies in the other."""
    d, size = closure.shape[1:]
    return {
        "cross.closure_for_elimination": share(_hits(subject, settings["elimination"].test, closure)),
        "cross.elimination_for_closure": share(_hits(subject, settings["closure"].test, elimination)),
        "overlap": exactly(overlap(closure[0], elimination[0]), size),
        "overlap.random": exactly(size / d, size),
    }


def _sides(subject: Subject, both: Tensor, pairs_of_both: Setting, plan: Plan) -> Values:
    """Subspaces for eliminations by the row, by the column and by both, each tried on the pairs of each."""
    settings = {side: prepare(subject, f"{side} elimination", False, replace(plan, n=plan.n_sides)) for side in SIDES}
    bases = {side: main_fit(subject, setting, plan).of(plan.size) for side, setting in settings.items()}
    runs = {"both": pairs_of_both.test, **{side: setting.test for side, setting in settings.items()}}
    return {
        f"sides.{fitted}_on_{tried}": share(_hits(subject, pairs, basis))
        for fitted, basis in {"both": both, **bases}.items()
        for tried, pairs in runs.items()
    }


def _heads(subject: Subject, runs: PairRuns, bases: dict[str, Tensor], plan: Plan) -> Values:
    """The share of every final-layer head's output (of what varies of it) inside the subspaces and a random one."""
    outputs, layer = head_results(subject.model, runs.source)[:, -1].detach(), subject.model.config.n_layers - 1
    bases = {**bases, "random": random_bases(outputs, plan.size, 1, plan.seed)}
    inside = {name: share_inside(outputs, basis[0]).cpu().numpy() for name, basis in bases.items()}
    return {
        f"head.{layer}.{head}.{name}": mean(shares[:, head])
        for name, shares in inside.items()
        for head in range(shares.shape[1])
    }


def _heads_inside(values: Values) -> dict[str, list[str]]:
    """The heads with more than twice as much inside a subspace as inside a random one, the fullest first."""
    names = [
        key.removeprefix("head.").removesuffix(".random")
        for key in values
        if key.endswith(".random") and "head." in key
    ]

    def inside(name: str, kind: str) -> float:
        return values[f"head.{name}.{kind}"].value

    found = {kind: [name for name in names if inside(name, kind) > 2 * inside(name, "random")] for kind in KINDS}
    ranked = {kind: sorted(heads, key=lambda name: -inside(name, kind)) for kind, heads in found.items()}
    return {**ranked, "both": [name for name in names if all(name in heads for heads in found.values())]}


# --- the sweep ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """Accuracies, also as a table by component, layer and size; the best size at the input of the last attention."""

    values: Values
    table: dict[str, dict[str, list[float]]]
    best_size: int | None


def sweep_sites(n_layers: int, sites: str) -> list[tuple[str, int]]:
    """`last`: the final attention output, the MLP output behind it, and its input; `all` components and layers."""
    if sites == "last":
        return [("attention", n_layers - 1), ("MLP", n_layers - 1), ("residual", max(0, n_layers - 2))]
    return [(component, layer) for component in COMPONENTS for layer in range(n_layers)]


def _sweep(subject: Subject, kind: str, setting: Setting, plan: Plan) -> Sweep:
    model, train, n_layers = subject.model, setting.train[: plan.n_sweep], subject.model.config.n_layers
    values: Values = {}
    best_size = None
    table: dict[str, dict[str, list[float]]] = {component: {} for component in COMPONENTS}
    for component, layer in sweep_sites(n_layers, plan.sites):
        site = site_name(component, layer)
        found = fit(model, train, site, plan.sizes, steps=plan.steps_sweep, seed=plan.seed)
        hit = hits(model, setting.test, site, found.bases)
        values |= {f"sweep.{kind}.{component}.{layer}.{k}": share(hit[:, i]) for i, k in enumerate(plan.sizes)}
        table[component][str(layer)] = hit.mean(0).tolist()
        if (component, layer) == ("residual", n_layers - 2):
            # The size is chosen on one half of the fresh pairs and judged on the other.
            chosen, half = int(hit[: len(hit) // 2].mean(0).argmax()), len(hit) // 2
            values[f"{kind}.input_of_last"], best_size = share(hit[half:, chosen]), plan.sizes[chosen]
    return Sweep(values, table, best_size)
