"""Training (B3): hold-out accuracy and the skills through training, read from the run's own metrics."""

from __future__ import annotations

from typing import Any

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments.shared.estimates import boolean_estimate, point_estimate
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.experiments.training.reading import HIGH, LOW, PLATEAU, published_rise
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.model.accuracy import accuracy_estimate, hits
from icalgebra.results import Curve, Result
from icalgebra.statistics import proportion
from icalgebra.train.evaluation import HOLDOUTS
from icalgebra.train.speedrun import flops_before

SHARES = (*HOLDOUTS, *MECHANISMS, "structural", "closure_top_k")
LOSSES = ("loss/left", "loss/right", "loss/answer")
PASSED = 0.99  # the paper counts the steps to this hold-out accuracy


def run(tier: str, seed: int, loaded: LoadedModel, n: int) -> Result:
    """n: fresh sequences for the final accuracy, since the run's own evaluations are small (eval_n)."""
    records = [record for record in loaded.metrics if record["kind"] == "evaluation"]
    if not records:
        raise InputError(f"{loaded.name} has no training metrics; give its run folder")
    eval_n = loaded.config.eval_n
    curves = {name: _share_curve(records, name, eval_n) for name in SHARES if name in records[-1]}
    curves |= {name: _loss_curve(records, name, eval_n) for name in LOSSES}
    fresh = sample("holdout", n, loaded.config.n_facts, seed, loaded.world, stream="training/fresh")
    values = {"final_holdout": accuracy_estimate(hits(loaded.predictor, fresh))}
    passed = next((record["step"] for record in records if record["holdout"] >= PASSED), None)
    if passed is not None:
        values["steps_to_99"] = point_estimate(float(passed), 1)
    rise = _rise(records, LOW)
    # These describe one run, so n is 1 and they have no interval.
    if rise is not None:
        values["abrupt_rise"] = boolean_estimate(rise <= published_rise().share, 1)
        values["rise_share"] = point_estimate(rise, 1)
        values["rise_share_from_plateau"] = point_estimate(_rise(records, PLATEAU) or 0.0, 1)
    details = {
        "steps": [record["step"] for record in records],
        "flops": [flops_before(loaded.config, record["step"]) for record in records],
        "seconds": [record["clock"]["training_seconds"] for record in records],
        "all_seconds": [record["clock"]["seconds"] for record in records],
        "tokens": [record["tokens"] for record in records],
    }
    config = {"n": n, "training": loaded.config.to_dict()}
    return result_about(loaded, "training", tier, seed, config, values, curves, details)


def _share_curve(records: list[dict[str, Any]], name: str, n: int) -> Curve:
    return Curve.from_estimates([r["step"] for r in records], [proportion(r[name] * n, n) for r in records])


def _loss_curve(records: list[dict[str, Any]], name: str, n: int) -> Curve:
    """Losses have no interval: metrics.jsonl keeps only their mean."""
    return Curve.from_estimates([r["step"] for r in records], [point_estimate(r[name], n) for r in records])


def _rise(records: list[dict[str, Any]], low: float) -> float | None:
    """The share of the steps up to HIGH that the rise from `low` took; None where HIGH was never reached."""
    reached = next((r["step"] for r in records if r["holdout"] >= HIGH), None)
    if reached is None:
        return None
    before = [r["step"] for r in records if r["step"] < reached and r["holdout"] <= low]
    return (reached - max(before, default=0)) / reached
