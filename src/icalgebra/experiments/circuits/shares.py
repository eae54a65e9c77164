"""Shares of a total effect."""

from __future__ import annotations

import numpy as np

from icalgebra.statistics import Estimate, auc_ratio, proportion


def share(effect: np.ndarray, total: np.ndarray) -> Estimate:
    """The mean effect as a share of the mean total effect; pairs are resampled for the interval.

    Of a total that is not above zero there is no share: an estimate without observations.
    """
    if total.mean() <= 0:
        return proportion(0, 0)
    return auc_ratio(effect[:, None], total[:, None])
