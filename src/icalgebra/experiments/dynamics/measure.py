"""Dynamics (P1, P2): the loss by slot over its exact floor, and the skills in the order in which they appear.

onset.<skill>         step at which it appears (onsets.py), a geometric mean over the runs in which it does
came.<skill>          share of runs in which it does
order_agreement       Kendall's τ with the published order
order_as_published    no pair is surely reversed in more runs than it is surely in order, and most pairs are in order
associate_last        the same for the pairs with associate, all of which must be in order
identity_with_cancel  in no run is one of the two surely before the other, and both come in all
same_order_in_all_seeds   no pair is surely in one order in one run and surely in the other in another
identity_plateau      identity accuracy, mean over the log axis from closure's onset to identity's own
early_peak.<skill>    highest accuracy of a skill that is due after copying, before copying's onset
dip.identity          lowest accuracy of identity between that peak and its onset
identity_in_band      share of the stretch of identity_plateau in which it lies between .4 and .6
rest.<skill>          longest stretch of evaluations between .4 and .6: its last step over its first
floor.<slot>          least possible loss on the evaluation sequences; regret.<slot>: what the model has above it
role_onset.<role>     step at which the head that has the role in the end takes it on
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from icalgebra.errors import InputError
from icalgebra.experiments.shared.emergence import (
    Onset,
    agreement,
    exponential,
    mean_onset,
    onset,
    over_runs,
    precedence,
    redrawn_means,
    redrawn_shares,
)
from icalgebra.experiments.shared.estimates import across_seeds, boolean_estimate
from icalgebra.experiments.shared.loaded_model import Runs
from icalgebra.experiments.shared.plateaus import level_between, longest_plateau
from icalgebra.experiments.shared.training_history import RoleHistory, TrainingHistory, load_training_history
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.oracle.loss_floor import slot_floors
from icalgebra.results import Curve, Result, reproduce_command
from icalgebra.statistics import Z95, Estimate, mean, proportion
from icalgebra.train.evaluation import Evaluations

# The published order: skills of one stage appear together.
STAGES = (("structural",), ("closure_top_k",), ("copy",), ("commute",), ("identity", "cancel"), ("associate",))
SKILLS = tuple(skill for stage in STAGES for skill in stage)
# What comes without the skill: promoting both variables of an identity query answers half of them; repeating an answer
# of the three facts of a pure associate sequence, a third.
BASES = {"identity": 1 / 2, "associate": 1 / 3}
SLOTS = ("left", "right", "answer")  # those with something to know


def run(tier: str, seed: int, runs: Runs, n: int, n_facts: int) -> Result:
    """n: sequences for the scores of each role, at every checkpoint the runs have."""
    courses = [load_training_history(source, n, n_facts, seed, runs.device) for source in runs.sources]
    command = reproduce_command("dynamics", tier, seed, runs.given)
    return summarised(courses, runs.name, tier, seed, {"n": n, "n_facts": n_facts}, command)


def summarised(
    courses: Sequence[TrainingHistory], model: str, tier: str, seed: int, config: dict[str, Any], command: str
) -> Result:
    """The result of any number of runs of one recipe; details.runs holds the runs themselves."""
    _check(courses)
    onsets = [_onsets(course, seed) for course in courses]
    skills = [skill for skill in SKILLS if all(skill in found for found in onsets)]
    values = _onset_values(onsets, skills, seed) | _order_values(onsets, skills, seed)
    values |= _plateau_values(courses, onsets, seed) | _loss_values(courses) | _role_values(courses, seed)
    details = {
        "runs": [course.to_dict() for course in courses],
        "onsets": [{skill: _told(found[skill]) for skill in skills} for found in onsets],
        "pairs": [{"earlier": a, "later": b, "runs": [precedence(found[a], found[b]) for found in onsets]}
                  for a, b in published_pairs(skills)],
    }  # fmt: skip
    config = {**config, "training": courses[0].config.to_dict(), "seeds": [course.config.seed for course in courses]}
    return Result("dynamics", tier, model, seed, config, command, values, _curves(courses), details)


def _check(courses: Sequence[TrainingHistory]) -> None:
    """Runs that are compared and pooled differ in their seed alone."""
    first = courses[0]
    for course in courses[1:]:
        if course.config.with_changes(seed=first.config.seed) != first.config:
            raise InputError("the runs have different settings; dynamics compares runs that differ in their seed alone")
        if course.steps != first.steps:
            raise InputError("the runs were not evaluated at the same steps; one of them may not be finished")


def published_pairs(skills: Sequence[str]) -> list[tuple[str, str]]:
    """Every two skills that the paper puts into an order."""
    return [
        (a, b)
        for i, stage in enumerate(STAGES)
        for later in STAGES[i + 1 :]
        for a, b in product(stage, later)
        if a in skills and b in skills
    ]


def _onsets(course: TrainingHistory, seed: int) -> dict[str, Onset]:
    return {skill: _onset(course, skill, seed) for skill in SKILLS if skill in course.values}


def _onset(course: TrainingHistory, skill: str, seed: int) -> Onset:
    return onset(course.values[skill], _redrawn(course, skill, seed), course.steps, BASES.get(skill, 0.0))


def _redrawn(course: TrainingHistory, skill: str, seed: int) -> np.ndarray:
    """Under a seed of this skill and run, so that no two share their noise."""
    own = seed + 1000 * course.config.seed + SKILLS.index(skill)
    return redrawn_shares(course.values[skill], course.config.eval_n, own)


def _told(found: Onset) -> dict[str, Any]:
    """For tables: when, between which bounds, or that it never came."""
    own = mean_onset([found])
    if own is None:
        return {"step": None, "low": None, "high": None}
    return {"step": own.value, "low": own.low, "high": own.high}


def _onset_values(onsets: list[dict[str, Onset]], skills: list[str], seed: int) -> dict[str, Estimate]:
    values = {}
    for skill in skills:
        found = [run[skill] for run in onsets]
        values[f"came.{skill}"] = proportion(sum(item.came for item in found), len(found))
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
        "order_agreement": over_runs(own, np.array(drawn), seed=seed),
        "pairs_in_order": proportion(in_order, len(pairs)),
        "pairs_reversed": proportion(sum(total < 0 for total in net.values()), len(pairs)),
        "order_as_published": boolean_estimate(min(net.values()) >= 0 and in_order > len(pairs) / 2, n),
    }
    if "associate" in skills:
        values["associate_last"] = boolean_estimate(
            all(total > 0 for (_, later), total in net.items() if later == "associate"), n
        )
    if {"identity", "cancel"} <= set(skills):
        both = [(found["identity"], found["cancel"]) for found in onsets]
        together = all(a.came and b.came and precedence(a, b) == 0 for a, b in both)
        values["identity_with_cancel"] = boolean_estimate(together, n)
    if n > 1:
        values["same_order_in_all_seeds"] = boolean_estimate(
            not any({1, -1} <= set(found) for found in signs.values()), n
        )
    return values


def _plateau_values(
    courses: Sequence[TrainingHistory], onsets: list[dict[str, Onset]], seed: int
) -> dict[str, Estimate]:
    values = {}
    for skill in SKILLS:
        if all(skill in course.values for course in courses):
            own, drawn = zip(*[_rest(course, skill, seed) for course in courses])
            logs = over_runs(own, np.array(drawn), seed=seed)
            values[f"rest.{skill}"] = exponential(logs)
    values |= _early_peaks(courses, onsets) | _dip(courses, onsets)
    judged = [(c, found) for c, found in zip(courses, onsets) if {"closure_top_k", "identity"} <= set(found)]
    parts = [_waiting(course, found, seed) for course, found in judged if found["identity"].index > 0]
    for k, name in enumerate(("identity_plateau", "identity_in_band") if parts else ()):
        values[name] = over_runs([own[k][0] for own, _ in parts], np.array([drawn[k] for _, drawn in parts]), seed=seed)
    return values


def _early_peaks(courses: Sequence[TrainingHistory], onsets: list[dict[str, Onset]]) -> dict[str, Estimate]:
    """What passes for a skill before it can be one. Each is a highest value, so a little above the truth."""
    values, n = {}, courses[0].config.eval_n
    for skill in (skill for stage in STAGES[STAGES.index(("copy",)) + 2 :] for skill in stage):
        early = [course.values[skill][: found["copy"].index] for course, found in zip(courses, onsets)
                 if {skill, "copy"} <= set(found)]  # fmt: skip
        peaks = [proportion(max(shares) * n, n) for shares in early if shares]
        if peaks:
            values[f"early_peak.{skill}"] = across_seeds(peaks)
    return values


def _dip(courses: Sequence[TrainingHistory], onsets: list[dict[str, Onset]]) -> dict[str, Estimate]:
    """How much of what identity has early is lost again. A lowest value, so a little below the truth."""
    lows, n = [], courses[0].config.eval_n
    for course, found in zip(courses, onsets):
        if {"copy", "identity"} <= set(found) and 0 < found["copy"].index <= found["identity"].index:
            shares = course.values["identity"]
            peak = int(np.argmax(shares[: found["copy"].index]))
            lows.append(proportion(min(shares[peak : found["identity"].index]) * n, n))
    return {"dip.identity": across_seeds(lows)} if lows else {}


def _rest(course: TrainingHistory, skill: str, seed: int) -> tuple[float, np.ndarray]:
    """log of the longest rest, of the curve and of every resampled one."""
    steps = np.array(course.steps)
    own = longest_plateau(np.array([course.values[skill]]), steps)
    return float(own[0]), longest_plateau(_redrawn(course, skill, seed), steps)


def _waiting(course: TrainingHistory, onsets: dict[str, Onset], seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Mean identity accuracy, and the share inside the band, between the onsets of closure and of identity."""
    begin, end = onsets["closure_top_k"], onsets["identity"]
    curve = np.array([course.values["identity"]])
    own = level_between(curve, np.array([begin.index]), np.array([end.index]), end.steps)
    return own, level_between(_redrawn(course, "identity", seed), begin.draws, end.draws, end.steps)


