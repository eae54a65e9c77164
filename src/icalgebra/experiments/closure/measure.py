"""Closure (L1): at the left slot, are the highest logits those of the left variable's structure, and are they equal?

One forward pass gives the left slot of every fact of a `train` sequence: the left variable has been read, the right one
is predicted. The claims are about the last fact; curves are over the number of preceding facts. Sets and measures:
model/closure.py.

top1, topk, uniformity       for the members seen so far; topk counts only exact matches, topk_matching is the paper's
                             proportion; spread is the standard deviation of the members' logits
excess, excess_millinats     loss in excess of the true distribution, which is uniform over the whole structure
control.*                    the same logits scored against another structure of the sequence; random sets of equal size
predictive.*                 the same measures at the '=' of `holdout` queries; training.* are curves of them over all
                             checkpoints, for a run folder with several
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import LEFT, facts_of
from icalgebra.model import closure as c
from icalgebra.model.accuracy import accuracy_estimate, strictly_best
from icalgebra.model.checkpoints import sound_models
from icalgebra.model.prefix_accuracy import logits_at_every_fact
from icalgebra.model.transformer import Transformer
from icalgebra.results import Curve, Result
from icalgebra.statistics import Estimate, mean

Values = dict[str, Estimate]
FEW = (2, 5, 10, 20, 50)  # preceding facts: in `small` seen and linked differ most after 5 (73.8 and 99.0 %)
KNOWN = ("seen", "linked", "with it")
# The sequence of the paper's Figure 15 and its two left variables.
PAPER_CONTEXT = (
    ",hp=e,il=i,li=i,nc=c,bi=l,ne=e,fe=h,pp=f,ba=i,pc=h,eh=n,la=a,"
    "pp=f,pf=n,fe=h,fh=c,il=i,ef=h,hh=f,cp=h,pc=h,hh=f,cn=c,bi=l"
)
PAPER_LEFTS = "hb"


def run(
    tier: str, seed: int, loaded: LoadedModel, n: int, n_predictive: int, n_per_checkpoint: int, n_facts: int
) -> Result:
    n_facts = loaded.facts(n_facts)
    sequences = sample("train", n, n_facts, seed, loaded.world, stream="closure/train")
    logits, sets = logits_at_every_fact(loaded.model, sequences.tokens, LEFT), c.closure_sets(sequences)
    values = _at_last(logits[:, -1], {name: chosen[:, -1] for name, chosen in sets.items()})
    values |= _at_few(logits, sets)
    holdout = sample(
        "holdout", max(n_predictive, n_per_checkpoint), n_facts, seed, loaded.world, stream="closure/predictive"
    )
    values |= {f"predictive.{key}": value for key, value in predictive(loaded.model, holdout[:n_predictive]).items()}
    return result_about(
        loaded, "closure", tier, seed,
        config={"n": n, "n_predictive": n_predictive, "n_per_checkpoint": n_per_checkpoint, "n_facts": n_facts},
        values=values,
        curves=_by_facts(logits, sets) | _through_training(loaded, holdout[:n_per_checkpoint]),
        details={"example": _example(loaded, sequences)},
    )  # fmt: skip


# --- at the last fact, and by the number of facts before --------------------------------------------------------------


def _at_last(logits: np.ndarray, sets: dict[str, np.ndarray]) -> Values:
    seen, members = sets["seen"], sets["members"]
    values = {
        "top1": accuracy_estimate(c.top_1(logits, seen)),
        "topk": accuracy_estimate(c.top_k(logits, seen)),
        "topk_matching": mean(c.matching(logits, seen)),
        "uniformity": _mean(c.uniformity(logits, seen)),
        "spread": _mean(c.spread(logits, seen)),
        "above_others": _mean(_gap(logits, seen)),
        "mass": mean(c.mass_inside(logits, seen)),
        "excess_millinats": mean(1000 * c.excess(logits, members)),
        "true_entropy": mean(np.log(members.sum(axis=1))),
    }
    return values | _controls(logits, seen, sets["other"])


def _controls(logits: np.ndarray, seen: np.ndarray, other: np.ndarray) -> Values:
    """Random sets of the same size (exact expectations); another structure, for the sequences that have one."""
    sizes, n_variables = seen.sum(axis=1), logits.shape[1]
    values = {
        "control.random.top1": mean(sizes / n_variables),
        "control.random.topk": mean(np.array([1 / comb(n_variables, int(size)) for size in sizes])),
    }
    there = other.any(axis=1)
    if there.any():
        values["control.other.top1"] = accuracy_estimate(c.top_1(logits[there], other[there]))
        values["control.other.topk"] = accuracy_estimate(c.top_k(logits[there], other[there]))
        values["control.other.matching"] = mean(c.matching(logits[there], other[there]))
    return values


def _gap(logits: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The set's mean logit minus that of all other variables; NaN where there are none."""
    rest = (~chosen).sum(axis=-1)
    inside = (logits * chosen).sum(axis=-1) / chosen.sum(axis=-1)
    return np.where(rest > 0, inside - (logits * ~chosen).sum(axis=-1) / np.maximum(rest, 1), np.nan)


