"""How a measured number reaches a sentence: through a Reading. Templates contain no numbers and no arithmetic.

The reading.py of an experiment has a frozen dataclass Reading, whose fields are what its section prints, and
read(values) -> Reading. Thresholds and comparisons are there and have names.

    values.number("aie.copy.first", "")     a value of the result; the section cannot be written without it
    values.optional("copy.slot.answer")     one that models of other worlds or lengths may lack: 'not measured'
    values.if_there("onset.copy")           one that a result may lack for a reason of its own: None
    values.detail("effects", "copy")        an entry of the result's details
    stated("K1.copy_best")                  the paper's number in a claim

Values records missing keys. A key that no result has is a mistake in reading.py, and the page reports it.

A section is about all its models at once. Its template gets their readings as Models, and the first one's as r.

    models.say("effect.first")              the value of every model: '0.57 (small), 0.11 (fast)'; once where all agree
    models.where("reads_comma")             the names of the models of which this holds, none if it holds of none
    models.row("largest effect", "effect.first")    a row of a table with a column per model (models.header())
    models.brief("largest effect", "effect.first")  the same with the interval in the cell's title, for tables that are
                                            not folded (models.brief_header()); paper=… adds the published value
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from icalgebra.claims import IN_HUNDREDTHS, Claim
from icalgebra.errors import InputError
from icalgebra.experiments import claim
from icalgebra.results import Curve, NotMeasuredError, Result
from icalgebra.statistics import Estimate

DIGITS = {"%": 1, "points": 1, "steps": 0, "nats": 3, "effect": 3}
HOVER = Markup('<span class="hover">hover: 95 % interval</span><span class="no-hover">with 95 % intervals</span>')
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
        return Markup(written(self._in_unit, self.unit, with_interval=False))

    @property
    def bounds(self) -> Markup:
        """The interval alone: '[67.6, 68.5]'; empty where there is none."""
        return Markup(interval(self._in_unit, self.unit))

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


def clearly_more(one: Shown, other: Shown) -> bool:
    """By the intervals; what was not measured is not more."""
    return isinstance(one, Number) and isinstance(other, Number) and one.low > other.high


def widest(estimates: Iterable[Estimate]) -> Number:
    """The widest of these intervals, to one side."""
    return Number.exact(max(max(item.high - item.value, item.value - item.low) for item in estimates), "points")


@dataclass(frozen=True)
class Stated:
    """A number from the paper, with its unit."""

    value: float
    unit: str = ""

    def __html__(self) -> str:
        unit = f"\N{NO-BREAK SPACE}{self.unit}" if self.unit in IN_HUNDREDTHS else ""
        text = f"{self.value:,.0f}".replace(",", "\N{NO-BREAK SPACE}") if self.value >= 1000 else f"{self.value:g}"
        return Markup(with_minus(text.removeprefix("0" if 0 < self.value < 1 else "")) + unit)


def stated(claim_id: str) -> Stated:
    """The number that a claim quotes from the paper."""
    found = claim(claim_id)
    return Stated(found.number, found.unit)


def published_text(found: Claim) -> str:
    """As the paper states it, in words or as a number, with its unit."""
    text = found.published if isinstance(found.published, str) else with_minus(str(found.published))
    if not text[-1].isdigit():  # 'yes', or with a unit of its own
        return text
    return f"{text}\N{NO-BREAK SPACE}{found.unit}" if found.unit else text


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

    def if_there(self, key: str, unit: str = "%") -> Number | None:
        """One that a result may lack for a reason of its own, such as an event that never happened."""
        return self.number(key, unit) if key in self else None

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


@dataclass(frozen=True)
class OfModel:
    """One model's reading."""

    name: str
    r: Any