def _loss_values(courses: Sequence[TrainingHistory]) -> dict[str, Estimate]:
    """Floors of the sequences that the runs were evaluated on; none for a world the oracle cannot count."""
    try:
        floors = [_floors(course) for course in courses]
    except InputError:
        return {}
    values: dict[str, Estimate] = {}
    for i, slot in enumerate(SLOTS):
        floor = mean(np.concatenate([found[:, i] for found in floors]))
        lost = [course.values[f"loss/{slot}"][-1] - found[:, i].mean() for course, found in zip(courses, floors)]
        values |= {f"floor.{slot}": floor, f"regret.{slot}": _spread(lost)}
    n_facts = courses[0].config.n_facts
    share = n_facts / (n_facts * FACT_LENGTH - 1)  # of a slot among the tokens predicted
    whole = np.concatenate([found.sum(axis=1) for found in floors]) * share
    return values | {"floor.token": mean(whole)}


def _floors(course: TrainingHistory) -> np.ndarray:
    """The floor of each sequence and slot, in nats, [n, 3]."""
    config = course.config
    asked = Evaluations(config.world, config.n_facts, config.eval_n, seed=config.seed).training_sequences
    return slot_floors(asked.tokens, config.world).mean(axis=1)


def _spread(values: Sequence[float]) -> Estimate:
    """The mean over runs and their range: too few for more."""
    return Estimate(float(np.mean(values)), float(min(values)), float(max(values)), len(values))


