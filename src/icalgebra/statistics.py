"""Estimates: a measured value, its 95 % interval and the number of observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import comb

import numpy as np

Z95 = 1.959963984540054
RESAMPLES, SEED = 1000, 0  # of the bootstrap
AT_ONCE = 1 << 22  # numbers in memory: 32 MB
# What is chosen among many (heads, sets) is chosen on one half of the rows and judged on the other.
CHOOSING, JUDGING = slice(0, None, 2), slice(1, None, 2)


@dataclass(frozen=True)
class Estimate:
    """A measured value with its 95 % interval and the number of observations."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}], n = {self.n}"

    def scaled(self, factor: float | int) -> Estimate:
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.n)

    def to_dict(self) -> dict[str, float | int]:
        return asdict(self)


def proportion(successes: float | int, n: int) -> Estimate:
    """A proportion with Wilson's interval, which stays valid near 0 and 1."""
    if n == 0:
        return Estimate(float("nan"), 0.0, 1.0, 0)
    p = successes / n
    centre = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * np.sqrt(p * (1 - p) / n + Z95**2 / (4 * n * n))
    return Estimate(float(p), max(0.0, float(centre - half)), min(1.0, float(centre + half)), n)


def mean(values: np.ndarray) -> Estimate:
    """A mean with its normal-approximation interval."""
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    half = Z95 * values.std(ddof=1) / np.sqrt(n) if n > 1 else float("nan")
    centre = float(values.mean())
    return Estimate(centre, centre - float(half), centre + float(half), n)


def mean_of_runs(values: Sequence[float]) -> Estimate:
    """The mean of a few runs with its t-interval; one run has none."""
    from scipy.special import stdtrit  # imported here: training uses this module and must run without scipy

    n = len(values)
    half = float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    centre = float(np.mean(values))
    return Estimate(centre, centre - half, centre + half, n)


def fisher_exact(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """Two-sided p of Fisher's exact test: the tables with these margins that are no likelier than the one found."""
    total = hits + other_hits
    ways = [comb(n, k) * comb(other_n, total - k) for k in range(max(0, total - other_n), min(n, total) + 1)]
    found = comb(n, hits) * comb(other_n, other_hits)
    return sum(way for way in ways if way <= found) / sum(ways)


def difference(one: Estimate, other: Estimate) -> Estimate:
    """The difference of two proportions, by Newcombe's method: Wilson's intervals combined.

    It takes the two as independent, so it is conservative where they are positively correlated.
    """
    below = np.hypot(one.value - one.low, other.high - other.value)
    above = np.hypot(one.high - one.value, other.value - other.low)
    centre = one.value - other.value
    return Estimate(centre, centre - float(below), centre + float(above), min(one.n, other.n))


def auc(hits: np.ndarray) -> Estimate:
    """The area under a curve over context sizes: the mean of hits [n sequences, context sizes 1 … k−1].

    The interval comes from resampling whole sequences, since hits of one sequence are correlated. Context sizes that a
    shorter sequence does not have are NaN.
    """
    per_sequence = _sequence_means(hits)
    means = _over_resamples(lambda draws: per_sequence[draws].mean(axis=1), len(per_sequence))
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(float(per_sequence.mean()), float(low), float(high), len(per_sequence))


def auc_ratio(hits: np.ndarray, reference: np.ndarray) -> Estimate:
    """The ratio of two AUCs over the same sequences, which are resampled together."""
    above, below = _sequence_means(hits), _sequence_means(reference)
    if not below.any():
        return proportion(0, 0)
    return Estimate(*_ratio(above, below, np.mean), len(above))


def share_among(condition: np.ndarray, among: np.ndarray) -> Estimate:
    """How often a condition holds among the selected queries, both bool [n sequences, …]; sequences are resampled.

    The estimate's n is the number of selected queries.
    """
    selected = np.asarray(among, dtype=bool).reshape(len(among), -1)
    n_held = (np.asarray(condition, dtype=bool).reshape(selected.shape) & selected).sum(axis=1)
    n_selected = selected.sum(axis=1)
    if not n_selected.any():
        return proportion(0, 0)
    return Estimate(*_ratio(n_held, n_selected, np.sum), int(n_selected.sum()))


def _ratio(above: np.ndarray, below: np.ndarray, total: Callable[..., np.ndarray]) -> tuple[float, float, float]:
    """The ratio of two totals (sums or means) over the same sequences, resampled together, and its bounds."""

    def totals(draws: np.ndarray) -> np.ndarray:
        return np.stack([total(above[draws], axis=1), total(below[draws], axis=1)], axis=1)

    resampled = _over_resamples(totals, len(above))
    tops, bottoms = resampled[resampled[:, 1] > 0].T
    low, high = np.quantile(tops / bottoms, [0.025, 0.975])
    return float(total(above) / total(below)), float(low), float(high)


def correlation_of_means(one: np.ndarray, other: np.ndarray) -> Estimate:
    """Pearson's correlation between the column means of two sets of observations [n sequences, columns].

    The interval comes from resampling sequences. Column means that are all equal have correlation 0.
    """
    observed = np.stack([one, other]).astype(np.float64)

    def correlations(draws: np.ndarray) -> np.ndarray:
        means = observed[:, draws].mean(axis=2)
        a, b = means - means.mean(axis=2, keepdims=True)
        size = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
        return (a * b).sum(axis=1) / np.where(size > 0, size, 1.0)

    found = float(correlations(np.arange(len(one))[None])[0])
    resampled = _over_resamples(correlations, len(one), observed[:, 0].size)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Estimate(found, float(min(low, found)), float(max(high, found)), len(one))


def _sequence_means(hits: np.ndarray) -> np.ndarray:
    """A block of sequences at a time: as floats, all hits would take eight times the memory."""
    hits = np.asarray(hits)
    rows = max(1, AT_ONCE // max(1, hits.shape[1]))
    parts = [np.asarray(hits[i : i + rows], dtype=np.float64) for i in range(0, len(hits), rows)]
    return np.concatenate([np.nanmean(part, axis=1) for part in parts])


def _over_resamples(statistic: Callable[[np.ndarray], np.ndarray], n: int, numbers: int = 1) -> np.ndarray:
    """A statistic of bootstrap indices [some, n] for all resamples, a block at a time: the indices of a million
    sequences would take 8 GB. numbers: how many the statistic gathers per index. Results do not depend on the blocks.
    """
    generator = np.random.Generator(np.random.PCG64(SEED))
    size = max(1, AT_ONCE // max(1, n * numbers))
    blocks = [min(size, RESAMPLES - done) for done in range(0, RESAMPLES, size)]
    return np.concatenate([statistic(generator.integers(0, n, size=(block, n))) for block in blocks])
