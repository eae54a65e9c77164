"""Subspaces, second edition (L6): do they hold in sequences unlike those they were fitted on, and could it be chance?

Fits are made as in `subspaces`, but in the residual stream between the last attention and the last MLP. In `small` 16
dimensions exchange both sets there; the attention output alone lacks what earlier layers wrote. For each set:

<set>.accuracy                 on fresh pairs, over all seeds; .attention: the same fit at the final attention output
<set>.published_rate           fitted at the released code's learning rate
<set>.<family>_on_<family>     fitted on cyclic (dihedral) groups, tested on the others
<set>.new_variables            on targets that were left out of the fit; .old_variables: the same fit on the others
<set>.differ.<m>               sets that differ in m members: exactly these m variables get the m highest logits
<set>.natural                  natural sequences of hold-out facts (interp/natural_pairs.py); .refitted: fitted there
both.accuracy                  both sets exchanged at once: the source's answer; .<set>_alone: one set of the two
<set>.random, .shuffled, .untrained, .unchanged    controls
<set>.active, .dormant         only the part of the exchange in the directions that hold 99 % of what varies between
                               the two runs, and only the rest: a subspace that works by directions which hardly vary
                               in the model itself would show it here. .dormant_share: of the exchange's squared length
width.<d_model>.<set>          the fit on fewer pairs, in the model and in the same model made wider (widened.py)
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icalgebra.data.counterfactuals import Pairs, counterfactual_pairs
from icalgebra.errors import InputError
from icalgebra.experiments.shared.estimates import across_seeds
from icalgebra.experiments.shared.families import FAMILIES, family_world
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.experiments.shared.subspace_fits import KINDS, POINTS, watched_curve, with_other_targets
from icalgebra.experiments.subspace_generalisation.widened import widened
from icalgebra.interp.natural_pairs import natural_pairs
from icalgebra.interp.subspaces import (
    LEARNING_RATE,
    PUBLISHED_RATE,
    Fit,
    PairRuns,
    exchanged_logits,
    fit,
    hits,
    predictions,
    random_bases,
    run_pairs,
    site_name,
)
from icalgebra.language.world import World
from icalgebra.model.accuracy import accuracy_estimate
from icalgebra.model.predict import top_variable
from icalgebra.model.transformer import Transformer
from icalgebra.results import Curve, Result
from icalgebra.statistics import Estimate, mean

Values = dict[str, Estimate]
DIFFERING = (1, 2, 3)  # members in which the two sets differ
N_RANDOM = 8  # random subspaces averaged in the control
ACTIVE = 0.99  # of the variance between the two runs, for the directions that count as active
NEW_VARIABLES = 4  # every fourth variable is never a target of the fit
WATCHED = 500  # fresh pairs behind each point of a curve


@dataclass(frozen=True)
class Sizes:
    n: int
    n_test: int
    steps: int
    n_seeds: int
    size: int
    n_facts: int
    n_natural: int
    natural_facts: int
    n_wide: int
    widths: tuple[int, ...]


@dataclass(frozen=True)
class Fitted:
    """The fit to one set's pairs, and both runs of the pairs it was fitted and is tested on."""

    kind: str
    basis: Tensor
    train: PairRuns
    test: PairRuns
    fresh: Pairs


