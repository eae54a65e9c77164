"""What the section on the identity says of one model, and by which thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from icalgebra.experiments.shared.readings import NotMeasured, Number, Shown, Stated, Values, clearly_more

OPERANDS = 2  # of a query
DEMOTES = 0.5  # share of identity queries with the identity lowest, above which a head demotes it
ATTENDS = 0.5  # attention mass on identity facts, below which the demoting head does not attend to them
SMALL = 0.25  # of the distance between the clusters: a small fraction
SEPARATED = 0.9  # balanced accuracy of the threshold, from which it separates the identity queries of a group
NEAR = 1e-3  # doses in a result are rounded
GROUP = "pc1.group."  # before the name of a group, in keys
LITTLE_CONFUSION = 0.05  # a false identity fact that costs less accuracy leaves steering by −v1 little to repair


@dataclass(frozen=True)
class Direction:
    """The first principal direction v1 of the final attention output."""

    explained: Number
    separates: Number
    random_separates: Number
    distance: Number  # between the two clusters, in raw units
    everywhere: bool  # one threshold separates them in every group
    weakest: str  # the group in which it does worst
    in_weakest: Number


@dataclass(frozen=True)
class Heads:
    promoter: str
    promotes: Number
    promotes_last_layer: Number  # the best head of the last layer
    promotes_whole_layer: Number
    demoter: str
    demotes: Number
    attention: Number  # of the demoting head, on facts with the identity
    identity_facts: Number  # their share of the context
    no_promoter: bool  # as claim I2.promotion judges it
    demotes_unattended: bool  # the head demotes the identity without attending to its facts


@dataclass(frozen=True)
class Steering:
    """What is predicted after adding v1, at the paper's raw dose and at one distance between the clusters."""

    raw_dose: Stated  # a length in the paper's model
    unsteered: Number  # a query variable is predicted
    at_raw_dose: Number
    at_distance: Number
    along_random: Number  # random directions of the same length
    worse_than_random: bool
    at_two: Shown  # a query variable is predicted at two distances,
    random_at_two: Shown  # and along random directions
    guessing: Stated  # a variable drawn from all of them is one of the query's
    random_guesses: bool  # so do random directions at two distances
    steers_at_two: bool  # clearly more than those
    small_raw_dose: bool  # the paper's length is a small fraction of the distance,
    raw_dose_beyond: bool  # or more than all of it
    random_everywhere: bool  # random directions were measured at every dose
    logit_gap: Number
    both_on_top: Number
    right_variable: Number  # with a false left identity
    left_variable: Number  # with a false right identity
    minus_raw_dose: Number  # the true answer, after a false fact
    minus_distance: Number


@dataclass(frozen=True)
class FalseFact:
    """Accuracy with a false identity fact in the context and without one, both unsteered."""

    left: Number
    right: Number
    without: Number
    harmless: bool


@dataclass(frozen=True)
class Reading:
    direction: Direction
    heads: Heads
    steering: Steering
    false_fact: FalseFact


def read(values: Values) -> Reading:
    return Reading(_direction(values), _heads(values), _steering(values), _false_fact(values))


def _direction(values: Values) -> Direction:
    groups = {key: item.value for key, item in values.result.values.items() if key.startswith(GROUP)}
    weakest = min(groups, key=lambda key: groups[key])
    return Direction(
        explained=values.number("pc1.explained"),
        separates=values.number("pc1.balanced_accuracy"),
        random_separates=values.number("pc1.random_direction"),
        distance=values.number("pc1.distance", ""),
        everywhere=groups[weakest] >= SEPARATED,
        weakest=weakest.removeprefix(GROUP),
        in_weakest=values.number(weakest),
    )


def _heads(values: Values) -> Heads:
    demotes, attention = values.number("identity_demotion.best"), values.number("identity_demotion.attention")
    return Heads(
        promoter=values.detail("heads", "promoter"),
        promotes=values.number("query_promotion.best"),
        promotes_last_layer=values.number("query_promotion.best_in_last_layer"),
        promotes_whole_layer=values.number("query_promotion.whole_last_attention"),
        demoter=values.detail("heads", "demoter"),
        demotes=demotes,
        attention=attention,
        identity_facts=values.number("identity_demotion.facts"),
        no_promoter=not values.number("query_promotion_head").value,
        demotes_unattended=demotes.value > DEMOTES and attention.value < ATTENDS,
    )


def _steering(values: Values) -> Steering:
    at_distance = values.number("steer_distance.plus.query_variable")
    along_random = values.number("steer_distance.random.query_variable")
    distance = values.detail("distance")
    at_two, random_at_two = (at_dose(values, way, 2 * distance) for way in ("plain", "random"))
    guessing = OPERANDS / values.config["world"]["n_variables"]
    return Steering(
        raw_dose=Stated(values.config["raw_dose"]),
        unsteered=values.number("plain.query_variable"),
        at_raw_dose=values.number("steer.plus.query_variable"),
        at_distance=at_distance,
        along_random=along_random,
        worse_than_random=at_distance.high <= along_random.low,
        at_two=at_two,
        random_at_two=random_at_two,
        guessing=Stated(100 * guessing, "%"),
        random_guesses=isinstance(random_at_two, Number) and random_at_two.low <= guessing <= random_at_two.high,
        steers_at_two=clearly_more(at_two, random_at_two),
        small_raw_dose=values.config["raw_dose"] < SMALL * distance,
        raw_dose_beyond=values.config["raw_dose"] > distance,
        random_everywhere="dose.random.query_variable" in values.result.curves,
        logit_gap=values.number("steer_distance.plus.logit_gap", ""),
        both_on_top=values.number("steer_distance.plus.both_on_top"),
        right_variable=values.number("steer_distance.false_left.right_variable"),
        left_variable=values.number("steer_distance.false_right.left_variable"),
        minus_raw_dose=values.number("steer.minus.correct"),
        minus_distance=values.number("steer_distance.minus.correct"),
    )


def at_dose(values: Values, way: str, dose: float) -> Shown:
    """How often a query variable is predicted at this dose; earlier results lack the random directions' curve."""
    curve = values.result.curves.get(f"dose.{way}.query_variable")
    points = zip(curve.x, curve.estimates) if curve else ()
    return next((Number(found) for x, found in points if math.isclose(x, dose, rel_tol=NEAR)), NotMeasured())


def _false_fact(values: Values) -> FalseFact:
    left, right, without = (values.number(f"{context}.correct") for context in ("false_left", "false_right", "plain"))
    harmless = without.value - min(left.value, right.value) < LITTLE_CONFUSION
    return FalseFact(left, right, without, harmless)