def _at_few(logits: np.ndarray, sets: dict[str, np.ndarray]) -> Values:
    """Exact matches after few facts, where the sets `seen`, `linked` and `with it` differ."""
    places = [before for before in FEW if before < logits.shape[1]]
    return {
        f"at.{before}.topk.{_key(name)}": accuracy_estimate(c.top_k(logits[:, before], sets[name][:, before]))
        for before in places
        for name in KNOWN
    }


def _by_facts(logits: np.ndarray, sets: dict[str, np.ndarray]) -> dict[str, Curve]:
    n_facts = logits.shape[1]
    # every fact up to 40, where the curves rise; then every fifth, and always the last, which the claims are about
    places = np.array([*range(min(41, n_facts)), *range(45, n_facts - 1, 5)] + [n_facts - 1] * (n_facts > 41))
    logits, sets = logits[:, places], {name: chosen[:, places] for name, chosen in sets.items()}
    curves = {f"topk.{_key(name)}": Curve.from_hits(c.top_k(logits, sets[name]), places.tolist()) for name in KNOWN}
    seen = sets["seen"]
    curves["top1"] = Curve.from_hits(c.top_1(logits, seen), places.tolist())
    curves["chance.top1"] = Curve.from_means(seen.mean(axis=-1), places.tolist())
    curves["excess"] = Curve.from_means(c.excess(logits, sets["members"]), places.tolist())
    even = c.uniformity(logits, seen)
    # undefined for a single member, as before the first fact: an interval needs two sequences
    usable = np.isfinite(even).sum(axis=0) > 1
    curves["uniformity"] = Curve.from_estimates(
        places[usable].tolist(), [_mean(column) for column in even[:, usable].T]
    )
    return curves


# --- at the predictive token, now and through training ----------------------------------------------------------------


def predictive(model: Transformer, sequences: Sequences) -> Values:
    """The same measures at the '=' of the query, where its right variable has been read too; and accuracy."""
    logits = logits_at_every_fact(model, sequences.tokens)[:, -1]
    seen = c.closure_sets(sequences)["seen"][:, -1]
    # closure_sets are those of the left slot; at the '=' the query's right variable has been seen as well
    np.put_along_axis(seen, sequences.facts[:, -1, 1:2].astype(np.int64), True, axis=1)
    return {
        "top1": accuracy_estimate(c.top_1(logits, seen)),
        "topk": accuracy_estimate(c.top_k(logits, seen)),
        "uniformity": _mean(c.uniformity(logits, seen)),
        "mass": mean(c.mass_inside(logits, seen)),
        "accuracy": accuracy_estimate(strictly_best(logits, sequences.answers)),
    }


def _through_training(loaded: LoadedModel, sequences: Sequences) -> dict[str, Curve]:
    """One curve per measure over the run's checkpoints; none where there are fewer than two."""
    found = {
        checkpoint.step: predictive(checkpoint.model(loaded.device), sequences)
        for checkpoint in sound_models(loaded.checkpoints)
    }
    if len(found) < 2:
        return {}
    first, *_ = found.values()
    return {f"training.{key}": Curve.from_estimates(found, [values[key] for values in found.values()]) for key in first}


# --- Figure 15 --------------------------------------------------------------------------------------------------------


def _example(loaded: LoadedModel, sequences: Sequences) -> dict[str, Any]:
    """One context and two left variables of different structures: the logits after each, and what is linked to it."""
    vocabulary = loaded.world.vocabulary
    context, lefts = _published_or_first(loaded, sequences)
    tokens = np.stack([vocabulary.encode(f"{context},{x}{x}={x}") for x in lefts])
    logits = logits_at_every_fact(loaded.model, tokens, LEFT)[:, -1]
    known = c.linked(facts_of(tokens).astype(np.int64), len(vocabulary.variables))[:, -1]
    panels = [
        {"left": x, "members": "".join(np.array(list(vocabulary.variables))[chosen]), "logits": row.round(3).tolist()}
        for x, chosen, row in zip(lefts, known, logits)
    ]
    return {"text": context, "published": context == PAPER_CONTEXT, "panels": panels}


def _published_or_first(loaded: LoadedModel, sequences: Sequences) -> tuple[str, str]:
    """The paper's sequence if the model has its letters and length, else our first one with two structures."""
    letters = loaded.world.vocabulary.variables
    if set(PAPER_CONTEXT) <= set(letters + "=,") and loaded.facts(25) == 25:
        return PAPER_CONTEXT, PAPER_LEFTS
    sets = c.closure_sets(sequences)
    row = int(sets["other"][:, -1].any(axis=1).argmax())
    others = np.flatnonzero(sets["other"][row, -1])
    lefts = [int(sequences.facts[row, -1, 0]), *others[:1].tolist()]
    return sequences.texts()[row].rsplit(",", 1)[0], "".join(letters[x] for x in lefts)


def _key(name: str) -> str:
    return name.replace(" ", "_")


def _mean(values: np.ndarray) -> Estimate:
    """Over the sequences where the measure is defined."""
    return mean(values[np.isfinite(values)])
