"""Whether a skill rests half-way: how long its accuracy stays between .4 and .6, and where it waits before its rise."""

from __future__ import annotations

import numpy as np

from icalgebra.experiments.shared.emergence import weights

BAND = (0.4, 0.6)


def longest_plateau(curves: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The longest run of neighbouring points inside the band, as a length on the log axis; curves [n, points]."""
    start, longest = np.full(len(curves), np.nan), np.zeros(len(curves))
    for step, inside in zip(np.log(steps), inside_band(curves).T):
        start = np.where(inside, np.where(np.isnan(start), step, start), np.nan)
        longest = np.fmax(longest, step - start)
    return longest


def level_between(curves: np.ndarray, begin: np.ndarray, end: np.ndarray, steps: np.ndarray) -> list[np.ndarray]:
    """Mean of each curve over the log axis from point `begin` to before `end`, and the share of it inside the band.

    Where begin is no earlier than end, the one point before end.
    """
    places = np.arange(len(steps))
    last = np.maximum(end, 1)[:, None]
    first = np.minimum(begin[:, None], last - 1)
    weight = weights(steps) * ((places >= first) & (places < last))
    weight /= weight.sum(1, keepdims=True)
    return [(weight * curves).sum(1), (weight * inside_band(curves)).sum(1)]


def inside_band(curves: np.ndarray) -> np.ndarray:
    return (curves >= BAND[0]) & (curves <= BAND[1])
