"""Dynamics (P1, P2): the loss by slot above its exact floor, and the order in which skills appear.

onset.<skill>         step at which it appears (shared/emergence.py), a geometric mean over the runs in which it does
came.<skill>          share of runs in which it does
order_agreement       Kendall's τ with the published order
order_as_published    no pair is significantly reversed in more runs than it is significantly in order, and most pairs
                      are in order
associate_last        the same for the pairs with associate, all of which must be in order
identity_with_cancel  in no run is one of the two significantly before the other, and both appear in all runs
same_order_in_all_seeds   no pair is significantly in one order in one run and in the other order in another
identity_plateau      identity accuracy, mean over the log axis from closure's onset to identity's own
early_peak.<skill>    highest accuracy, before copying's onset, of a skill published to appear after copy and commute
dip.identity          lowest accuracy of identity between that peak and its onset
identity_in_band      share of identity_plateau's stretch of the axis in which it lies between .4 and .6
rest.<skill>          longest plateau between .4 and .6: its last step over its first
floor.<slot>          least possible loss on the evaluation sequences; regret.<slot>: the model's loss above it
role_onset.<role>     step at which the head that has the role at the end takes it on
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from icalgebra.errors import InputError
from icalgebra.experiments.shared.emergence import (
    BASELINES,
    SKILLS,
    STAGES,
    Onset,
    agreement,
    exponential,
    level_between,
    longest_plateau,
    mean_onset,
    mean_over_runs,
    onset,
    precedence,
    published_pairs,
    resampled_means,
    resampled_shares,
)
from icalgebra.experiments.shared.estimates import across_seeds, boolean_estimate
from icalgebra.experiments.shared.loaded_model import Runs
from icalgebra.experiments.shared.training_history import RoleHistory, TrainingHistory, load_training_history
from icalgebra.language.vocabulary import FACT_LENGTH, SLOTS, VARIABLE_SLOTS
from icalgebra.oracle.loss_floor import slot_floors
from icalgebra.results import Curve, Result, reproduce_command
from icalgebra.statistics import Z95, Estimate, mean, proportion
from icalgebra.train.evaluation import Evaluations

# ',' and '=' are certain, so their floor is zero; slot_floors has these three, in this order.
UNCERTAIN_SLOTS = tuple(SLOTS[slot] for slot in VARIABLE_SLOTS)
LATE_SKILLS = tuple(skill for stage in STAGES[STAGES.index(("commute",)) + 1 :] for skill in stage)


def run(tier: str, seed: int, runs: Runs, n: int, n_facts: int) -> Result:
    """n: sequences for the scores of each role, at every checkpoint of the runs."""
    histories = [load_training_history(source, n, n_facts, seed, runs.device) for source in runs.sources]
    command = reproduce_command("dynamics", tier, seed, runs.given)
    return summarised(histories, runs.name, tier, seed, {"n": n, "n_facts": n_facts}, command)


def summarised(
    histories: Sequence[TrainingHistory], model: str, tier: str, seed: int, config: dict[str, Any], command: str
) -> Result:
    """The result of any number of runs of one recipe; details.runs holds the runs themselves."""
    _check_comparable(histories)
    onsets = [_onsets(history, seed) for history in histories]
    skills = [skill for skill in SKILLS if all(skill in found for found in onsets)]
    values = _onset_values(onsets, skills, seed) | _order_values(onsets, skills, seed)
    values |= _plateau_values(histories, onsets, seed) | _loss_values(histories) | _role_values(histories, seed)
    details = {
        "runs": [history.to_dict() for history in histories],
        "onsets": [{skill: _onset_row(found[skill]) for skill in skills} for found in onsets],
        "pairs": [{"earlier": a, "later": b, "runs": [precedence(found[a], found[b]) for found in onsets]}
                  for a, b in published_pairs(skills)],
    }  # fmt: skip
    seeds = [history.config.seed for history in histories]
    config = {**config, "training": histories[0].config.to_dict(), "seeds": seeds}
    return Result("dynamics", tier, model, seed, config, command, values, _curves(histories), details)


def _check_comparable(histories: Sequence[TrainingHistory]) -> None:
    """Runs that are compared and pooled differ only in their seed."""
    first = histories[0]
    for history in histories[1:]:
        if history.config.with_changes(seed=first.config.seed) != first.config:
            raise InputError("the runs have different settings; dynamics compares runs that differ only in their seed")
        if history.steps != first.steps:
            raise InputError("the runs were not evaluated at the same steps; one of them may not be finished")


# --- onsets and their order -----------------------------------------------------------------------------------------


def _onsets(history: TrainingHistory, seed: int) -> dict[str, Onset]:
    """By skill; a small world may not have queries for all of them."""
    return {
        skill: onset(
            history.values[skill], _resampled(history, skill, seed), history.steps, BASELINES.get(skill, 0.0)
        )
        for skill in SKILLS
        if skill in history.values
    }  # fmt: skip


def _resampled(history: TrainingHistory, skill: str, seed: int) -> np.ndarray:
    """Under a seed of this skill and run, so that no two share their noise."""
    own = seed + 1000 * history.config.seed + SKILLS.index(skill)
    return resampled_shares(history.values[skill], history.config.eval_n, own)


def _onset_row(found: Onset) -> dict[str, Any]:
    """For tables: the step and its bounds, None where the skill never appeared."""
    own = mean_onset([found])
    if own is None:
        return {"step": None, "low": None, "high": None}
    return {"step": own.value, "low": own.low, "high": own.high}


def _onset_values(onsets: list[dict[str, Onset]], skills: list[str], seed: int) -> dict[str, Estimate]:
    values = {}
    for skill in skills:
        found = [run[skill] for run in onsets]
        values[f"came.{skill}"] = proportion(sum(item.appeared for item in found), len(found))
        step = mean_onset(found, seed)
        if step is not None:
            values[f"onset.{skill}"] = step
    return values


def _order_values(onsets: list[dict[str, Onset]], skills: list[str], seed: int) -> dict[str, Estimate]:
    pairs, n = published_pairs(skills), len(onsets)
    if not pairs:
        return {}
    signs = {(a, b): [precedence(found[a], found[b]) for found in onsets] for a, b in pairs}
    net = {pair: sum(found) for pair, found in signs.items()}
    own, drawn = zip(*[agreement(found, pairs) for found in onsets])
    in_order = sum(total > 0 for total in net.values())
    values = {
        "order_agreement": mean_over_runs(own, np.array(drawn), seed=seed),
        "pairs_in_order": proportion(in_order, len(pairs)),
        "pairs_reversed": proportion(sum(total < 0 for total in net.values()), len(pairs)),
        # A run that has learned nothing reverses no pair: most pairs must be in order, too.
        "order_as_published": boolean_estimate(min(net.values()) >= 0 and in_order > len(pairs) / 2, n),
    }
    if "associate" in skills:
        values["associate_last"] = boolean_estimate(
            all(total > 0 for (_, later), total in net.items() if later == "associate"), n
        )
    if {"identity", "cancel"} <= set(skills):
        both = [(found["identity"], found["cancel"]) for found in onsets]
        together = all(a.appeared and b.appeared and precedence(a, b) == 0 for a, b in both)
        values["identity_with_cancel"] = boolean_estimate(together, n)
    if n > 1:
        values["same_order_in_all_seeds"] = boolean_estimate(
            not any({1, -1} <= set(found) for found in signs.values()), n
        )
    return values


# --- plateaus -------------------------------------------------------------------------------------------------------


def _plateau_values(
    histories: Sequence[TrainingHistory], onsets: list[dict[str, Onset]], seed: int
) -> dict[str, Estimate]:
    values = {}
    for skill in SKILLS:
        if all(skill in history.values for history in histories):
            own, drawn = zip(*[_log_plateau(history, skill, seed) for history in histories])
            values[f"rest.{skill}"] = exponential(mean_over_runs(own, np.array(drawn), seed=seed))
    values |= _early_peaks(histories, onsets) | _dip(histories, onsets)
    judged = [(h, found) for h, found in zip(histories, onsets) if {"closure_top_k", "identity"} <= set(found)]
    parts = [_level_before_onset(h, found, seed) for h, found in judged if found["identity"].index > 0]
    for k, name in enumerate(("identity_plateau", "identity_in_band") if parts else ()):
        points, drawn = [own[k][0] for own, _ in parts], np.array([resampled[k] for _, resampled in parts])
        values[name] = mean_over_runs(points, drawn, seed=seed)
    return values


def _log_plateau(history: TrainingHistory, skill: str, seed: int) -> tuple[float, np.ndarray]:
    """Length of the longest plateau on the log axis, of the curve and of every resampled one."""
    steps = np.array(history.steps)
    own = longest_plateau(np.array([history.values[skill]]), steps)
    return float(own[0]), longest_plateau(_resampled(history, skill, seed), steps)


def _early_peaks(histories: Sequence[TrainingHistory], onsets: list[dict[str, Onset]]) -> dict[str, Estimate]:
    """Accuracy that cannot come from the skill itself. Each is a maximum, so biased slightly upwards."""
    values, n = {}, histories[0].config.eval_n
    for skill in LATE_SKILLS:
        early = [history.values[skill][: found["copy"].index] for history, found in zip(histories, onsets)
                 if {skill, "copy"} <= set(found)]  # fmt: skip
        peaks = [proportion(max(shares) * n, n) for shares in early if shares]
        if peaks:
            values[f"early_peak.{skill}"] = across_seeds(peaks)
    return values


def _dip(histories: Sequence[TrainingHistory], onsets: list[dict[str, Onset]]) -> dict[str, Estimate]:
    """How much of its early accuracy identity loses again. A minimum, so biased slightly downwards.

    In `small` the plateau at one half comes before closure is complete, and the accuracy falls while closure completes
    (to 18 % over three seeds): the mean after closure's onset alone does not show that.
    """
    lows, n = [], histories[0].config.eval_n
    for history, found in zip(histories, onsets):
        if {"copy", "identity"} <= set(found) and 0 < found["copy"].index <= found["identity"].index:
            shares = history.values["identity"]
            peak = int(np.argmax(shares[: found["copy"].index]))
            lows.append(proportion(min(shares[peak : found["identity"].index]) * n, n))
    return {"dip.identity": across_seeds(lows)} if lows else {}


def _level_before_onset(
    history: TrainingHistory, onsets: dict[str, Onset], seed: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Mean identity accuracy, and the share inside the band, between the onsets of closure and of identity."""
    begin, end = onsets["closure_top_k"], onsets["identity"]
    curve = np.array([history.values["identity"]])
    own = level_between(curve, np.array([begin.index]), np.array([end.index]), end.steps)
    return own, level_between(_resampled(history, "identity", seed), begin.resampled, end.resampled, end.steps)


