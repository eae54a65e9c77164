"""How a measured number gets onto the page: always from a result, never typed in."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from icalgebra.errors import InputError
from icalgebra.report.store import OTHER_WORLDS, Store, place, stands_alone
from icalgebra.results import Result
from icalgebra.statistics import Estimate


def number(estimate: Estimate, unit: str = "", interval: bool = True) -> str:
    """'68.1 % [67.6, 68.5]'"""
    digits = {"%": 1, "steps": 0, "nats": 3}.get(unit, 2)
    value, low, high = (_rounded(x, digits) for x in (estimate.value, estimate.low, estimate.high))
    bounds = f' <span class="interval">[{low}, {high}]</span>'
    return value + ("\N{NO-BREAK SPACE}%" if unit == "%" else "") + (bounds if interval else "")


def _rounded(value: float, digits: int) -> str:
    """Without a sign on what rounds to nothing."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


ABSENT = Markup('<em class="absent">not measured</em>')


def shower(result: Result) -> Callable[..., Markup]:
    """In a section, show('p7.train.copy') writes a value of its result with the interval.

    A model of another world, or of shorter sequences, cannot be asked everything: what it lacks is called so.
    """

    def show(key: str, unit: str = "%", interval: bool = True) -> Markup:
        if key not in result.values:
            return ABSENT
        return Markup(number(result.values[key].scaled(100) if unit == "%" else result.values[key], unit, interval))

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
        found = [set(filter(stands_alone, self._store.models(experiment))) for experiment in experiments]
        return sorted(set.intersection(*found) - set(OTHER_WORLDS), key=place)
