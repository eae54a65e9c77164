"""Estimates that are not of one sample: a computed number, a yes or no for claims, the mean over seeds, a share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from icalgebra.statistics import Estimate, auc_ratio, proportion


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


def share(effect: np.ndarray, total: np.ndarray) -> Estimate:
    """The mean effect as a share of the mean total effect; pairs are resampled for the interval.

    Of a total that is not above zero there is no share: an estimate without observations.
    """
    if total.mean() <= 0:
        return proportion(0, 0)
    return auc_ratio(effect[:, None], total[:, None])
