"""When a skill appears in training: a change-point rule with its interval, the order of skills, and plateaus.

Onsets. Only what lasts counts: each curve is replaced by its minimum over all later evaluations. (A skill may seem to
come and go: a model that has only learned to repeat frequent variables answers half of the pure associate sequences of
a small world, and loses that again.) The result is fitted by two levels, a low one before the change and a high one
after it, by least squares on the log axis of steps, where each evaluation has the weight of the axis around it. The
best change is where the curve passes half-way between its two levels. So no skill needs a threshold of its own, and a
single noisy evaluation hardly moves the onset. Levels closer than MIN_RISE are not a change: then the skill was
either there from the first evaluation on (mean PRESENT or more) or never appeared.

Intervals. Every share is resampled from the binomial of its value and n, and the fit repeated; runs (seeds) are
resampled too. A change between two evaluations may lie anywhere between them, so the lower bound comes from the
evaluation before it and the upper one from the evaluation after it. All evaluations use the same sequences, so their
errors are correlated; resampling them independently makes the interval wider than necessary, never narrower.

Plateaus. How long an accuracy stays inside BAND, and its mean level while a skill has not appeared yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from icalgebra.errors import InputError
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.statistics import Estimate

# The published order: skills of one stage appear together.
STAGES = (("structural",), ("closure_top_k",), ("copy",), ("commute",), ("identity", "cancel"), ("associate",))
SKILLS = ("structural", "closure_top_k", *MECHANISMS)
# Accuracy without the skill: promoting both variables of an identity query answers half of them; repeating one of the
# three answers of a pure associate sequence, a third.
BASELINES = {"identity": 1 / 2, "associate": 1 / 3}

MIN_RISE = 0.1  # smallest difference of the two levels that counts as a change
PRESENT = 0.6  # mean accuracy of a flat curve whose skill was there from the first evaluation on
RESAMPLES = 1000
CONFIDENCE = 0.975  # two-sided 95 %
BAND = (0.4, 0.6)  # accuracies that count as a plateau at one half
# Hold-out accuracies that mark a run's progress: the plateau is over, the task counts as learned.
PLATEAU_END, LEARNED = 0.5, 0.9


# --- onsets ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Onset:
    """Evaluation `index` is the first with the skill. 0: it was there before; the number of evaluations: never."""

    steps: np.ndarray
    index: int
    resampled: np.ndarray  # the index for every resampled curve

    @property
    def appeared(self) -> bool:
        return self.index < len(self.steps)

    @cached_property
    def before(self) -> np.ndarray:
        """log of the last step without the skill, by index; training starts at step 1 on this axis."""
        return np.log(np.concatenate([[1], self.steps]))

    @cached_property
    def after(self) -> np.ndarray:
        """log of the first step with it, by index; infinite where it never appeared."""
        return np.append(np.log(self.steps), np.inf)

    @property
    def step(self) -> float:
        """Half-way between the two, on the log axis."""
        return float(np.exp((self.before[self.index] + self.after[self.index]) / 2))


def onset(curve: Sequence[float], resampled: np.ndarray, steps: Sequence[int], baseline: float = 0.0) -> Onset:
    """Of a skill whose curve counts only above `baseline`."""
    if len(steps) < 3:
        raise InputError(f"an onset needs at least 3 evaluations, not {len(steps)}")
    at = np.asarray(steps, dtype=np.float64)
    own, drawn = (
        change_points(np.maximum(later_minimum(curves), baseline), at) for curves in (np.asarray(curve), resampled)
    )
    return Onset(at, int(own), drawn)


def later_minimum(curves: np.ndarray) -> np.ndarray:
    """The minimum of each curve [..., points] from every point on."""
    return np.minimum.accumulate(curves[..., ::-1], axis=-1)[..., ::-1]


def change_points(curves: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The index of the change of each curve [..., points]; 0: high throughout, the number of points: low throughout."""
    weight = axis_weights(steps)
    total, sums = weight.sum(), (weight * curves).sum(-1, keepdims=True)
    left, left_sums = weight.cumsum()[:-1], (weight * curves).cumsum(-1)[..., :-1]
    low, high = left_sums / left, (sums - left_sums) / (total - left)
    # Squared error falls by what the levels explain; a change downwards is not an onset.
    explained = np.where(high > low, left * (total - left) * (high - low) ** 2, -1.0)
    best = explained.argmax(-1)[..., None]
    rise = np.take_along_axis(high - low, best, -1)[..., 0]
    unchanged = np.where(sums[..., 0] / total >= PRESENT, 0, len(steps))
    return np.where(rise >= MIN_RISE, best[..., 0] + 1, unchanged)


def axis_weights(steps: np.ndarray) -> np.ndarray:
    """The length of the log axis around each evaluation."""
    return np.gradient(np.log(steps))


