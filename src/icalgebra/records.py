"""Plain values (JSON, TOML, arguments of a call) checked against types: the one way in which files are read.

    read(Estimate, {"value": 0.5, …}, "file.json")    a frozen dataclass of the checked values
    read(Details, {"head": "2.1"}, "file.json")       a TypedDict: the dictionary itself, checked
    argument(int, "3", "n")                           InputError: n must be a whole number, not '3'

Types are bool, int, float, str, None, Literal, list, tuple, dict, unions, dataclasses, TypedDicts, any other class, and
Annotated[type, rule], where a rule is a function that returns what is wrong with a value, or None. An int may stand for
a float and a list for a tuple; nothing else is converted. Numbers must be finite. A dataclass takes no unknown key; a
TypedDict keeps what it does not name, so that a file of a later version can be read. A wrong value raises InputError
with the source and the field: "file.json: details.effects.copy[2][0] must be a number, not 'x'".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from icalgebra.errors import InputError, shortened, unknown

T = TypeVar("T")
Check = Callable[[Any], Any]  # value -> the value as its type; raises WrongValue
WORDS: dict[Any, str] = {
    bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "null",
    list: "a list", tuple: "a list", dict: "an object of fields",
}  # fmt: skip


class WrongValue(Exception):
    """What is wrong, and where: the keys and places that lead to the value, innermost first."""

    def __init__(self, complaint: str) -> None:
        super().__init__(complaint)
        self.complaint = complaint
        self.place: list[str | int] = []

    def inside(self, key: str | int) -> WrongValue:
        self.place.append(key)
        return self

    @property
    def field(self) -> str:
        """details.effects.copy[2][0]"""
        steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in reversed(self.place))
        return "".join(steps).removeprefix(".")


def read(kind: type[T], value: Any, source: object) -> T:
    """The value as a `kind`; InputError names the source and the field that is wrong."""
    try:
        return checker(kind)(value)  # type: ignore[arg-type]  # types are hashable
    except WrongValue as error:
        raise InputError(f"{source}: {error.field or 'its content'} {error.complaint}") from None


def argument(kind: Any, value: Any, name: str) -> Any:
    """An argument of a call as a `kind`; InputError names it. Where a dataclass is expected, fields are not enough."""
    try:
        return (_instance(kind) if is_dataclass(kind) else checker(kind))(value)
    except WrongValue as error:
        raise InputError(f"{name}{error.field} {error.complaint}") from None


@cache
def checker(kind: Any) -> Check:
    """The check of a type, made once."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value: value
    if origin in (Required, NotRequired):
        return checker(parts[0])
    if origin is Annotated:
        return _with_rules(checker(parts[0]), parts[1:])
    if origin is Literal:
        return _literal(parts)
    if origin in (Union, UnionType):
        return _one_of(parts)
    if origin in (list, tuple):
        return _fixed(parts) if origin is tuple and parts[-1] is not Ellipsis else _many(origin, checker(parts[0]))
    if origin is dict:
        return _dictionary(checker(parts[1]))
    if is_typeddict(kind):
        return _typed_dictionary(kind)
    if is_dataclass(kind):
        return _record(kind)
    return {int: _whole, float: _number}.get(kind) or _instance(kind)


def _word(kind: Any) -> str:
    kind = get_origin(kind) or kind
    return "an object of fields" if is_typeddict(kind) else WORDS.get(kind) or f"a {getattr(kind, '__name__', kind)}"


def _must_be(kind: Any, value: Any) -> WrongValue:
    return WrongValue(f"must be {_word(kind)}, not {shortened(value)}")


def _instance(kind: Any) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise _must_be(kind, value)
        return value

    return check


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):  # numpy's integers are whole numbers too
        raise _must_be(int, value)
    return int(value)


def _number(value: Any) -> float:
    if type(value) is not float:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise _must_be(float, value)
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if not math.isfinite(value):
        raise WrongValue(f"must be a finite number, not {value}")
    return value


def _literal(options: tuple[Any, ...]) -> Check:
    def check(value: Any) -> Any:
        if not any(type(value) is type(option) and value == option for option in options):
            raise WrongValue(f"must be one of {', '.join(map(str, options))}, not {shortened(value)}")
        return value

    return check


