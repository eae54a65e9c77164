"""What the section on training dynamics says of the runs of one recipe, and by which thresholds.

Which values a result holds depends on what the runs learned (an onset, a peak before another onset), on their number
and on their world. So what may be absent is None here, and the section then leaves the sentence out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from icalgebra.experiments.shared.emergence import BAND, BASELINES, CONFIDENCE, MIN_RISE, SKILLS
from icalgebra.experiments.shared.readings import Number, Stated, Values

SKILL_NAMES = {"structural": "structural tokens", "closure_top_k": "closure"}  # the others are called by their names
SLOTS = ("left", "right", "answer")
OTHER_ROLES = ("query_promotion", "identity_demotion", "left_cancellation", "right_cancellation", "closure_promotion")
MOSTLY_CHANCE = 0.1  # regret over floor, below which the remaining loss is nearly all chance
MANY_PAIRS = 6  # more pairs of skills than this are counted, not named
EARLY_ASSOCIATE = 0.2  # accuracy on associate before copying that calls for a warning
IN_WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine"}
LASTS = 1.15  # ratio of last to first step of a plateau, above which it does not only pass through


@dataclass(frozen=True)
class Recipe:
    model: str
    steps: int


@dataclass(frozen=True)
class Rule:
    """The constants of the onset rule, as the section quotes them."""

    min_rise: Stated
    identity_above: Stated
    associate_above: Stated
    band: tuple[Stated, Stated]
    confidence: Stated


@dataclass(frozen=True)
class Loss:
    regret: dict[str, Number]
    floor: dict[str, Number]
    mostly_chance: bool


@dataclass(frozen=True)
class Skill:
    name: str
    onset: Number | None
    n_runs: int  # in which it appeared
    longest_plateau: Number


@dataclass(frozen=True)
class Pair:
    """Two skills in the order in which they are named, and the number of runs that say so."""

    first: str
    second: str
    n_runs: int


@dataclass(frozen=True)
class Missing:
    """A skill that some runs end without; the order counts it as their last."""

    name: str
    n_runs: int


@dataclass(frozen=True)
class Order:
    agreement: Number
    reversed: list[Pair]
    undecided: list[Pair]
    n_undecided: int
    undecided_named: bool  # few enough to be named
    early_associate: Number | None  # where it calls for a warning
    missing: list[Missing]
    one_run: bool

    @property
    def none_reversed(self) -> bool:
        return not self.reversed


@dataclass(frozen=True)
class Plateau:
    """Identity accuracy before the skill appears, where one half is published."""

    level: Number
    in_band: Number
    early_peak: Number | None
    dip: Number | None
    half_early: bool  # the level is below the published one, but the early peak is not
    verdict: Literal["below", "above", "published"]
    lasts: Number | None  # the longest plateau, where the accuracy does not only pass through the band
    promotion_onset: Number | None

    @property
    def later_verdict(self) -> str:
        """Where there was no early peak at one half, which says more."""
        return "" if self.half_early else self.verdict


@dataclass(frozen=True)
class Role:
    name: str
    onset: Number


@dataclass(frozen=True)
class Roles:
    copy_role: Number | None
    copy_skill: Number | None
    timing: Literal["skill first", "head first", "together"] | None
    others: list[Role]
    n_steps: int
    n_sequences: int


@dataclass(frozen=True)
class Reading:
    n_runs: int
    several_runs: bool
    recipe: Recipe
    eval_n: int  # sequences per evaluation
    rule: Rule
    loss: Loss | None
    skills: list[Skill]
    order: Order | None
    plateau: Plateau | None
    roles: Roles | None

    @property
    def runs_in_words(self) -> str:
        return f"{IN_WORDS.get(self.n_runs, self.n_runs)} run{'s' * self.several_runs}"


def read(values: Values) -> Reading:
    runs, training = values.detail("runs"), values.config["training"]
    return Reading(
        n_runs=len(runs),
        several_runs=len(runs) > 1,
        recipe=Recipe(values.result.model, training["steps"]),
        eval_n=training["eval_n"],
        rule=Rule(
            min_rise=Stated(100 * MIN_RISE, "points"),
            identity_above=Stated(100 * BASELINES["identity"], "%"),
            associate_above=Stated(round(100 * BASELINES["associate"]), "%"),
            band=(Stated(100 * BAND[0]), Stated(100 * BAND[1], "%")),
            confidence=Stated(100 * CONFIDENCE, "%"),
        ),
        loss=_loss(values) if "floor.answer" in values else None,
        skills=[_skill(values, skill) for skill in SKILLS if f"came.{skill}" in values],
        order=_order(values) if "order_agreement" in values else None,
        plateau=_plateau(values) if "identity_plateau" in values else None,
        roles=_roles(values, runs[0]["roles"]["copy"]) if runs[0]["roles"] else None,
    )


def _loss(values: Values) -> Loss:
    regret, floor = (values.numbers(f"{name}.{{}}", SLOTS, "nats") for name in ("regret", "floor"))
    total_regret, total_floor = (sum(number.value for number in part.values()) for part in (regret, floor))
    return Loss(regret, floor, total_regret < MOSTLY_CHANCE * total_floor)


def _skill(values: Values, skill: str) -> Skill:
    return Skill(
        name=SKILL_NAMES.get(skill, skill),
        onset=values.if_there(f"onset.{skill}", "steps"),
        n_runs=sum(found[skill]["step"] is not None for found in values.detail("onsets")),
        longest_plateau=values.number(f"rest.{skill}", ""),
    )


def _order(values: Values) -> Order:
    pairs = values.detail("pairs")
    undecided = [_pair(found, 0) for found in pairs if 0 in found["runs"]]
    early = values.if_there("early_peak.associate")
    return Order(
        agreement=values.number("order_agreement", ""),
        reversed=[_pair(found, -1) for found in pairs if -1 in found["runs"]],
        undecided=undecided,
        n_undecided=len(undecided),
        undecided_named=len(undecided) <= MANY_PAIRS,
        early_associate=early if early and early.low > EARLY_ASSOCIATE else None,
        missing=_missing(values),
        one_run="same_order_in_all_seeds" not in values,
    )


def _missing(values: Values) -> list[Missing]:
    onsets = values.detail("onsets")
    without = {skill: sum(found[skill]["step"] is None for found in onsets) for skill in SKILLS if skill in onsets[0]}
    return [Missing(SKILL_NAMES.get(skill, skill), n) for skill, n in without.items() if n]


def _pair(found: dict[str, Any], sign: int) -> Pair:
    """A reversed pair is named in the order in which the runs have it."""
    names = [SKILL_NAMES.get(found[key], found[key]) for key in ("earlier", "later")]
    first, second = names[::-1] if sign < 0 else names
    return Pair(first, second, found["runs"].count(sign))


def _plateau(values: Values) -> Plateau:
    level, early_peak = values.number("identity_plateau"), values.if_there("early_peak.identity")
    longest = values.number("rest.identity", "")
    return Plateau(
        level=level,
        in_band=values.number("identity_in_band"),
        early_peak=early_peak,
        dip=values.if_there("dip.identity"),
        half_early=level.high < BAND[0] and early_peak is not None and early_peak.high >= BAND[0],
        verdict=_plateau_verdict(level),
        lasts=longest if longest.low > LASTS else None,
        promotion_onset=values.if_there("role_onset.query_promotion", "steps"),
    )


def _plateau_verdict(level: Number) -> Literal["below", "above", "published"]:
    """By the interval: the level differs from one half only where its interval does not meet the band."""
    if level.high < BAND[0]:
        return "below"
    return "above" if level.low > BAND[1] else "published"


def _roles(values: Values, copy: dict[str, Any]) -> Roles:
    role, skill = values.if_there("role_onset.copy", "steps"), values.if_there("onset.copy", "steps")
    others = {name: values.if_there(f"role_onset.{name}", "steps") for name in OTHER_ROLES}
    return Roles(
        copy_role=role,
        copy_skill=skill,
        timing=_timing(role, skill) if role and skill else None,
        others=[Role(name.replace("_", " "), found) for name, found in others.items() if found],
        n_steps=len(copy["own"]["x"]),
        n_sequences=values.config["n"],
    )


def _timing(role: Number, skill: Number) -> Literal["skill first", "head first", "together"]:
    if role.low > skill.high:
        return "skill first"
    return "head first" if role.high < skill.low else "together"
