"""Values that are no samples: a computed number, or a predicate for claims that say yes."""

from __future__ import annotations

from icalgebra.statistics import Estimate


def exactly(value: float, n: int) -> Estimate:
    """A number without a spread of its own, from n observations."""
    return Estimate(value, value, value, n)


def holds(condition: bool, n: int) -> Estimate:
    """A yes or no as 1 or 0, with the number of observations it was read from."""
    return exactly(float(condition), n)
