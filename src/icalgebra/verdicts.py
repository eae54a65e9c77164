"""Verdicts: one claim and one result to one of the classes that claims.py describes, with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from icalgebra.claims import Claim, Verdict
from icalgebra.results import Result
from icalgebra.statistics import Estimate

AGREES: tuple[Verdict, ...] = ("reproduced", "stronger here")


@dataclass(frozen=True)
class Decision:
    """because: why the verdict is not simply that of the rule; empty where it is."""

    verdict: Verdict
    because: str = ""

    @property
    def decided(self) -> bool:
        return self.verdict in (*AGREES, "differs")

    @property
    def comparable(self) -> bool:
        return self.verdict not in ("not comparable", "not measured")


def decide(claim: Claim, result: Result | None, fitting: dict[str, str] | None = None) -> Decision:
    """The verdict of one result. fitting: of exclusive settings the one that fits (see fitting_settings).

    The questions in their order: was it measured, can it be compared, is there enough to tell, does it meet the rule.
    """
    ours = claim.measure(result)
    if result is None or ours is None:
        return Decision("not measured")
    chosen = (fitting or {}).get(claim.exclusive, claim.setting)
    if chosen != claim.setting:
        return Decision("not comparable", f"one published number, and of the settings measured {chosen} fits")
    unmet = [condition for condition in claim.comparable_if if not condition.holds(result)]
    if claim.not_comparable and (unmet or not claim.comparable_if):
        return Decision("not comparable", claim.not_comparable)
    if ours.n < claim.sample:
        return Decision("undecided", f"it rests on {ours.n} {claim.sample_is}; {claim.sample} or more could tell")
    found = by_rule(claim, ours)
    if found.verdict in AGREES and not _clear_of_control(claim, ours, result):
        return Decision("undecided", f"it is too close to {claim.control_is}")
    return found


def by_rule(claim: Claim, ours: Estimate) -> Decision:
    """By the rule and the interval alone."""
    low, value, high = (_side(claim, x) for x in (_or(ours.low, ours.value), ours.value, _or(ours.high, ours.value)))
    better = {"higher": 1, "lower": -1}.get(claim.better)
    fine = (0, better)
    if low in fine and high in fine:
        return Decision("stronger here" if 0 not in (low, high) else "reproduced")
    if low == high:
        return Decision("differs")
    narrow = (ours.high - ours.low) / 2 <= claim.resolution
    if value in fine and narrow:
        return Decision("reproduced")
    if narrow:
        return Decision("undecided", "the interval lies across the limit")
    told = claim.amount(claim.resolution)
    return Decision("undecided", f"the sample is too small: an interval of ± {told} or less could tell")


def _side(claim: Claim, x: float) -> int:
    """-1 below what meets the rule, 0 within it, 1 above."""
    least, most = claim.meets
    return -1 if x < least else 1 if x > most else 0


def _or(bound: float, value: float) -> float:
    """A single observation has no interval."""
    return value if math.isnan(bound) else bound


def _clear_of_control(claim: Claim, ours: Estimate, result: Result) -> bool:
    """Whether the interval lies wholly on the published side of the control's."""
    if claim.control == "":
        return True
    if isinstance(claim.control, str):
        control = claim.in_unit(result.values.get(claim.control))
        if control is None:
            return True  # a result that lacks the control says nothing against it
    else:
        control = Estimate(claim.control, claim.control, claim.control, 1)
    above = claim.rule == "at_least" or (claim.rule == "within" and claim.number > control.value)
    return ours.low > control.high if above else ours.high < control.low


def distance(claim: Claim, ours: Estimate) -> float:
    """How far our value is from the published one, in units of what the rule allows."""
    return abs(ours.value - claim.number) / claim.resolution


def fitting_settings(claims: Iterable[Claim], measured: Callable[[Claim], Estimate | None]) -> dict[str, str]:
    """Of each group of settings that exclude each other, the one whose values lie closest to the published numbers.

    The mean distance over the group's claims decides. An experiment takes part if it has claims under several of the
    settings and all of them were measured: what was measured under one setting alone says nothing about the other.
    """
    groups: dict[tuple[str, str], dict[str, list[Claim]]] = {}
    for claim in claims:
        if claim.exclusive:
            groups.setdefault((claim.exclusive, claim.experiment), {}).setdefault(claim.setting, []).append(claim)
    far: dict[str, dict[str, list[float]]] = {}
    for (group, _), by_setting in groups.items():
        found = {name: [(claim, measured(claim)) for claim in of] for name, of in by_setting.items()}
        if len(found) < 2 or any(ours is None for pairs in found.values() for _, ours in pairs):
            continue
        for name, pairs in found.items():
            far.setdefault(group, {}).setdefault(name, []).extend(distance(c, ours) for c, ours in pairs if ours)
    return {group: min(by, key=lambda name: sum(by[name]) / len(by[name])) for group, by in far.items()}
