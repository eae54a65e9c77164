"""The ceiling: how well could any predictor do? The exact oracle beside the five mechanisms, by number of facts.

A mechanism's answer is certain where its posterior probability is 1. Elsewhere it is a guess, however often right:
commute in a non-abelian group, cancel while its closure is still incomplete.
"""

from __future__ import annotations

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.experiments import claim
from icalgebra.experiments.coverage.measure import N_FACTS, SETTINGS
from icalgebra.language.sequences import Sequences
from icalgebra.language.world import PAPER_STRUCTURES, World
from icalgebra.oracle import Ceiling, ceiling_hits
from icalgebra.oracle.posteriors import Query
from icalgebra.results import Curve, Result, reproduce_command
from icalgebra.solvers import MECHANISMS, Queries, answer_sets
from icalgebra.solvers.coverage import coverage
from icalgebra.statistics import Estimate, auc, auc_ratio, mean, share_among

SHOWN_SIZES = (1, 3, 5, 10, 15, 20, 30, 50, 100)


def run(tier: str, seed: int, n: int, n_structure: int) -> Result:
    values: dict[str, Estimate] = {}
    curves: dict[str, Curve] = {}
    for setting, world in SETTINGS.items():
        holdout = sample("holdout", n, N_FACTS, seed, world, stream="ceiling/holdout")
        ceiling = _measure(f"{setting}.holdout", holdout, "holdout", values, curves)
        values[f"{setting}.holdout.published_model_share"] = _published_share(values[f"{setting}.holdout.ceiling"])
        if setting == "p7":
            _measure_mechanisms("holdout", holdout, "last", ceiling, values)
            # The same queries, taken for training queries: knowing that they are held out is worth almost nothing.
            unaware = ceiling_hits(holdout, "train", "last")
            values["p7.holdout.unaware"] = auc(unaware.hits)
    train = sample("train", n, N_FACTS, seed, stream="ceiling/train")
    ceiling = _measure("p7.train", train, "train", values, curves)
    _measure_mechanisms("train", train, "every", ceiling, values)
    for name in PAPER_STRUCTURES:
        curves[f"structure.{name}"] = _structure_ceiling(name, n_structure, seed, values)
    worlds = {name: world.to_dict() for name, world in SETTINGS.items()}
    config = {"n": n, "n_structure": n_structure, "n_facts": N_FACTS, "settings": worlds}
    return Result("ceiling", tier, "data", seed, config, reproduce_command("ceiling", tier, seed), values, curves)


def _measure(
    prefix: str, sequences: Sequences, query: Query, values: dict[str, Estimate], curves: dict[str, Curve]
) -> Ceiling:
    """The ceiling, the entailed share and the mechanisms together on one kind of sequence."""
    ceiling = ceiling_hits(sequences, query)
    solved = coverage(sequences.tokens, "every" if query == "train" else "last").hits("total")
    # Expected accuracy (the largest posterior probability) has the mean of the hits with less noise, provided that the
    # oracle is calibrated; the difference of the two checks that.
    values[f"{prefix}.ceiling"] = auc(ceiling.expected)
    values[f"{prefix}.calibration"] = mean((ceiling.hits - ceiling.expected).mean(axis=1))
    values[f"{prefix}.entailed"] = auc(ceiling.entailed)
    values[f"{prefix}.solvers"] = auc(solved)
    values[f"{prefix}.solvers_share"] = auc_ratio(solved, ceiling.expected)
    values[f"{prefix}.entailed_unsolved"] = auc(ceiling.entailed & ~solved)
    values |= {f"{prefix}.at.{k}": mean(ceiling.expected[:, k - 1]) for k in SHOWN_SIZES}
    curves[f"{prefix}.ceiling"] = Curve.from_means(ceiling.expected, _sizes(solved))
    curves[f"{prefix}.entailed"] = Curve.from_hits(ceiling.entailed, _sizes(solved))
    curves[f"{prefix}.solvers"] = Curve.from_hits(solved, _sizes(solved))
    return ceiling


def _published_share(ceiling: Estimate) -> Estimate:
    """The published model's hold-out AUC as a share of the ceiling's."""
    model = claim("C2m.model").number / 100
    return Estimate(model / ceiling.value, model / ceiling.high, model / ceiling.low, ceiling.n)


def _measure_mechanisms(
    kind: str, sequences: Sequences, queries: Queries, ceiling: Ceiling, values: dict[str, Estimate]
) -> None:
    """For each mechanism alone, over all context sizes: how often it answers, is right, and is right with certainty,
    and its accuracy AUC as a share of the ceiling's."""
    answers = answer_sets(sequences.tokens, queries)[:, 1:]
    true_answers = sequences.facts[:, 1:, 2] if queries == "every" else sequences.answers[:, None]
    truth = np.uint64(1) << true_answers.astype(np.uint64)
    for place, name in enumerate(MECHANISMS):
        found = answers[:, :, place]
        if not found.any():
            continue  # copy and commute on hold-out sequences: neither the query nor its reverse occurs
        answered, right = found != 0, found == truth
        values[f"soundness.{kind}.{name}.answers"] = auc(answered)
        values[f"soundness.{kind}.{name}.right"] = share_among(right, answered)
        values[f"soundness.{kind}.{name}.certain"] = share_among(right & ceiling.entailed, answered)
        values[f"soundness.{kind}.{name}.share"] = auc_ratio(right, ceiling.expected)


def _structure_ceiling(name: str, n: int, seed: int, values: dict[str, Estimate]) -> Curve:
    """One structure alone in every sequence; the prior is the whole training world."""
    alone = sample("holdout", n, N_FACTS, seed, World((name,), p_mix=0.0), stream=f"ceiling/{name}")
    # Hits, not expected accuracy: with a prior other than the sequences' own distribution the two differ.
    hits = ceiling_hits(alone, "holdout", world=SETTINGS["p7"]).hits
    values[f"structure.{name}"] = auc(hits)
    return Curve.from_means(hits, _sizes(hits))


def _sizes(hits: np.ndarray) -> range:
    return range(1, hits.shape[1] + 1)