class Models(list[OfModel]):
    """The readings of all models that a section is about."""

    @property
    def several(self) -> bool:
        return len(self) > 1

    def say(self, path: str) -> Markup:
        """The value at this path in every reading, with the model's name where they differ; without absent ones."""
        found = [(item.name, shown) for item in self if (shown := _cell(item, path))]
        if len({shown for _, shown in found}) == 1 and len(found) == len(self):
            return found[0][1]
        return Markup(", ").join(Markup("{} (<code>{}</code>)").format(shown, name) for name, shown in found)

    def where(self, path: str, wanted: Any = True) -> Markup:
        """Names of the models whose value there is true, or is the one wanted; empty if there is none."""
        return listed([Markup("<code>{}</code>").format(name) for name in self._names(path, wanted)])

    def verb(self, path: str, one: str, many: str, wanted: Any = True) -> str:
        """The form of the verb that follows where(path, wanted)."""
        return many if len(self._names(path, wanted)) > 1 else one

    def _names(self, path: str, wanted: Any) -> list[str]:
        return [item.name for item in self if _agrees(_at(item, path), wanted)]

    def header(self, first: str = "") -> Markup:
        names = Markup("").join(Markup('<th class="n">{}</th>').format(item.name) for item in self)
        corner = Markup("<th>{}</th>").format(first) if first else Markup("<td></td>")
        return Markup("<thead><tr>{}{}</tr></thead>").format(corner, names)

    def brief_header(self, paper: bool = False) -> Markup:
        """The header over rows of brief()."""
        names = [item.name for item in self] + (["paper"] if paper else [])
        cells = Markup("").join(Markup('<th class="n">{}</th>').format(name) for name in names)
        return Markup("<thead><tr><th><small>{}</small></th>{}</tr></thead>").format(HOVER, cells)

    def brief(self, label: str, path: str, paper: Any = None) -> Markup:
        """A row with plain numbers; paper: the published value, '' in a row without one, None without such a column."""
        found = [_at(item, path) for item in self]
        cells = [self.cell(shown) for shown in found]
        if paper is not None:
            cells.append(_plain_cell(paper))
        return Markup('<tr><td class="label">{}</td>{}</tr>').format(label, Markup("").join(cells))

    @staticmethod
    def cell(found: Any) -> Markup:
        """A cell with the value alone; the title of a number's has the interval and n.

        The interval is also in the cell, for screens that nothing can hover over.
        """
        if not isinstance(found, Number):
            return _plain_cell(found)
        title = f"{Markup(escape(found)).striptags()}, n = {found.n}"
        bounds = Markup(' <small class="no-hover">{}</small>').format(found.bounds) if found.bounds else ""
        return Markup('<td class="n" title="{}">{}{}</td>').format(title, found.plain, bounds)

    def row(self, label: str, path: str) -> Markup:
        """A row of a table with a column per model."""
        cells = [Markup('<td class="n">{}</td>').format(_cell(item, path) or "–") for item in self]
        return Markup('<tr><td class="label">{}</td>{}</tr>').format(label, Markup("").join(cells))


def _plain_cell(found: Any) -> Markup:
    if isinstance(found, tuple | list):
        found = Markup(", ").join(found)
    shown = "–" if found is None or found == "" else found
    return Markup('<td class="n">{}</td>').format(getattr(shown, "plain", shown))


def listed(names: list[Any]) -> Markup:
    """'a', 'a and b', 'a, b and c'."""
    *others, last = [escape(name) for name in names] or [Markup("")]
    return Markup("{} and {}").format(Markup(", ").join(others), last) if others else last


def component_name(place: str) -> str:
    """'head 3.7' and 'the MLP of layer 3', which results call '3.7' and 'mlp 3'."""
    layer = place.removeprefix("mlp ")
    return f"head {place}" if layer == place else f"the MLP of layer {layer}"


def _at(item: OfModel, path: str) -> Any:
    """r.effect.first for 'effect.first'; None where a part on the way is None. A mistyped path is an error."""
    found = item.r
    for key in path.split("."):
        if found is None:
            return None
        try:
            found = found[key] if isinstance(found, dict) else getattr(found, key)
        except (KeyError, AttributeError) as error:
            raise InputError(f"a template asks for {path!r}, which the reading of {item.name} does not have") from error
    return found


def _agrees(found: Any, wanted: Any) -> bool:
    return bool(found) if wanted is True else found == wanted


def _cell(item: OfModel, path: str) -> Markup:
    found = _at(item, path)
    if isinstance(found, tuple | list):
        return Markup(", ").join(found)
    return Markup("") if found is None else escape(found)


def names_held(result: Result) -> set[str]:
    """All keys that Values finds in a result."""
    held = {*result.values, *(f"curves.{name}" for name in result.curves)}
    places: list[tuple[str, Any]] = [("details", result.details)]
    while places:
        name, found = places.pop()
        held.add(name)
        places += [(f"{name}.{key}", value) for key, value in found.items()] if isinstance(found, dict) else []
    return held


def written(estimate: Estimate, unit: str = "", with_interval: bool = True) -> str:
    """'68.1 % [67.6, 68.5]'; one observation has no interval."""
    name = f"\N{NO-BREAK SPACE}{unit}" if unit in IN_HUNDREDTHS else ""
    bounds = interval(estimate, unit) if with_interval else ""
    return _rounded(estimate.value, unit) + name + (f' <span class="interval">{bounds}</span>' if bounds else "")


def interval(estimate: Estimate, unit: str = "") -> str:
    """'[67.6, 68.5]', or nothing where there is none: a single observation's would be the number itself."""
    if math.isnan(estimate.low + estimate.high) or (estimate.n == 1 and estimate.low == estimate.high):
        return ""
    return f"[{_rounded(estimate.low, unit)}, {_rounded(estimate.high, unit)}]"


def with_minus(text: str) -> str:
    """A number with a true minus sign, which is as wide as a plus."""
    return text.replace("-", "\N{MINUS SIGN}")


def _rounded(value: float, unit: str) -> str:
    """Without a sign on what rounds to zero."""
    text = f"{value:.{DIGITS.get(unit, 2)}f}"
    return with_minus(text.removeprefix("-") if float(text) == 0 else text)
