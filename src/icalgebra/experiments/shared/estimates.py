"""Estimates that are not of one sample: a computed number, a yes or no for claims, the mean over seeds."""

from __future__ import annotations

from collections.abc import Sequence

from icalgebra.statistics import Estimate


def point_estimate(value: float, n: int) -> Estimate:
    """A number without a spread of its own, from n observations."""
    return Estimate(value, value, value, n)


def boolean_estimate(condition: bool, n: int) -> Estimate:
    """A yes or no as 1 or 0, with the number of observations behind it."""
    return point_estimate(float(condition), n)


def across_seeds(estimates: Sequence[Estimate]) -> Estimate:
    """The mean, from the lowest lower bound to the highest upper one: seeds may differ by more than sampling does."""
    n = len(estimates)
    return Estimate(
        sum(e.value for e in estimates) / n,
        min(e.low for e in estimates),
        max(e.high for e in estimates),
        sum(e.n for e in estimates),
    )