# --- loss and roles -------------------------------------------------------------------------------------------------


def _loss_values(histories: Sequence[TrainingHistory]) -> dict[str, Estimate]:
    """Floors of the sequences that the runs were evaluated on; none for a world the oracle cannot count."""
    try:
        floors = [_floors(history) for history in histories]
    except InputError:
        return {}
    values: dict[str, Estimate] = {}
    for i, slot in enumerate(UNCERTAIN_SLOTS):
        floor = mean(np.concatenate([found[:, i] for found in floors]))
        regrets = [h.values[f"loss/{slot}"][-1] - found[:, i].mean() for h, found in zip(histories, floors)]
        values |= {f"floor.{slot}": floor, f"regret.{slot}": _range_over_runs(regrets)}
    n_facts = histories[0].config.n_facts
    share = n_facts / (n_facts * FACT_LENGTH - 1)  # of a slot among the tokens predicted: the first ',' is given
    whole = np.concatenate([found.sum(axis=1) for found in floors]) * share
    return values | {"floor.token": mean(whole)}


def _floors(history: TrainingHistory) -> np.ndarray:
    """The floor of each sequence and slot, in nats, [n, 3]."""
    config = history.config
    sequences = Evaluations(config.world, config.n_facts, config.eval_n, seed=config.seed).training_sequences
    return slot_floors(sequences.tokens, config.world).mean(axis=1)


