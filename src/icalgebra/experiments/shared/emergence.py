"""When a skill appears: a change-point rule with its interval, and the order in which skills appear.

Of a curve only what lasts counts: at each step the least that it shows from there on. (A skill may seem to come and go:
a model that has learned no more than to repeat what is frequent answers half of the pure associate sequences of a small
world, and loses that again.) What lasts is fitted by two levels, a low one before the change and a high one from it on,
by least squares on the log axis of steps, where each evaluation weighs as much as the stretch of axis around it. The
best change lies where the curve passes half-way between the two levels, whatever these are: no skill needs a threshold
of its own, and a single noisy evaluation hardly moves it. Levels closer than MIN_RISE are no change: then the skill was
either there from the first evaluation on (PRESENT or more) or has not come.

The interval. Every share is drawn anew from the binomial of its value and n, and the fit repeated; runs (seeds) are
drawn anew too. A change between two evaluations may lie anywhere between them, so the lower bound comes from the
evaluation before it and the upper one from that after it. All evaluations ask the same sequences, so their errors go
together; drawing them one by one makes the interval wider than need be, never narrower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from icalgebra.errors import InputError
from icalgebra.statistics import Estimate

MIN_RISE = 0.1
PRESENT = 0.6
RESAMPLES = 1000
SURE = 0.975  # two-sided 95 %


@dataclass(frozen=True, eq=False)
class Onset:
    """Evaluation `index` is the first with the skill. 0: it was there before; the number of evaluations: never."""

    steps: np.ndarray
    index: int
    draws: np.ndarray  # the index for every resampled curve

    @property
    def came(self) -> bool:
        return self.index < len(self.steps)

    @cached_property
    def before(self) -> np.ndarray:
        """log of the last step without the skill, by index; training starts at step 1 on this axis."""
        return np.log(np.concatenate([[1], self.steps]))

    @cached_property
    def after(self) -> np.ndarray:
        """log of the first step with it, by index; infinite where it never came."""
        return np.append(np.log(self.steps), np.inf)

    @property
    def step(self) -> float:
        """Half-way between the two, on the log axis."""
        return float(np.exp((self.before[self.index] + self.after[self.index]) / 2))


def weights(steps: np.ndarray) -> np.ndarray:
    """The stretch of the log axis around each evaluation."""
    return np.gradient(np.log(steps))


def change_points(curves: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The index of the change of each curve [..., points]; 0: high throughout, the number of points: low throughout."""
    weight = weights(steps)
    total, sums = weight.sum(), (weight * curves).sum(-1, keepdims=True)
    left, left_sums = weight.cumsum()[:-1], (weight * curves).cumsum(-1)[..., :-1]
    low, high = left_sums / left, (sums - left_sums) / (total - left)
    # Squared error falls by what the levels explain; a change downwards is no onset.
    explained = np.where(high > low, left * (total - left) * (high - low) ** 2, -1.0)
    best = explained.argmax(-1)[..., None]
    rise = np.take_along_axis(high - low, best, -1)[..., 0]
    absent = np.where(sums[..., 0] / total >= PRESENT, 0, len(steps))
    return np.where(rise >= MIN_RISE, best[..., 0] + 1, absent)


def onset(curve: Sequence[float], resampled: np.ndarray, steps: Sequence[int], base: float = 0.0) -> Onset:
    """Of a skill whose curve counts only above `base`."""
    if len(steps) < 3:
        raise InputError(f"an onset needs at least 3 evaluations, not {len(steps)}")
    at = np.asarray(steps, dtype=np.float64)
    own, drawn = (change_points(np.maximum(lasting(values), base), at) for values in (np.asarray(curve), resampled))
    return Onset(at, int(own), drawn)


def lasting(curves: np.ndarray) -> np.ndarray:
    """The least of each curve [..., points] from every point on."""
    return np.minimum.accumulate(curves[..., ::-1], axis=-1)[..., ::-1]


def redrawn_shares(curve: Sequence[float], n: int, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """Each share drawn anew from its binomial, [resamples, points]."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.binomial(n, np.clip(curve, 0.0, 1.0), size=(resamples, len(curve))) / n


def redrawn_means(curve: Sequence[float], errors: Sequence[float], seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """Each mean drawn anew from a normal of its standard error."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.normal(curve, errors, size=(resamples, len(curve)))


def over_runs(points: Sequence[float], lows: np.ndarray, highs: np.ndarray | None = None, seed: int = 0) -> Estimate:
    """The mean over runs; lows and highs [runs, resamples] give the bounds, with the runs drawn anew as well."""
    generator = np.random.Generator(np.random.PCG64(seed))
    n_runs, resamples = lows.shape
    chosen = generator.integers(0, n_runs, size=(n_runs, resamples))
    ends = [np.take_along_axis(values, chosen, 0).mean(0) for values in (lows, lows if highs is None else highs)]
    value = float(np.mean(points))
    low, high = float(np.quantile(ends[0], 1 - SURE)), float(np.quantile(ends[1], SURE))
    return Estimate(value, min(low, value), max(high, value), n_runs)


def mean_onset(onsets: Sequence[Onset], seed: int = 0) -> Estimate | None:
    """The step, a geometric mean over the runs in which the skill came; None where it came in none."""
    came = [item for item in onsets if item.came]
    if not came:
        return None
    lows, highs = [], []
    for item in came:
        within = np.minimum(item.draws, len(item.steps) - 1)  # a resampled curve without the change: its last step
        lows.append(item.before[within])
        highs.append(item.after[within])
    logs = over_runs([float(np.log(item.step)) for item in came], np.array(lows), np.array(highs), seed)
    return exponential(logs)


def exponential(logs: Estimate) -> Estimate:
    """Back from the log axis."""
    return Estimate(float(np.exp(logs.value)), float(np.exp(logs.low)), float(np.exp(logs.high)), logs.n)


def precedence(earlier: Onset, later: Onset) -> int:
    """1: surely in this order, −1: surely reversed, 0: the two cannot be told apart. Both are of one run."""
    before, behind = (float(np.mean(found)) for found in _compared(earlier, later))
    return int(before >= SURE) - int(behind >= SURE)


def _compared(earlier: Onset, later: Onset) -> tuple[np.ndarray, np.ndarray]:
    return earlier.draws < later.draws, earlier.draws > later.draws


def agreement(onsets: dict[str, Onset], pairs: Sequence[tuple[str, str]]) -> tuple[float, np.ndarray]:
    """Kendall's τ with a partial order: the mean over its pairs of 1 (in order), −1 (reversed), 0 (same evaluation).

    Of the run's own onsets, and of every resampled set of them.
    """
    own = [np.sign(onsets[later].index - onsets[earlier].index) for earlier, later in pairs]
    drawn = [np.sign(onsets[later].draws - onsets[earlier].draws) for earlier, later in pairs]
    return float(np.mean(own)), np.mean(drawn, axis=0)
