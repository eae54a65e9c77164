"""Onsets: a known change is recovered, a flat curve has none, and an order needs evidence. Plateaus: their length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icalgebra.errors import InputError
from icalgebra.experiments.shared.emergence import (
    SKILLS,
    STAGES,
    Onset,
    agreement,
    axis_weights,
    change_points,
    later_minimum,
    level_between,
    longest_plateau,
    mean_onset,
    mean_over_runs,
    onset,
    precedence,
    published_pairs,
    resampled_means,
    resampled_shares,
)
from icalgebra.train.config import log_spaced

STEPS = np.array(log_spaced(3000, 64))


def rising(at: float, low: float = 0.1, high: float = 0.9, slope: float = 8.0) -> np.ndarray:
    """A sigmoid on the log axis, half-way at step `at`."""
    return low + (high - low) / (1 + np.exp(-slope * np.log(STEPS / at)))


def found(curve: np.ndarray, n: int = 256, baseline: float = 0.0, seed: int = 0) -> Onset:
    return onset(curve.tolist(), resampled_shares(curve.tolist(), n, seed), STEPS.tolist(), baseline)


def brute_force(curve: np.ndarray, steps: np.ndarray) -> int:
    """The split with the least weighted squared error, tried one by one."""
    weight, errors = axis_weights(steps), {}
    for i in range(1, len(steps)):
        parts = [(curve[:i], weight[:i]), (curve[i:], weight[i:])]
        levels = [np.average(values, weights=w) for values, w in parts]
        if levels[1] > levels[0]:
            errors[i] = sum((w * (values - level) ** 2).sum() for (values, w), level in zip(parts, levels))
    return min(errors, key=lambda i: errors[i])


@given(st.lists(st.floats(0, 1), min_size=4, max_size=12), st.integers(0, 9))
def test_the_fit_is_the_one_with_the_least_error(shape: list[float], seed: int) -> None:
    curve = np.array([0.0, *shape, 1.0])
    steps = np.sort(np.random.default_rng(seed).choice(np.arange(1, 500), len(curve), replace=False))
    index = int(change_points(curve, steps))
    best = brute_force(curve, steps)
    rise = np.average(curve[best:], weights=axis_weights(steps)[best:]) - np.average(
        curve[:best], weights=axis_weights(steps)[:best]
    )
    assert index == best or rise < 0.1 + 1e-9 or np.isclose(_error(curve, steps, index), _error(curve, steps, best))


def _error(curve: np.ndarray, steps: np.ndarray, i: int) -> float:
    weight = axis_weights(steps)
    parts = [(curve[:i], weight[:i]), (curve[i:], weight[i:])]
    return sum(float((w * (v - np.average(v, weights=w)) ** 2).sum()) for v, w in parts if len(v))


@pytest.mark.parametrize("at", [12, 60, 400, 1500])
def test_a_sharp_change_is_found_where_it_is(at: int) -> None:
    index = int(np.searchsorted(STEPS, at))
    known = found(np.where(at <= STEPS, 0.95, 0.05))
    assert known.index == index
    estimate = mean_onset([known])
    assert estimate is not None
    assert (round(estimate.low), round(estimate.high)) == (STEPS[index - 1], STEPS[index])
    assert estimate.low < estimate.value < estimate.high


@pytest.mark.parametrize("at", [60, 400])
@pytest.mark.parametrize("seed", range(5))
def test_the_interval_of_a_noisy_gradual_rise_holds_its_middle(at: int, seed: int) -> None:
    noisy = np.random.default_rng(seed).binomial(256, rising(at)) / 256
    estimate = mean_onset([found(noisy, seed=seed)])
    assert estimate is not None
    assert estimate.low * 0.85 <= at <= estimate.high * 1.15
    assert estimate.high / estimate.low < 1.6


def test_a_flat_curve_has_no_onset() -> None:
    for level, index in ((0.1, len(STEPS)), (0.5, len(STEPS)), (1.0, 0)):
        noisy = np.random.default_rng(1).binomial(256, level, len(STEPS)) / 256
        assert found(noisy).index == index
    falling = rising(100)[::-1]
    assert not found(np.minimum(falling, 0.5)).appeared
    assert mean_onset([found(np.full(len(STEPS), 0.1))]) is None


def test_identity_counts_only_above_half() -> None:
    plateau = np.where(STEPS < 50, 0.05, np.where(STEPS < 600, 0.5, 0.98))
    assert STEPS[found(plateau, baseline=0.5).index] >= 600
    assert STEPS[found(plateau).index - 1] < 50
    assert not found(np.minimum(plateau, 0.5), baseline=0.5).appeared


def test_what_is_lost_again_is_not_an_onset() -> None:
    hump = np.where((STEPS >= 10) & (STEPS < 60), 0.6, 0.1)
    assert not found(hump).appeared
    assert abs(found(np.maximum(hump, rising(500))).index - found(rising(500)).index) <= 1
    assert later_minimum(np.array([0.2, 0.9, 0.3, 0.5])).tolist() == [0.2, 0.3, 0.3, 0.5]


def test_too_few_evaluations_are_refused() -> None:
    with pytest.raises(InputError, match="at least 3 evaluations"):
        onset([0.0, 1.0], np.zeros((5, 2)), [1, 2])


def test_an_order_must_be_significant() -> None:
    early, late, close = (found(rising(at), seed=i) for i, at in enumerate((40, 400, 420)))
    assert (precedence(early, late), precedence(late, early)) == (1, -1)
    assert precedence(late, close) == 0
    never = found(np.full(len(STEPS), 0.1), seed=7)
    assert precedence(late, never) == 1
    assert precedence(never, never) == 0


def test_agreement_is_one_for_the_order_and_minus_one_for_its_reverse() -> None:
    onsets = {name: found(rising(at), seed=i) for i, (name, at) in enumerate({"a": 20, "b": 100, "c": 500}.items())}
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    own, drawn = agreement(onsets, pairs)
    assert own == 1
    assert drawn.mean() == 1
    assert agreement(onsets, [(b, a) for a, b in pairs])[0] == -1
    assert agreement(onsets, [("a", "a")])[0] == 0


def test_runs_that_differ_widen_the_interval() -> None:
    alike = mean_onset([found(rising(200), seed=i) for i in range(3)])
    apart = mean_onset([found(rising(at), seed=at) for at in (50, 200, 800)])
    assert alike is not None
    assert apart is not None
    assert apart.n == 3
    assert apart.high / apart.low > 2 * alike.high / alike.low
    assert mean_over_runs([1.0, 3.0], np.array([[1.0] * 50, [3.0] * 50])).value == 2.0


def test_resampled_curves_have_the_spread_of_their_n() -> None:
    shares = resampled_shares([0.5, 1.0], 100, seed=0)
    assert shares.std(axis=0) == pytest.approx([0.05, 0.0], abs=0.005)
    means = resampled_means([1.0, 2.0], [0.1, 0.0], seed=0)
    assert means.mean(axis=0) == pytest.approx([1.0, 2.0], abs=0.02)
    assert means.std(axis=0) == pytest.approx([0.1, 0.0], abs=0.01)


def test_a_plateau_is_the_longest_stretch_inside_the_band() -> None:
    steps = np.array([1, 2, 4, 8, 16, 32, 64])
    curves = np.array([[0, 0.5, 0.5, 0.9, 0.45, 0.5, 0.55], [0, 0.1, 0.5, 0.9, 1, 1, 1]])
    assert np.exp(longest_plateau(curves, steps)) == pytest.approx([4, 1])
    level, inside = level_between(curves, np.array([1, 5]), np.array([3, 4]), steps)
    assert level == pytest.approx([0.5, 0.9])  # the second: only the point before the end
    assert inside == pytest.approx([1.0, 0.0])


def test_the_paper_orders_twenty_pairs() -> None:
    assert tuple(skill for stage in STAGES for skill in stage) == SKILLS
    pairs = published_pairs(SKILLS)
    assert len(pairs) == 20
    assert not {("identity", "cancel"), ("cancel", "identity")} & set(pairs)
    assert ("structural", "associate") in pairs