def run(tier: str, seed: int, loaded: LoadedModel, widths: tuple[int, ...], **settings: Any) -> Result:
    given = Sizes(**settings, widths=tuple(widths))
    sizes = replace(
        given,
        size=min(given.size, loaded.model.config.d_model),
        n_facts=loaded.facts(given.n_facts),
        natural_facts=loaded.facts(given.natural_facts),
    )
    values: Values = {}
    curves: dict[str, Curve] = {}
    left_out: dict[str, str] = {}
    fitted = {kind: _fitted(loaded, kind, sizes, seed, values, curves) for kind in KINDS}
    for found in fitted.values():
        _controls(loaded, found, sizes, seed, values)
        _new_variables(loaded, found, sizes, seed, values)
        for test in (_families, _differing, _natural):
            try:
                test(loaded, found, sizes, seed, values)
            except InputError as error:  # the model's world has no such pairs
                left_out[f"{found.kind}{test.__name__}"] = str(error)
    _both(loaded, fitted, values)
    _widths(loaded, sizes, seed, values, curves)
    return result_about(
        loaded, "subspace_generalisation", tier, seed,
        config={**asdict(sizes), "learning_rate": LEARNING_RATE, "published_rate": PUBLISHED_RATE},
        values=values,
        curves=curves,
        details={"left_out": left_out, "d_model": loaded.model.config.d_model},
    )  # fmt: skip


# --- fits and fresh pairs ---------------------------------------------------------------------------------------------


def _site(model: Transformer, component: str = "resid_mid") -> str:
    return site_name(component, model.config.n_layers - 1)


def _pairs(loaded: LoadedModel, kind: str, part: str, n: int, sizes: Sizes, seed: int, **more: Any) -> Pairs:
    """Parts (train, test) have disjoint random streams."""
    world: World = more.pop("world", loaded.world)
    stream = f"subspace generalisation/{part}"
    return counterfactual_pairs(kind, n, sizes.n_facts, seed, world, stream=stream, **more)


def _fit(model: Transformer, train: PairRuns, sizes: Sizes, seed: int, **more: Any) -> Fit:
    site = more.pop("site", _site(model))
    return fit(model, train, site, (min(sizes.size, model.config.d_model),), steps=sizes.steps, seed=seed, **more)


def _basis(found: Fit) -> Tensor:
    return found.basis(found.sizes[0])