def _range_over_runs(values: Sequence[float]) -> Estimate:
    """The mean over runs with their range: there are too few runs for an interval."""
    return Estimate(float(np.mean(values)), float(min(values)), float(max(values)), len(values))


def _role_values(histories: Sequence[TrainingHistory], seed: int) -> dict[str, Estimate]:
    values: dict[str, Estimate] = {}
    for role in histories[0].roles:
        found = [history.roles[role] for history in histories if role in history.roles]
        onsets = [_role_onset(item, seed) for item in found if len(item.own.x) >= 3]
        step = mean_onset([item for item in onsets if item is not None], seed)
        key = role.replace(" ", "_")
        if step is not None:
            values[f"role_onset.{key}"] = step
        values[f"role_final.{key}"] = _range_over_runs([item.own.y[-1] for item in found])
    return values


def _role_onset(found: RoleHistory, seed: int) -> Onset | None:
    """Roles have scores of different scales, so a curve is divided by its maximum. None for a head without the role."""
    top = int(np.argmax(found.own.y))
    if found.own.low[top] <= 0:
        return None
    scale = found.own.y[top]
    errors = (np.array(found.own.high) - np.array(found.own.low)) / (2 * Z95 * scale)
    curve = (np.array(found.own.y) / scale).tolist()
    return onset(curve, resampled_means(curve, errors.tolist(), seed), [int(x) for x in found.own.x])


def _curves(histories: Sequence[TrainingHistory]) -> dict[str, Curve]:
    """Shares pooled over the runs; the runs themselves are in details."""
    steps, n = histories[0].steps, histories[0].config.eval_n * len(histories)
    pooled = {name: np.mean([history.values[name] for history in histories], axis=0)
              for name in (*SKILLS, "holdout") if name in histories[0].values}  # fmt: skip
    return {
        name: Curve.from_estimates(steps, [proportion(float(value) * n, n) for value in shares])
        for name, shares in pooled.items()
    }
