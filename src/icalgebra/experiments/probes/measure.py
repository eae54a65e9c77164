"""Probes (L4): what do the closure and the cancellation subspace say about single variables?

In each subspace (fitted as in `subspaces`, without identity facts), one probe per variable learns whether the variable
is in the query's closure set, or in its cancellation set. Probes are trained and tested on fresh sequences of two
distributions:

    pairs     sequences of counterfactual pairs, like those on which the subspaces were fitted; there the cancellation
              set is the closure without the answer, so a probe for one set is nearly a probe for the other
    holdout   natural hold-out sequences with the same number of facts, where most cancellation sets are much smaller

Controls: probes trained in random subspaces of the same size, in the whole space, and in the other set's subspace. They
matter: in `small`, on pairs, random subspaces reach 86 % and the other set's subspace 92 to 96 %; its own reaches 99 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from icalgebra.data.counterfactuals import counterfactual_pairs
from icalgebra.data.distributions import sample
from icalgebra.experiments.shared.estimates import boolean_estimate
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.experiments.shared.subspace_fits import KINDS, last_attention, pairs_of
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.interp.probes import Probes, cosines, off_diagonal, sets_of_queries, train_probes
from icalgebra.interp.subspaces import fit, random_bases, run_pairs
from icalgebra.model.accuracy import accuracy_estimate
from icalgebra.results import Result
from icalgebra.statistics import Estimate, mean

Values = dict[str, Estimate]
DISTRIBUTIONS = ("pairs", "holdout")
N_RANDOM = 3  # random subspaces averaged in each control


def run(
    tier: str, seed: int, loaded: LoadedModel, n: int, steps: int, size: int, n_train: int, n_test: int, n_facts: int
) -> Result:
    n_facts, size = loaded.facts(n_facts), min(size, loaded.model.config.d_model)
    spaces = {kind: _subspace(loaded, kind, n, steps, size, n_facts, seed) for kind in KINDS}
    values: Values = {}
    details: dict[str, Any] = {}
    for distribution in DISTRIBUTIONS:
        data = _data(loaded, distribution, n_train, n_test, n_facts, seed)
        prefix = "" if distribution == "pairs" else "holdout."
        for kind in KINDS:
            probes = train_probes(*data[kind]["train"], spaces[kind])
            values |= _accuracies(f"{prefix}{kind}", probes, data[kind]["test"])
            values |= _controls(f"{prefix}{kind}", kind, data[kind], spaces, seed)
            if distribution == "pairs":  # the paper does not say which sequences its figures are about
                values |= _directions(loaded, kind, probes)
                values |= _reserved(loaded, kind, probes, data[kind]["test"])
                details[kind] = _matrices(loaded, probes, data[kind]["test"])
    return result_about(
        loaded, "probes", tier, seed,
        config={"n": n, "steps": steps, "size": size, "n_train": n_train, "n_test": n_test,
                "n_facts": n_facts},
        values=values,
        details={**details, "variables": loaded.world.vocabulary.variables, "reserved": loaded.world.reserved},
    )  # fmt: skip


def _subspace(loaded: LoadedModel, kind: str, n: int, steps: int, size: int, n_facts: int, seed: int) -> np.ndarray:
    """The basis [d, size] that `subspaces` finds with the same seed, number of pairs and steps."""
    runs = run_pairs(loaded.model, pairs_of(loaded, kind, False, "train", n, n_facts, seed))
    found = fit(loaded.model, runs, last_attention(loaded), (size,), steps=steps, seed=seed)
    return found.basis(size)[0].cpu().double().numpy()


Labelled = tuple[np.ndarray, np.ndarray]  # activations [n, d] and members [n, N]


def _data(
    loaded: LoadedModel, distribution: str, n_train: int, n_test: int, n_facts: int, seed: int
) -> dict[str, dict[str, Labelled]]:
    """Final attention outputs of fresh sequences with the set of each kind, to train and to test on."""
    tokens = _tokens(loaded, distribution, n_train + n_test, n_facts, seed)
    run = cache_last_token_batched(loaded.model, tokens[:, :-1])
    outputs = run.attn_out[:, -1].cpu().double().numpy()
    sets = sets_of_queries(tokens, loaded.world.n_variables)
    train, test = slice(0, n_train), slice(n_train, None)
    return {
        kind: {"train": (outputs[train], sets[kind][train]), "test": (outputs[test], sets[kind][test])}
        for kind in KINDS
    }


def _tokens(loaded: LoadedModel, distribution: str, n: int, n_facts: int, seed: int) -> np.ndarray:
    if distribution == "holdout":
        return sample("holdout", n, n_facts, seed, loaded.world, stream="probes/holdout").tokens
    pairs = counterfactual_pairs("closure", (n + 1) // 2, n_facts, seed, loaded.world, stream="probes")
    # Source and base alternate, so that the training and the test part hold as many of both.
    return np.stack([pairs.source.tokens, pairs.base.tokens], 1).reshape(-1, pairs.base.tokens.shape[1])[:n]


def _accuracies(name: str, probes: Probes, test: Labelled) -> Values:
    """Accuracy on a probe's own variable and on others, and of always giving a variable's more common answer."""
    correct = probes.correct(*test)
    own, others = np.diagonal(correct, axis1=1, axis2=2), ~np.eye(correct.shape[1], dtype=bool)
    majority = test[1].mean(0) > 0.5
    return {
        f"{name}.accuracy": mean(own.mean(1)),
        f"{name}.balanced": _balanced(probes, test),
        f"{name}.other_variables": mean(correct[:, others].mean(1)),
        f"{name}.commoner_answer": mean((test[1] == majority).mean(1)),
    }


def _balanced(probes: Probes, test: Labelled) -> Estimate:
    """Members and non-members have equal weight: no information gives 50 %. The interval is over variables."""
    predicted, members = probes.predict(test[0]), test[1]
    # A variable that is always, or never, a member has no accuracy on the other side.
    usable = members.any(0) & ~members.all(0)
    inside = (predicted & members).sum(0)[usable] / members.sum(0)[usable]
    outside = (~predicted & ~members).sum(0)[usable] / (~members).sum(0)[usable]
    return mean((inside + outside) / 2)


def _controls(name: str, kind: str, data: dict[str, Labelled], spaces: dict[str, np.ndarray], seed: int) -> Values:
    """Probes trained elsewhere: in random subspaces, the other set's subspace, the whole space."""
    (other,) = [item for item in KINDS if item != kind]
    d, size = spaces[kind].shape
    random = random_bases(torch.zeros(d), size, N_RANDOM, seed).double().numpy()
    elsewhere: dict[str, Sequence[np.ndarray]] = {
        "random": list(random),
        "other_subspace": [spaces[other]],
        "whole_space": [np.eye(d)],
    }
    values = {}
    for place, bases in elsewhere.items():
        found = [train_probes(*data["train"], basis).correct(*data["test"]) for basis in bases]
        own = np.mean([np.diagonal(correct, axis1=1, axis2=2).mean(1) for correct in found], axis=0)
        values[f"{name}.{place}"] = mean(own)
    return values


