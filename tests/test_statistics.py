"""Intervals by resampling: the same numbers as from all resamples at once, in memory that does not grow with n."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from icalgebra.statistics import auc, auc_ratio, correlation_of_means, share_among

GENERATOR = np.random.default_rng(5)
HITS, OTHER = (GENERATOR.random((9000, 7)) < share for share in (0.3, 0.6))
DRAWS = np.random.default_rng(0).integers(0, len(HITS), size=(1000, len(HITS)))  # more than fit in one block


def quantiles(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def test_intervals_are_those_of_all_resamples_at_once() -> None:
    one, other = HITS.mean(axis=1), OTHER.mean(axis=1)
    found = auc(HITS)
    assert (found.low, found.high) == quantiles(one[DRAWS].mean(axis=1))
    found = auc_ratio(HITS, OTHER)
    assert (found.low, found.high) == quantiles(one[DRAWS].mean(axis=1) / other[DRAWS].mean(axis=1))
    found = share_among(HITS, OTHER)
    held, n = (HITS & OTHER).sum(axis=1), OTHER.sum(axis=1)
    assert (found.low, found.high) == quantiles(held[DRAWS].sum(axis=1) / n[DRAWS].sum(axis=1))


def test_a_correlation_is_numpys_own_on_every_resample() -> None:
    one, other = GENERATOR.random((2000, 2, 9))[:, 0], GENERATOR.random((2000, 9))
    other += one
    draws = np.random.default_rng(0).integers(0, len(one), size=(1000, len(one)))
    expected = [np.corrcoef(one[rows].mean(axis=0), other[rows].mean(axis=0))[0, 1] for rows in draws]
    found = correlation_of_means(one, other)
    np.testing.assert_allclose((found.low, found.high), quantiles(np.array(expected)), rtol=1e-9)


@pytest.mark.parametrize(
    "measure",
    [auc, lambda hits: auc_ratio(hits, hits), lambda hits: share_among(hits, hits)],
    ids=["auc", "auc_ratio", "share_among"],
)
def test_memory_does_not_hold_all_resamples(measure: Callable[[np.ndarray], object]) -> None:
    hits = np.ones((60_000, 3), dtype=bool)  # 1000 resamples of them are 480 MB of indices
    tracemalloc.start()
    try:
        measure(hits)
        assert tracemalloc.get_traced_memory()[1] < 150e6
    finally:
        tracemalloc.stop()