def _fitted(
    loaded: LoadedModel, kind: str, sizes: Sizes, seed: int, values: Values, curves: dict[str, Curve]
) -> Fitted:
    """The main fit and its accuracy: for each seed, at the published rate, and at the attention output."""
    model, reached = loaded.model, []
    found: list[Fitted] = []
    for index in range(sizes.n_seeds):
        own = seed + 1000 * index
        fresh = _pairs(loaded, kind, "test", sizes.n_test, sizes, own)
        train = run_pairs(model, _pairs(loaded, kind, "train", sizes.n, sizes, own))
        test = run_pairs(model, fresh)
        fits = _fit(model, train, sizes, own, watched=test[:WATCHED], every=max(1, sizes.steps // POINTS))
        found.append(Fitted(kind, _basis(fits), train, test, fresh))
        reached.append(accuracy_estimate(_hits(model, test, found[-1].basis)))
        if index == 0:
            curves[f"{kind}.ours"] = watched_curve(fits)
    first = found[0]
    rate = _fit(
        model, first.train, sizes, seed, rate=PUBLISHED_RATE, watched=first.test[:WATCHED],
        every=max(1, sizes.steps // POINTS),
    )  # fmt: skip
    curves[f"{kind}.published"] = watched_curve(rate)
    output = _site(model, "attention")
    at_output = _basis(_fit(model, first.train, sizes, seed, site=output))
    values |= {
        f"{kind}.accuracy": across_seeds(reached),
        **{f"{kind}.seed.{i}": estimate for i, estimate in enumerate(reached)},
        f"{kind}.published_rate": accuracy_estimate(_hits(model, first.test, _basis(rate))),
        f"{kind}.attention": accuracy_estimate(hits(model, first.test, output, at_output)[:, 0]),
    }
    return first


def _hits(model: Transformer, runs: PairRuns, basis: Tensor, within: Tensor | None = None) -> np.ndarray:
    return hits(model, runs, _site(model), basis, within)[:, 0]


# --- controls ---------------------------------------------------------------------------------------------------------


def _controls(loaded: LoadedModel, found: Fitted, sizes: Sizes, seed: int, values: Values) -> None:
    model, name, site = loaded.model, found.kind, _site(loaded.model)
    random = hits(model, found.test, site, random_bases(model.unembedding, sizes.size, N_RANDOM, seed))
    train, test = (with_other_targets(runs, seed) for runs in (found.train, found.test))
    untrained = Transformer(model.config, seed=seed).to(loaded.device).eval()
    new = [
        run_pairs(untrained, _pairs(loaded, name, part, n, sizes, seed))
        for part, n in (("train", sizes.n), ("test", sizes.n_test))
    ]
    active = _active(found.train.difference(site))
    dormant = torch.eye(len(active), device=active.device) - active
    moved = found.test.difference(site) @ found.basis[0] @ found.basis[0].T
    values |= {
        f"{name}.random": accuracy_estimate(random.mean(axis=1)),
        f"{name}.unchanged": accuracy_estimate(_answers(loaded, found.test) == found.fresh.targets),
        f"{name}.shuffled": accuracy_estimate(_hits(model, test, _basis(_fit(model, train, sizes, seed)))),
        f"{name}.untrained": accuracy_estimate(_hits(untrained, new[1], _basis(_fit(untrained, new[0], sizes, seed)))),
        f"{name}.active": accuracy_estimate(_hits(model, found.test, found.basis, active)),
        f"{name}.dormant": accuracy_estimate(_hits(model, found.test, found.basis, dormant)),
        f"{name}.dormant_share": mean(
            ((moved @ dormant).square().sum(1) / moved.square().sum(1).clamp(min=1e-12)).cpu().numpy()
        ),
    }


def _answers(loaded: LoadedModel, runs: PairRuns) -> np.ndarray:
    """What the base runs answer without an exchange."""
    return top_variable(runs.base.logits[:, : loaded.world.n_variables])


def _active(differences: Tensor) -> Tensor:
    """The projection on the fewest principal directions that hold ACTIVE of the differences' squared length."""
    _, spread, directions = torch.linalg.svd(differences.double().cpu(), full_matrices=False)
    held = spread.square().cumsum(0) / spread.square().sum()
    kept = directions[: int((held < ACTIVE).sum()) + 1]
    return (kept.T @ kept).to(differences)


# --- other sequences --------------------------------------------------------------------------------------------------


def _families(loaded: LoadedModel, found: Fitted, sizes: Sizes, seed: int, values: Values) -> None:
    """Fitted on the pairs of one family of groups, tested on those of each."""
    model, bases, tests = loaded.model, {}, {}
    for family in FAMILIES:
        world = family_world(loaded.world, family)
        train = run_pairs(model, _pairs(loaded, found.kind, family, sizes.n, sizes, seed, world=world))
        bases[family] = _basis(_fit(model, train, sizes, seed))
        fresh = _pairs(loaded, found.kind, f"{family}/test", sizes.n_test, sizes, seed, world=world)
        tests[family] = run_pairs(model, fresh)
    for fitted, basis in bases.items():
        for tested, runs in tests.items():
            values[f"{found.kind}.{fitted}_on_{tested}"] = accuracy_estimate(_hits(model, runs, basis))


def _new_variables(loaded: LoadedModel, found: Fitted, sizes: Sizes, seed: int, values: Values) -> None:
    """Pairs whose target is one of some variables are left out of the fit and tested apart."""

    def new(runs: PairRuns) -> Tensor:
        return runs.targets % NEW_VARIABLES == NEW_VARIABLES - 1

    basis = _basis(_fit(loaded.model, found.train[~new(found.train)], sizes, seed))
    for name, rows in (("new", new(found.test)), ("old", ~new(found.test))):
        values[f"{found.kind}.{name}_variables"] = accuracy_estimate(_hits(loaded.model, found.test[rows], basis))


def _differing(loaded: LoadedModel, found: Fitted, sizes: Sizes, seed: int, values: Values) -> None:
    """Sets that differ in several members, exchanged by the subspace that was fitted on sets that differ in one."""
    for m in DIFFERING:
        pairs = _pairs(loaded, found.kind, "differing", sizes.n_test, sizes, seed, n_own=m)
        runs = run_pairs(loaded.model, pairs)
        logits = exchanged_logits(loaded.model, runs, _site(loaded.model), found.basis)[:, 0]
        values[f"{found.kind}.differ.{m}"] = accuracy_estimate(_exactly(logits, pairs, m))
        before = runs.base.logits[:, : loaded.world.n_variables]
        values[f"{found.kind}.differ.{m}.unchanged"] = accuracy_estimate(_exactly(before, pairs, m))


def _exactly(logits: Tensor, pairs: Pairs, m: int) -> np.ndarray:
    """Whether the m highest logits are those of the m variables that should be left."""
    top = logits.topk(m, dim=-1).indices.cpu().numpy()
    inside: np.ndarray = np.take_along_axis(pairs.target_sets, top, axis=1)
    return inside.sum(axis=1) == m


def _natural(loaded: LoadedModel, found: Fitted, sizes: Sizes, seed: int, values: Values) -> None:
    """Fresh natural pairs; half of them serve to fit a subspace anew, the other half is what is scored."""
    model, pairs = loaded.model, natural_pairs(found.kind, 2 * sizes.n_natural, sizes.natural_facts, seed, loaded.world)
    runs = run_pairs(model, pairs)
    train, test = runs[: sizes.n_natural], runs[sizes.n_natural :]
    refitted = _basis(_fit(model, train, sizes, seed))
    right = _answers(loaded, test) == pairs.base.answers[sizes.n_natural :]
    values |= {
        f"{found.kind}.natural": accuracy_estimate(_hits(model, test, found.basis)),
        f"{found.kind}.natural.refitted": accuracy_estimate(_hits(model, test, refitted)),
        f"{found.kind}.natural.unchanged": accuracy_estimate(_answers(loaded, test) == test.targets.cpu().numpy()),
        f"{found.kind}.natural.base_right": accuracy_estimate(right),
    }


def _both(loaded: LoadedModel, fitted: dict[str, Fitted], values: Values) -> None:
    """Both subspaces at once, on the pairs of both kinds: the base then has both sets of the source."""
    model, site = loaded.model, _site(loaded.model)
    bases = [found.basis for found in fitted.values()]
    together = torch.linalg.qr(torch.cat(bases, dim=2)).Q
    hit: dict[str, list[np.ndarray]] = {"accuracy": []}
    for found in fitted.values():
        answers = found.fresh.source.answers
        hit["accuracy"].append(predictions(model, found.test, site, together)[:, 0] == answers)
        for kind, basis in zip(fitted, bases):
            alone = predictions(model, found.test, site, basis)[:, 0] == answers
            hit.setdefault(f"{kind}_alone", []).append(alone)
    values |= {f"both.{name}": accuracy_estimate(np.concatenate(parts)) for name, parts in hit.items()}


def _widths(loaded: LoadedModel, sizes: Sizes, seed: int, values: Values, curves: dict[str, Curve]) -> None:
    """The same fit to the same pairs where every coordinate stands several times: a search in as many dimensions."""
    own = loaded.model.config.d_model
    factors = [width // own for width in sizes.widths if width >= 2 * own]
    for model in [widened(loaded.model, factor) for factor in ([1, *factors] if factors else [])]:
        for kind in KINDS:
            train, test = (
                run_pairs(model, _pairs(loaded, kind, part, n, sizes, seed))
                for part, n in (("train", sizes.n_wide), ("test", WATCHED))
            )
            for name, rate in (("ours", LEARNING_RATE), ("published", PUBLISHED_RATE)):
                found = _fit(model, train, sizes, seed, rate=rate, watched=test, every=max(1, sizes.steps // POINTS))
                key = f"width.{model.config.d_model}.{kind}.{name}"
                values[key], curves[key] = accuracy_estimate(found.watched[-1][:, 0]), watched_curve(found)
