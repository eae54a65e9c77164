"""Predicates as values: 1 or 0, for claims that say yes."""

from __future__ import annotations

from icalgebra.statistics import Estimate


def holds(condition: bool, n: int) -> Estimate:
    value = float(condition)
    return Estimate(value, value, value, n)
