"""Accuracy on the five distributions (C3, Table 2); cancel and associate both pure (as published) and embedded.

Pure sequences repeat a few facts up to k, unlike any training sequence, so low accuracy need not mean that a mechanism
is missing. Embedded ones are natural, but may be answered in other ways.
"""

from __future__ import annotations

from collections.abc import Sequence

from icalgebra.data.distributions import check_request, sample
from icalgebra.errors import InputError
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.experiments.shared.predictor_comparison import require_training_length
from icalgebra.language.world import World
from icalgebra.model.accuracy import accuracy_estimate, evaluation_stream, hits
from icalgebra.oracle import credit, posterior
from icalgebra.oracle.posteriors import Query
from icalgebra.results import Curve, Result
from icalgebra.statistics import Estimate

# What the ceiling's predictor knows about the query: that it and its reverse were held out, or nothing.
QUERIES: dict[str, Query] = {
    "copy": "train",
    "commute": "train",
    "identity": "holdout",
    "cancel": "holdout",
    "associate": "holdout",
    "cancel_embedded": "holdout",
    "associate_embedded": "holdout",
}


def run(tier: str, seed: int, loaded: LoadedModel, n: int, facts: tuple[int, ...]) -> Result:
    facts = require_training_length(facts, loaded)
    values: dict[str, Estimate] = {}
    curves: dict[str, Curve] = {}
    for name, query in QUERIES.items():
        drawn = {k: sample(name, n, k, seed, loaded.world, stream=evaluation_stream(name))
                 for k in possible(name, facts, loaded.world)}  # fmt: skip
        model = [accuracy_estimate(hits(loaded.predictor, sequences)) for sequences in drawn.values()]
        ceiling = [
            accuracy_estimate(credit(posterior(sequences.prompts, sequences.world, query), sequences.answers))
            for sequences in drawn.values()
        ]
        curves |= {
            f"model.{name}": Curve.from_estimates(drawn, model),
            f"ceiling.{name}": Curve.from_estimates(drawn, ceiling),
        }
        values |= {f"{name}.k{k}": estimate for k, estimate in zip(drawn, model, strict=True)}
        values |= {f"ceiling.{name}.k{k}": estimate for k, estimate in zip(drawn, ceiling, strict=True)}
    config = {"n": n, "facts": list(facts)}
    return result_about(loaded, "distributions", tier, seed, config, values, curves)


def possible(name: str, facts: Sequence[int], world: World) -> list[int]:
    """The numbers of facts that a distribution allows: cancel needs as many as a structure has elements."""
    found, reasons = [], []
    for k in facts:
        try:
            check_request(name, k, world)
            found.append(k)
        except InputError as reason:
            reasons.append(reason)
    if reasons and not found:
        raise reasons[-1]
    return found