def _role_values(courses: Sequence[TrainingHistory], seed: int) -> dict[str, Estimate]:
    values: dict[str, Estimate] = {}
    for role in courses[0].roles:
        found = [course.roles[role] for course in courses if role in course.roles]
        onsets = [_role_onset(item, seed) for item in found if len(item.own.x) >= 3]
        step = mean_onset([item for item in onsets if item is not None], seed)
        key = role.replace(" ", "_")
        if step is not None:
            values[f"role_onset.{key}"] = step
        values[f"role_final.{key}"] = _spread([item.own.y[-1] for item in found])
    return values


def _role_onset(found: RoleHistory, seed: int) -> Onset | None:
    """Scores have scales of their own: each is taken as a share of its highest. None for a head without the role."""
    top = int(np.argmax(found.own.y))
    if found.own.low[top] <= 0:
        return None
    scale = found.own.y[top]
    errors = (np.array(found.own.high) - np.array(found.own.low)) / (2 * Z95 * scale)
    curve = np.array(found.own.y) / scale
    return onset(curve.tolist(), redrawn_means(curve.tolist(), errors.tolist(), seed), [int(x) for x in found.own.x])


def _curves(courses: Sequence[TrainingHistory]) -> dict[str, Curve]:
    """Shares pooled over the runs; the runs themselves are in details."""
    steps, n = courses[0].steps, courses[0].config.eval_n * len(courses)
    pooled = {name: np.mean([course.values[name] for course in courses], axis=0) for name in (*SKILLS, "holdout")
              if name in courses[0].values}  # fmt: skip
    return {
        name: Curve.from_estimates(steps, [proportion(float(value) * n, n) for value in shares])
        for name, shares in pooled.items()
    }
