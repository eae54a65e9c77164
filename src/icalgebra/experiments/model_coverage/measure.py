"""The model beside the mechanisms and the ceiling (C1m, C2m): what is left unexplained, and what the oracle says of it.

A query is unexplained if the model is right and none of the five mechanisms is. The oracle splits these queries into
guesses, where the facts leave several answers open, and entailed ones, which follow by some other argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.experiments.shared.predictor_comparison import PredictorHits, compare_predictors
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.oracle import ceiling_hits, explain_entailed
from icalgebra.results import Curve, Result
from icalgebra.solvers import MECHANISMS
from icalgebra.solvers.coverage import coverage
from icalgebra.statistics import Estimate, auc, auc_ratio, mean, share_among

KINDS = {"train": "every", "holdout": "last"}  # which of its facts are queries
FEW = 50  # facts of context
N_EXAMPLES = 4


def run(tier: str, seed: int, loaded: LoadedModel, n_train: int, n_holdout: int) -> Result:
    facts = tuple(range(2, loaded.config.n_facts + 1))
    values: dict[str, Estimate] = {}
    curves: dict[str, Curve] = {}
    details: dict[str, Any] = {}
    for kind, n in (("train", n_train), ("holdout", n_holdout)):
        sequences = sample(kind, n, max(facts), seed, loaded.world, stream=f"model_coverage/{kind}")
        answers = compare_predictors(loaded, sequences, facts)
        values |= {f"{kind}.{key}": estimate for key, estimate in summary(answers).items()}
        curves |= _curves(kind, answers, sequences)
        if kind == "train":
            values["train.unexplained_any"] = over_any_copy(answers, sequences)
        if kind == "holdout":
            # The ceiling above knows that the query is held out; the model can at best infer it. The two hardly differ.
            values["holdout.ceiling_unaware"] = auc(ceiling_hits(sequences, "train", "last").hits)
            details["examples"] = examples(answers, sequences)
    config = {"n_train": n_train, "n_holdout": n_holdout, "n_facts": max(facts)}
    return result_about(loaded, "model_coverage", tier, seed, config, values, curves, details)


def summary(answers: PredictorHits) -> dict[str, Estimate]:
    model, solved, entailed = answers.model, answers.solvers, answers.kinds == "entailed"
    unexplained, unsolved = model & ~solved, ~solved
    few = np.broadcast_to(np.array(answers.facts) - 1 < FEW, model.shape)
    return {
        "auc": auc(model),
        "mechanisms": auc(solved),
        "ceiling": auc(answers.ceiling),
        "over_ceiling": auc_ratio(model, answers.ceiling),
        # Net: queries that a mechanism answers and the model does not count against the model, as in the paper's AUCs.
        "unexplained": mean((model.astype(float) - solved).mean(axis=1)),
        "entailed": share_among(model, entailed),
        "guess": share_among(model, ~entailed),
        "guess_ceiling": auc_ratio(answers.ceiling * ~entailed, ~entailed),
        "solved": share_among(model, solved),
        "unexplained_below_50": share_among(few, unexplained),
        "unexplained_entailed": share_among(entailed, unexplained),
        "unsolved_entailed": share_among(entailed, unsolved),
        "unsolved_entailed_model": share_among(model, unsolved & entailed),
        "unsolved_guess_model": share_among(model, unsolved & ~entailed),
        "entailed_unsolved_auc": auc(entailed & unsolved),
    }


def over_any_copy(answers: PredictorHits, sequences: Sequences) -> Estimate:
    """The model above the mechanisms as the paper counts them: a commutative copy counts whatever its answer."""
    counted = coverage(sequences.tokens, "every", sequences.world.n_variables, commute_any=True).hits("total")
    return mean((answers.model.astype(float) - counted).mean(axis=1))


def _curves(kind: str, answers: PredictorHits, sequences: Sequences) -> dict[str, Curve]:
    """By facts of context, as in the coverage figures: model, ceiling, and the share each mechanism adds."""
    sizes = [k - 1 for k in answers.facts]
    covered = coverage(sequences.tokens, KINDS[kind], sequences.world.n_variables)  # type: ignore[arg-type]
    curves = {f"{kind}.{name}": Curve.from_hits(covered.hits(name), sizes) for name in MECHANISMS}
    curves[f"{kind}.model"] = Curve.from_hits(answers.model, sizes)
    curves[f"{kind}.ceiling"] = Curve.from_hits(answers.ceiling, sizes)
    curves[f"{kind}.entailed"] = Curve.from_hits(answers.kinds == "entailed", sizes)
    return curves


def examples(answers: PredictorHits, sequences: Sequences) -> list[dict[str, Any]]:
    """Entailed queries that the model answers and none of the five does, with the facts that force the answer.

    At most one per sequence, with its shortest context; the shortest of all come first.
    """
    wanted = answers.model & ~answers.solvers & (answers.kinds == "entailed")
    places = [(answers.facts[int(row.argmax())], i) for i, row in enumerate(wanted) if row.any()]
    return [_example(sequences, i, k) for k, i in sorted(places)[:N_EXAMPLES]]


def _example(sequences: Sequences, row: int, k: int) -> dict[str, Any]:
    query = sequences.prompts[row, 1 - FACT_LENGTH :]
    prompt = np.concatenate([sequences.tokens[row, : (k - 1) * FACT_LENGTH], query])
    explained = explain_entailed(prompt, sequences.world)
    assert explained is not None
    return {
        "text": sequences.world.vocabulary.decode(prompt)[0],
        "answer": explained.answer,
        "forced_by": explained.forced_by,
        "structures": sequences.structure_names(row),
    }