def _one_of(options: tuple[Any, ...]) -> Check:
    present = [option for option in options if option is not NoneType]
    checks = [checker(option) for option in present]
    nullable = len(present) < len(options)

    def check(value: Any) -> Any:
        if value is None and nullable:
            return None
        complaints = []
        for one in checks:
            try:
                return one(value)
            except WrongValue as error:
                complaints.append(error)
        if len(complaints) == 1:
            raise complaints[0]
        deepest = max(complaints, key=lambda error: len(error.place))
        if deepest.place:  # the right kind, with something wrong inside
            raise deepest
        raise WrongValue(f"must be {' or '.join(map(_word, present))}, not {shortened(value)}")

    return check


def _inside(check_item: Check, item: Any, key: str | int) -> Any:
    """The item checked; a complaint says where it is."""
    try:
        return check_item(item)
    except WrongValue as error:
        raise error.inside(key) from None


def _many(kind: Any, check_item: Check) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise _must_be(kind, value)
        return kind([_inside(check_item, item, i) for i, item in enumerate(value)])

    return check


def _fixed(parts: tuple[Any, ...]) -> Check:
    checks = [checker(part) for part in parts]

    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(checks):
            raise WrongValue(f"must be a list of {len(checks)}, not {shortened(value)}")
        return tuple(_inside(one, item, i) for i, (one, item) in enumerate(zip(checks, value)))

    return check


def _dictionary(check_item: Check) -> Check:
    def check(value: Any) -> Any:
        return {key: _inside(check_item, item, key) for key, item in _object(value).items()}

    return check


def _typed_dictionary(kind: Any) -> Check:
    hints = get_type_hints(kind, include_extras=True)
    checks = {name: checker(hint) for name, hint in hints.items()}
    # Not __required_keys__, which does not see NotRequired in annotations that are kept as text.
    needed = {name: kind.__total__ if get_origin(hint) is not NotRequired else False for name, hint in hints.items()}

    def check(value: Any) -> Any:
        found = dict(_object(value))
        for name, one in checks.items():
            _take(found, name, one, needed[name])
        return found

    return check


def _record(kind: Any) -> Check:
    hints = get_type_hints(kind, include_extras=True)
    taken = [item for item in fields(kind) if item.init]
    checks = {item.name: checker(hints[item.name]) for item in taken}
    required = {item.name for item in taken if item.default is MISSING and item.default_factory is MISSING}

    def check(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        found = dict(_object(value))
        for name in found:
            if name not in checks:
                raise WrongValue(f"has an {unknown('field', name, checks)}")
        for name, one in checks.items():
            _take(found, name, one, name in required)
        try:
            return kind(**found)
        except InputError as error:  # fields that do not fit together
            raise WrongValue(f"is not valid: {error}") from None

    return check


def _take(found: dict[str, Any], name: str, check_item: Check, required: bool) -> None:
    """Check the field in its place."""
    if name not in found:
        if required:
            raise WrongValue("is missing").inside(name)
        return
    found[name] = _inside(check_item, found[name], name)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _must_be(dict, value)
    return value


def _with_rules(base: Check, rules: tuple[Callable[[Any], str | None], ...]) -> Check:
    def check(value: Any) -> Any:
        found = base(value)
        for rule in rules:
            complaint = rule(found)
            if complaint:
                raise WrongValue(complaint)
        return found

    return check


# --- rules ----------------------------------------------------------------------------------------------------------


def at_least(least: float) -> Callable[[Any], str | None]:
    return lambda value: None if value >= least else f"must be at least {least:g}, not {shortened(value)}"


def not_empty(value: Any) -> str | None:
    return None if value else "must not be empty"


def a_number(text: str) -> str | None:
    """Some results name what they measured by a number, such as p_mix."""
    try:
        float(text)
    except ValueError:
        return f"must be a number as text, not {shortened(text)}"
    return None


def rectangular(rows: Any) -> str | None:
    return None if len({len(row) for row in rows}) <= 1 else "must have rows of equal length"


def a_file_name(name: str) -> str | None:
    """Names of models, runs and results become parts of paths: they must not lead out of their folder."""
    if name in ("", ".", "..") or any(c in name for c in "/\\\0"):
        return f"must be the name of a file or folder, not {shortened(name)}"
    return None


Count = Annotated[int, at_least(0)]
Numbers = Annotated[list[float], not_empty]
Table = Annotated[list[list[float]], not_empty, rectangular]
FileName = Annotated[str, a_file_name]
