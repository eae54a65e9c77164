"""The results behind the findings: the best result about each model, and all training runs together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from markupsafe import Markup, escape

from icalgebra.errors import InputError
from icalgebra.experiments.shared.readings import NotMeasuredError, Number, Values
from icalgebra.report.store import SEED, Store
from icalgebra.results import display_name
from icalgebra.statistics import Estimate

T = TypeVar("T")


@dataclass(frozen=True)
class Span:
    """The smallest and the largest of several numbers: '28 to 34'."""

    least: Any
    most: Any

    def __html__(self) -> str:
        return Markup("{} to {}").format(escape(self.least), escape(self.most))


def span(numbers: Iterable[Number]) -> Span:
    """The least and the largest of measured numbers, without intervals."""
    found = sorted(numbers, key=lambda number: number.value)
    return Span(found[0].plain, found[-1].plain)


def named(model: str) -> Markup:
    return Markup("<code>{}</code>").format(model)


class Evidence:
    """evidence.of("ceiling").number("p7.holdout.ceiling"), and which models were measured."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, experiment: str, model: str = "data") -> Values:
        stored = self._store.best(experiment, model)
        if stored is None:
            raise InputError(
                f"the report needs {experiment} of {model}, which has no result; measure it with icalgebra reproduce"
            )
        return Values(stored.result)

    def has(self, experiment: str, model: str = "data") -> bool:
        return self._store.best(experiment, model) is not None

    def models(self, *experiments: str) -> list[str]:
        """Models of the paper's world that have results for all these experiments."""
        first, *others = [self._store.judged_models(experiment) for experiment in experiments]
        return [model for model in first if all(model in found for found in others)]

    def each(self, experiment: str, read: Callable[[str, Values], T]) -> list[T]:
        """read(name, values) for every model with this result, under the name that is shown; models without the values
        it reads are left out."""
        found = []
        for model in self.models(experiment):
            try:
                found.append(read(display_name(model), self.of(experiment, model)))
            except NotMeasuredError:
                continue
        return found

    def over_runs(self, experiment: str, name: str) -> list[Estimate]:
        """This value for every training run that has it, including runs without a section of their own."""
        found = [self.of(experiment, model).result.values for model in self._store.models(experiment)]
        return [values[name] for values in found if name in values]

    def n_recipes(self, experiment: str) -> int:
        """Of all its training runs; those of one recipe differ in the seed alone."""
        return len({model.partition(SEED)[0] for model in self._store.models(experiment)})
