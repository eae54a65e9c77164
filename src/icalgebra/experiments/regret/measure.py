"""The model's loss on answers above the exact floor, its regret: by number of facts, and on which queries it lies.

Every fact of a training sequence is a query about the facts before it, so one pass asks all context sizes. With p the
exact posterior of the answer and q the model's probabilities, over all tokens:

    loss    −Σ p log q      the expected loss on the answer, given context and query
    floor   −Σ p log p      the least that any predictor can expect
    regret   Σ p log p/q    the difference, never negative

The loss on the answers drawn, minus the floor of oracle/loss_floor.py, has the same mean with more noise, provided that
the oracle is calibrated: `realised`. `calibration`, the difference of the two, checks that.
"""

from __future__ import annotations

import numpy as np
import torch

from icalgebra.data.distributions import sample
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import EQUALS, FACT_LENGTH
from icalgebra.model.predict import on_device, passes
from icalgebra.model.transformer import Transformer
from icalgebra.oracle import classify_by_facts, slot_floors
from icalgebra.results import Curve, Result
from icalgebra.solvers.coverage import coverage
from icalgebra.statistics import Estimate, auc, auc_ratio, mean

SHOWN_SIZES = (5, 10, 20, 30, 50, 100, 199)  # facts of context
FEW = 20


def run(tier: str, seed: int, loaded: LoadedModel, n: int) -> Result:
    n_facts = loaded.facts(200)
    sequences = sample("train", n, n_facts, seed, loaded.world, stream="regret")
    exact = classify_by_facts(sequences.prompts, loaded.world, "train")
    posteriors, kinds = exact.probabilities[:, 1:], exact.kinds[:, 1:]
    log_q = answer_log_probabilities(loaded.model, sequences)
    losses, floors = cross_entropy(posteriors, log_q), cross_entropy(posteriors, safe_log(posteriors))
    regret = losses - floors
    solved = coverage(sequences.tokens, "every", loaded.world.n_variables).hits("total")
    values = {"loss": per_sequence(losses), "floor": per_sequence(floors), "regret": per_sequence(regret)}
    realised = realised_regret(sequences, log_q)
    values |= {"realised": per_sequence(realised), "calibration": per_sequence(realised - regret)}
    values |= {f"at.{size}": at_size(regret, size) for size in SHOWN_SIZES if size < n_facts}
    values |= by_kind_of_query(regret, kinds == "entailed", solved)
    values["few"] = auc_ratio(np.where(np.arange(1, n_facts) <= FEW, regret, 0.0), regret)
    sizes = range(1, n_facts)
    curves = {"regret": Curve.from_estimates(sizes, [at_size(regret, size) for size in sizes])}
    curves |= {"loss": Curve.from_means(losses, sizes), "floor": Curve.from_means(floors, sizes)}
    config = {"n": n, "n_facts": n_facts, "few": FEW, "once_share": loaded.config.once_share}
    return result_about(loaded, "regret", tier, seed, config, values, curves)


@torch.inference_mode()
def answer_log_probabilities(model: Transformer, sequences: Sequences) -> np.ndarray:
    """Log probabilities of the variables as the answers to facts 2 … k, [n, k−1, N]; ',' and '=' compete too."""
    tokens, n_variables = sequences.tokens[:, :-1], model.config.n_variables
    found = np.empty((len(tokens), sequences.facts.shape[1] - 1, n_variables))
    for rows in passes(model, tokens):
        logits = model(on_device(model, tokens[rows]))[:, EQUALS + FACT_LENGTH :: FACT_LENGTH]
        found[rows] = logits.double().log_softmax(-1)[..., :n_variables].cpu().numpy()
    return found


def safe_log(probabilities: np.ndarray) -> np.ndarray:
    """The logarithm, and 0 for what is impossible, which is never weighted."""
    return np.log(np.where(probabilities > 0, probabilities, 1.0))


def cross_entropy(posteriors: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    return -(posteriors * log_q).sum(axis=-1)


def realised_regret(sequences: Sequences, log_q: np.ndarray) -> np.ndarray:
    """The loss on the answers that were drawn, minus their floor."""
    answers = sequences.facts[:, 1:, 2].astype(np.int64)
    losses = -np.take_along_axis(log_q, answers[..., None], axis=-1)[..., 0]
    return losses - slot_floors(sequences.tokens, sequences.world)[:, 1:, 2]


def per_sequence(values: np.ndarray) -> Estimate:
    """The mean over all positions; positions of one sequence are not independent."""
    return mean(values.mean(axis=1))


def at_size(regret: np.ndarray, size: int) -> Estimate:
    """At one number of facts. Resampled: no interval of what is never negative should reach below zero."""
    return auc(regret[:, size - 1 : size])


def by_kind_of_query(regret: np.ndarray, entailed: np.ndarray, solved: np.ndarray) -> dict[str, Estimate]:
    """Of each kind: its share of queries, its regret per query, and its share of all regret."""
    parts = {"solved": entailed & solved, "beyond": entailed & ~solved, "guess": ~entailed}
    values = {}
    for name, among in parts.items():
        own = np.where(among, regret, 0.0)
        values[f"{name}.share"] = auc(among)
        values[f"{name}.per_query"] = auc_ratio(own, among)
        values[f"{name}.of_regret"] = auc_ratio(own, regret)
    return values