def mean_onset(onsets: Sequence[Onset], seed: int = 0) -> Estimate | None:
    """The step, a geometric mean over the runs in which the skill appeared; None where it appeared in none."""
    appeared = [item for item in onsets if item.appeared]
    if not appeared:
        return None
    lows, highs = [], []
    for item in appeared:
        within = np.minimum(item.resampled, len(item.steps) - 1)  # a resampled curve without the change: its last step
        lows.append(item.before[within])
        highs.append(item.after[within])
    logs = mean_over_runs([float(np.log(item.step)) for item in appeared], np.array(lows), np.array(highs), seed)
    return exponential(logs)


# --- intervals ------------------------------------------------------------------------------------------------------


def resampled_shares(curve: Sequence[float], n: int, seed: int) -> np.ndarray:
    """Each share resampled from its binomial, [resamples, points]."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.binomial(n, np.clip(curve, 0.0, 1.0), size=(RESAMPLES, len(curve))) / n


def resampled_means(curve: Sequence[float], errors: Sequence[float], seed: int) -> np.ndarray:
    """Each mean resampled from a normal of its standard error."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.normal(curve, errors, size=(RESAMPLES, len(curve)))


def mean_over_runs(
    points: Sequence[float], lows: np.ndarray, highs: np.ndarray | None = None, seed: int = 0
) -> Estimate:
    """The mean over runs; lows and highs [runs, resamples] give the bounds, with the runs resampled as well."""
    generator = np.random.Generator(np.random.PCG64(seed))
    n_runs, resamples = lows.shape
    chosen = generator.integers(0, n_runs, size=(n_runs, resamples))
    ends = [np.take_along_axis(values, chosen, 0).mean(0) for values in (lows, lows if highs is None else highs)]
    value = float(np.mean(points))
    low, high = float(np.quantile(ends[0], 1 - CONFIDENCE)), float(np.quantile(ends[1], CONFIDENCE))
    return Estimate(value, min(low, value), max(high, value), n_runs)


def exponential(logs: Estimate) -> Estimate:
    """Back from the log axis."""
    return Estimate(float(np.exp(logs.value)), float(np.exp(logs.low)), float(np.exp(logs.high)), logs.n)


# --- the order of skills --------------------------------------------------------------------------------------------


def published_pairs(skills: Sequence[str]) -> list[tuple[str, str]]:
    """Every two skills that the paper puts into an order."""
    return [
        (a, b)
        for i, stage in enumerate(STAGES)
        for later in STAGES[i + 1 :]
        for a, b in product(stage, later)
        if a in skills and b in skills
    ]


def precedence(earlier: Onset, later: Onset) -> int:
    """1: significantly in this order, −1: significantly reversed, 0: neither. Both onsets are of one run."""
    in_order = float(np.mean(earlier.resampled < later.resampled))
    reverse = float(np.mean(earlier.resampled > later.resampled))
    return int(in_order >= CONFIDENCE) - int(reverse >= CONFIDENCE)


def agreement(onsets: dict[str, Onset], pairs: Sequence[tuple[str, str]]) -> tuple[float, np.ndarray]:
    """Kendall's τ with a partial order: the mean over its pairs of 1 (in order), −1 (reversed), 0 (same evaluation).

    Of the run's own onsets, and of every resampled set of them.
    """
    own = [np.sign(onsets[later].index - onsets[earlier].index) for earlier, later in pairs]
    drawn = [np.sign(onsets[later].resampled - onsets[earlier].resampled) for earlier, later in pairs]
    return float(np.mean(own)), np.mean(drawn, axis=0)


# --- plateaus -------------------------------------------------------------------------------------------------------


def longest_plateau(curves: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The longest run of neighbouring points inside the band, as a length on the log axis; curves [n, points]."""
    start, longest = np.full(len(curves), np.nan), np.zeros(len(curves))
    for step, inside in zip(np.log(steps), inside_band(curves).T):
        start = np.where(inside, np.where(np.isnan(start), step, start), np.nan)
        longest = np.fmax(longest, step - start)
    return longest


def level_between(curves: np.ndarray, begin: np.ndarray, end: np.ndarray, steps: np.ndarray) -> list[np.ndarray]:
    """Mean of each curve over the log axis from point `begin` to before `end`, and the share of it inside the band.

    Where `begin` is not before `end`, only the point before `end` counts.
    """
    places = np.arange(len(steps))
    last = np.maximum(end, 1)[:, None]
    first = np.minimum(begin[:, None], last - 1)
    weight = axis_weights(steps) * ((places >= first) & (places < last))
    weight /= weight.sum(1, keepdims=True)
    return [(weight * curves).sum(1), (weight * inside_band(curves)).sum(1)]


def inside_band(curves: np.ndarray) -> np.ndarray:
    return (curves >= BAND[0]) & (curves <= BAND[1])
