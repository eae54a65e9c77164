"""How a measured number gets onto the page: always from a result, never typed in."""

from __future__ import annotations

import math
from collections.abc import Callable

from markupsafe import Markup

from icalgebra.errors import InputError
from icalgebra.report.store import Store
from icalgebra.results import Result
from icalgebra.statistics import Estimate

IN_HUNDREDTHS = ("%", "points")  # stored as fractions; differences between shares are points
ABSENT = Markup('<em class="absent">not measured</em>')


def number(estimate: Estimate, unit: str = "", interval: bool = True) -> str:
    """'68.1 % [67.6, 68.5]'; one observation has no interval."""
    digits = {"%": 1, "points": 1, "steps": 0, "nats": 3}.get(unit, 2)
    value, low, high = (_rounded(x, digits) for x in (estimate.value, estimate.low, estimate.high))
    bounds = f' <span class="interval">[{low}, {high}]</span>'
    written = f"\N{NO-BREAK SPACE}{unit}" if unit in IN_HUNDREDTHS else ""
    return value + written + (bounds if interval and not math.isnan(estimate.low + estimate.high) else "")


def _rounded(value: float, digits: int) -> str:
    """Without a sign on what rounds to nothing."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def shower(result: Result) -> Callable[..., Markup]:
    """In a section, show('p7.train.copy') writes a value of its result with the interval.

    A model of another world, or of shorter sequences, cannot be asked everything: what it lacks is called so.
    """

    def show(key: str, unit: str = "%", interval: bool = True) -> Markup:
        if key not in result.values:
            return ABSENT
        found = result.values[key]
        return Markup(number(found.scaled(100) if unit in IN_HUNDREDTHS else found, unit, interval))

    return show


class Measured:
    """The findings' view of the best evidence: measured('ceiling')('p7.holdout.ceiling'), and who was measured."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, experiment: str, model: str = "data") -> Callable[..., Markup]:
        return shower(self.result(experiment, model))

    def result(self, experiment: str, model: str = "data") -> Result:
        stored = self._store.best(experiment, model)
        if stored is None:
            raise InputError(f"the report asks for {experiment} of {model}, which has no result")
        return stored.result

    def has(self, experiment: str, model: str = "data") -> bool:
        return self._store.best(experiment, model) is not None

    def models(self, *experiments: str) -> list[str]:
        """Models of the paper's world that have results of all these experiments."""
        first, *others = [self._store.judged_models(experiment) for experiment in experiments]
        return [model for model in first if all(model in found for found in others)]

    def over_runs(self, experiment: str, *names: str) -> list[list[Estimate]]:
        """These values of every training run that has them, also of runs without a place of their own on the page."""
        found = [self.result(experiment, model).values for model in self._store.models(experiment)]
        return [[values[name] for name in names] for values in found if all(name in values for name in names)]