def _directions(loaded: LoadedModel, kind: str, probes: Probes) -> Values:
    """Cosines of probes with the unembedding of their own and of other variables, and between probes."""
    to_unembedding, among = _cosines(loaded, probes)
    return {
        f"{kind}.cosine_unembedding": mean(np.diagonal(to_unembedding)),
        f"{kind}.cosine_other_unembedding": mean(off_diagonal(to_unembedding)),
        f"{kind}.off_diagonal": mean(np.abs(off_diagonal(among))),
        f"{kind}.off_diagonal_signed": mean(off_diagonal(among)),
    }


def _cosines(loaded: LoadedModel, probes: Probes) -> tuple[np.ndarray, np.ndarray]:
    unembedding = loaded.model.unembedding[: loaded.world.n_variables].detach().cpu().double().numpy()
    return cosines(unembedding, probes.directions), cosines(probes.directions, probes.directions)


def _reserved(loaded: LoadedModel, kind: str, probes: Probes, test: Labelled) -> Values:
    """The variable that is never an identity: accuracy and cosines of its probe, beside those of the others."""
    place = loaded.world.reserved_id
    if place < 0:  # this world reserves none
        return {}
    own = np.diagonal(probes.correct(*test), axis1=1, axis2=2)
    others = np.delete(own, place, axis=1)
    among = np.delete(_cosines(loaded, probes)[1][place], place)
    return {
        f"{kind}.reserved": accuracy_estimate(own[:, place]),
        f"{kind}.not_reserved": mean(others.mean(1)),
        f"{kind}.reserved_cosines": mean(among),
        f"{kind}.reserved_lowest": boolean_estimate(bool(own[:, place].mean() < others.mean(0).min()), len(own)),
    }


def _matrices(loaded: LoadedModel, probes: Probes, test: Labelled) -> dict[str, list[list[float]]]:
    """For the figures: variables in rows, probes in columns."""
    to_unembedding, among = _cosines(loaded, probes)
    return {
        "accuracy": probes.correct(*test).mean(0).tolist(),
        "unembedding": to_unembedding.tolist(),
        "probes": among.tolist(),
    }
