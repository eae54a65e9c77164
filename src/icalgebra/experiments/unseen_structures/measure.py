"""Structures the model never saw (B4), and quasigroup sequences that cancellation decides (B5).

A name is a group, or a class of random tables of order 8, one of which is drawn for every sequence. The published
"semigroup" is not among them: its table is a group, isomorphic to Q8.

Compared with the model: the five mechanisms together; the best predictor whose prior is the training world, for which
an unseen table soon becomes impossible; and the best predictor whose prior also contains these structures ("wider").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from icalgebra.algebra.structures import all_groups, structure
from icalgebra.data.distributions import sample
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.experiments.shared.predictor_comparison import (
    PredictorHits,
    ceiling_under_prior,
    compare_predictors,
    require_training_length,
    within_training_length,
)
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.language.world import World
from icalgebra.model.accuracy import accuracy_estimate, by_slice, hits, query_structures, strictly_best
from icalgebra.results import Curve, Result
from icalgebra.solvers import answer_sets
from icalgebra.statistics import Estimate, difference

ORDER = 8
CLASSES = {"semigroup": "Semigroup", "quasigroup": "Quasigroup", "magma": "Magma"}
PUBLISHED_GROUPS = ("C4xC2", "Q8", "C2xC2xC2")
CONTROLS = ("C8", "D4")  # of order 8, and in the training world
SHOWN = (5, 10, 25, 50, 100, 200)  # numbers of facts with values of their own
LARGEST_WITH_MANY = 15  # above this order the wider ceiling takes up to a second per sequence, below it milliseconds
KINDS = ("holdout", "train")
DRAWN_PER_WANTED = 20


def run(
    tier: str,
    seed: int,
    loaded: LoadedModel,
    n: int,
    n_large: int,
    n_tables: int,
    facts: tuple[int, ...],
    cancel_facts: tuple[int, ...],
    groups: tuple[str, ...] | None = None,
) -> Result:
    """groups: names to evaluate, by default all that the alphabet holds; n_large: sequences for the slow ceilings."""
    facts = require_training_length(facts, loaded)
    evaluated = structures_to_evaluate(loaded.world, n_tables, groups)
    values: dict[str, Estimate] = {}
    curves: dict[str, Curve] = {}
    model_hits: dict[str, np.ndarray] = {}
    details: dict[str, Any] = {"structures": {name: list(tables) for name, tables in evaluated.items()}, "by_table": {}}
    for name, tables in evaluated.items():
        world = replace(loaded.world, structures=tables, p_mix=0.0, d2=False)
        for kind in KINDS:
            sequences = sample(kind, n, max(facts), seed, world, stream=f"unseen/{name}/{kind}")
            answers = compare_predictors(loaded, sequences, facts)
            model_hits[f"{kind}.{name}"] = answers.model
            curves |= answers.curves(f"{kind}.{name}")
            values |= _values(f"{kind}.{name}", answers)
            if kind == "holdout":
                wider = _wider_ceiling(loaded.world, sequences, tables, n_large, facts)
                curves |= {f"wider.holdout.{name}": wider} if wider else {}
                details["by_table"] |= {name: _by_table(answers, sequences)} if name in CLASSES else {}
    values |= _pooled_groups(model_hits, facts)
    values |= _cancellation(loaded, n, n_tables, within_training_length(cancel_facts, loaded), seed)
    curves = {key: curve if _is_drawn(key, evaluated) else curve.at(SHOWN) for key, curve in curves.items()}
    config = {
        "n": n,
        "n_large": n_large,
        "n_tables": n_tables,
        "facts": list(facts),
        "cancel_facts": list(cancel_facts),
    }
    return result_about(loaded, "unseen_structures", tier, seed, config, values, curves, details)


def _is_drawn(key: str, evaluated: dict[str, tuple[str, ...]]) -> bool:
    """Curves of order 8 are drawn at every k. Those of thirty others would be megabytes that nothing shows."""
    return structure(evaluated[key.split(".")[-1]][0]).order == ORDER


def structures_to_evaluate(world: World, n_tables: int, groups: Iterable[str] | None) -> dict[str, tuple[str, ...]]:
    """Name -> structures, one of which is drawn for every sequence: unseen groups, two controls, classes of tables."""
    seen = {"C2xC2" if s.name == "D2" else s.name for s in world.pool}  # one group with two names
    unseen = [s.name for s in all_groups() if s.name not in seen and 1 < s.order <= world.n_variables]
    chosen = [name for name in (*CONTROLS, *unseen) if groups is None or name in groups]
    singles = {name: (name,) for name in chosen if structure(name).order <= world.n_variables}
    return singles | {name: _tables(family, n_tables) for name, family in CLASSES.items()}


def _tables(family: str, n_tables: int) -> tuple[str, ...]:
    return tuple(f"{family}({ORDER},{seed})" for seed in range(n_tables))


def _values(prefix: str, answers: PredictorHits) -> dict[str, Estimate]:
    shown = [k for k in SHOWN if k in answers.facts]
    values = {f"{prefix}.k{k}": accuracy_estimate(answers.model[:, answers.at(k)]) for k in shown}
    values |= {f"solvers.{prefix}.k{k}": accuracy_estimate(answers.solvers[:, answers.at(k)]) for k in shown}
    values |= {f"ceiling.{prefix}.k{k}": accuracy_estimate(answers.ceiling[:, answers.at(k)]) for k in shown}
    impossible = answers.kinds == "impossible"
    return values | {f"impossible.{prefix}.k{k}": accuracy_estimate(impossible[:, answers.at(k)]) for k in shown}


def _wider_ceiling(
    world: World, sequences: Sequences, tables: tuple[str, ...], n_large: int, facts: Sequence[int]
) -> Curve | None:
    """The ceiling of a predictor whose prior also contains the tables; None where n_large leaves no sequence."""
    known = {s.name for s in world.pool}
    wider = replace(world, structures=(*world.structures, *(name for name in tables if name not in known)))
    large = max(structure(name).order for name in tables) > LARGEST_WITH_MANY
    chosen = sequences[:n_large] if large else sequences
    if not len(chosen):
        return None
    return Curve.from_hits(ceiling_under_prior(chosen, wider).hits[:, np.array(facts) - 2], facts)


def _by_table(answers: PredictorHits, sequences: Sequences) -> dict[str, Any]:
    """Accuracy with all facts, by table: tables of one class can differ."""
    parts = by_slice(answers.model[:, -1], query_structures(sequences))
    return {name: estimate.to_dict() for name, estimate in parts.items()}


def _pooled_groups(model_hits: dict[str, np.ndarray], facts: tuple[int, ...]) -> dict[str, Estimate]:
    """The three unseen groups of order 8, pooled."""
    values: dict[str, Estimate] = {}
    for kind in KINDS:
        parts = [model_hits[f"{kind}.{name}"] for name in PUBLISHED_GROUPS if f"{kind}.{name}" in model_hits]
        if parts:
            pooled = np.concatenate(parts)
            values |= {f"{kind}.groups.k{k}": accuracy_estimate(pooled[:, facts.index(k)]) for k in SHOWN if k in facts}
    return values


# --- B5 -------------------------------------------------------------------------------------------------------------


def _cancellation(loaded: LoadedModel, n: int, n_tables: int, facts: Iterable[int], seed: int) -> dict[str, Estimate]:
    """Accuracy where cancellation decides, in quasigroups and in trained groups. The paper can be read in two ways.

    cancel: hold-out sequences in which cancellation happens to leave one candidate; cancel_pure: the distribution
    `cancel`, whose sequences hold only the needed facts. They differ a lot: at 50 facts `small` answers 52 % of the
    first in quasigroups and 84.5 % of the second, and 100 % of both in C8 and D4.
    """
    tables = {"quasigroup": _tables("Quasigroup", n_tables), "groups": CONTROLS}
    values: dict[str, Estimate] = {}
    for k in facts:
        for name, chosen in tables.items():
            world = replace(loaded.world, structures=chosen, p_mix=0.0, d2=False)
            prompts, answers = decided_by_cancellation(world, n, k, seed)
            pure = sample("cancel", n, k, seed, world, stream="unseen/cancel_pure")
            values[f"cancel.{name}.k{k}"] = accuracy_estimate(strictly_best(loaded.predictor(prompts), answers))
            values[f"cancel_pure.{name}.k{k}"] = accuracy_estimate(hits(loaded.predictor, pure))
        for reading in ("cancel", "cancel_pure"):
            ours, groups = (values[f"{reading}.{name}.k{k}"] for name in tables)
            values[f"{reading}.quasigroup_minus_groups.k{k}"] = difference(ours, groups)
    return values


def decided_by_cancellation(world: World, n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Prompts and answers of the first n hold-out sequences in which cancellation leaves only the answer."""
    # Short contexts often leave several candidates, so more are drawn than are wanted.
    drawn = sample("holdout", DRAWN_PER_WANTED * n, k, seed, world, stream="unseen/cancel")
    found = answer_sets(drawn.tokens, "last", world.n_variables)[:, -1, MECHANISMS.index("cancel")]
    decided = np.flatnonzero(found == np.uint64(1) << drawn.answers.astype(np.uint64))[:n]
    return drawn.prompts[decided], drawn.answers[decided]
