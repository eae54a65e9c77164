"""How a measured number reaches a sentence: through a Reading. Templates contain no numbers and no arithmetic.

The reading.py of an experiment has a frozen dataclass Reading, whose fields are what its section prints, and
read(values) -> Reading. Thresholds and comparisons are there and have names.

    values.number("aie.copy.first", "")     a value of the result; the section cannot be written without it
    values.optional("copy.slot.answer")     one that models of other worlds or lengths may lack: 'not measured'
    values.detail("effects", "copy")        an entry of the result's details
    stated("K1.copy_best")                  the paper's number in a claim

Values records missing keys. A key that no result has is a mistake in reading.py, and the page reports it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from icalgebra.experiments import claim
from icalgebra.results import Curve, NotMeasuredError, Result
from icalgebra.statistics import Estimate

IN_HUNDREDTHS = ("%", "points")  # stored as fractions; differences between shares are points
DIGITS = {"%": 1, "points": 1, "steps": 0, "nats": 3, "effect": 3}
ABSENT = Markup('<em class="absent">not measured</em>')


@dataclass(frozen=True)
class Number:
    """A measured value as the page prints it; the estimate keeps the result's own unit (shares are fractions)."""

    estimate: Estimate
    unit: str = "%"

    @staticmethod
    def exact(value: float, unit: str = "%") -> Number:
        """A number without an interval, as in a table."""
        return Number(Estimate(value, math.nan, math.nan, 1), unit)

    def __html__(self) -> str:
        """With its interval: '68.1 % [67.6, 68.5]'."""
        return Markup(written(self._in_unit, self.unit))

    @property
    def plain(self) -> Markup:
        """Without it."""
        return Markup(written(self._in_unit, self.unit, interval=False))

    @property
    def _in_unit(self) -> Estimate:
        return self.estimate.scaled(100) if self.unit in IN_HUNDREDTHS else self.estimate

    @property
    def value(self) -> float:
        return self.estimate.value

    @property
    def low(self) -> float:
        return self.estimate.low

    @property
    def high(self) -> float:
        return self.estimate.high

    @property
    def n(self) -> int:
        return self.estimate.n


@dataclass(frozen=True)
class NotMeasured:
    """Placeholder for a missing number; false in a condition."""

    def __html__(self) -> str:
        return ABSENT

    @property
    def plain(self) -> Markup:
        return ABSENT

    def __bool__(self) -> bool:
        return False


Shown = Number | NotMeasured


@dataclass(frozen=True)
class Stated:
    """A number from the paper, with its unit."""

    value: float
    unit: str = ""

    def __html__(self) -> str:
        unit = f"\N{NO-BREAK SPACE}{self.unit}" if self.unit in IN_HUNDREDTHS else ""
        text = f"{self.value:,.0f}".replace(",", "\N{NO-BREAK SPACE}") if self.value >= 1000 else f"{self.value:g}"
        return Markup(text.removeprefix("0" if 0 < self.value < 1 else "") + unit)


def stated(claim_id: str) -> Stated:
    """The number that a claim quotes from the paper."""
    found = claim(claim_id)
    return Stated(found.number, found.unit)


class Values:
    """Access to a result for readings."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self.missing: list[str] = []  # keys that the reading needs and that are not there
        self.absent: list[str] = []  # keys that a result may lack, and this one does

    @property
    def config(self) -> dict[str, Any]:
        return self.result.config

    def __contains__(self, key: str) -> bool:
        return key in self.result.values

    def number(self, key: str, unit: str = "%") -> Number:
        if key not in self.result.values:
            self.missing.append(key)
            raise NotMeasuredError(key)
        return Number(self.result.values[key], unit)

    def optional(self, key: str, unit: str = "%") -> Shown:
        if key not in self.result.values:
            self.absent.append(key)
            return NotMeasured()
        return Number(self.result.values[key], unit)

    def numbers(self, pattern: str, names: Iterable[object], unit: str = "%") -> dict[str, Number]:
        """number() for every name in place of the pattern's {}: numbers("at.{}", (20, 50)) has '20' and '50'."""
        return {str(name): self.number(pattern.format(name), unit) for name in names}

    def optionals(self, pattern: str, names: Iterable[object], unit: str = "%") -> dict[str, Shown]:
        return {str(name): self.optional(pattern.format(name), unit) for name in names}

    def detail(self, *path: str) -> Any:
        """result.details[path[0]][path[1]]…"""
        found: Any = self.result.details
        for key in path:
            if not isinstance(found, dict) or key not in found:
                self.missing.append(f"details.{'.'.join(path)}")
                raise NotMeasuredError(".".join(path))
            found = found[key]
        return found

    def curve(self, name: str) -> Curve:
        if name not in self.result.curves:
            self.missing.append(f"curves.{name}")
            raise NotMeasuredError(name)
        return self.result.curves[name]


def names_held(result: Result) -> set[str]:
    """All keys that Values finds in a result."""
    held = {*result.values, *(f"curves.{name}" for name in result.curves)}
    places: list[tuple[str, Any]] = [("details", result.details)]
    while places:
        name, found = places.pop()
        held.add(name)
        places += [(f"{name}.{key}", value) for key, value in found.items()] if isinstance(found, dict) else []
    return held


def written(estimate: Estimate, unit: str = "", interval: bool = True) -> str:
    """'68.1 % [67.6, 68.5]'; one observation has no interval."""
    digits = DIGITS.get(unit, 2)
    value, low, high = (_rounded(x, digits) for x in (estimate.value, estimate.low, estimate.high))
    bounds = f' <span class="interval">[{low}, {high}]</span>'
    name = f"\N{NO-BREAK SPACE}{unit}" if unit in IN_HUNDREDTHS else ""
    return value + name + (bounds if interval and not math.isnan(estimate.low + estimate.high) else "")


def _rounded(value: float, digits: int) -> str:
    """Without a sign on what rounds to zero."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text
