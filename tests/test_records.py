"""The check of plain values, and messages: each one line, short, with source and field."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import message_of
from icalgebra.errors import LONGEST, InputError, RunError, one_line, shortened, unknown
from icalgebra.records import FileName, Table, argument, at_least, read


@dataclass(frozen=True)
class Inner:
    count: Annotated[int, at_least(0)]
    share: float = 0.5


class Outer(TypedDict):
    kind: Literal["a", "b"]
    inner: dict[str, Inner]
    points: list[tuple[float, float]]
    table: NotRequired[Table]
    name: NotRequired[FileName | None]


GOOD: dict[str, Any] = {"kind": "a", "inner": {"x": {"count": 3}}, "points": [[0, 1.5]], "later": object()}


def test_good_values_come_back_as_their_types() -> None:
    found = read(Outer, GOOD, "f.json")
    assert found["inner"] == {"x": Inner(3, 0.5)}
    assert found["points"] == [(0.0, 1.5)]
    assert found["later"] is GOOD["later"]  # type: ignore[typeddict-item]  # of a later version


@pytest.mark.parametrize(
    "change, told",
    [
        ({"kind": "c"}, "kind must be one of a, b, not 'c'"),
        ({"kind": True}, "kind must be one of a, b, not True"),
        ({"inner": {"x": {"count": -1}}}, "inner.x.count must be at least 0, not -1"),
        ({"inner": {"x": {"count": True}}}, "inner.x.count must be a whole number, not True"),
        ({"inner": {"x": {}}}, "inner.x.count is missing"),
        ({"inner": {"x": {"count": 1, "more": 2}}}, "inner.x has an unknown field 'more'"),
        ({"inner": {"x": {"count": 1, "share": float("nan")}}}, "inner.x.share must be a finite number, not nan"),
        ({"inner": {"x": {"count": 1, "share": 10**400}}}, "inner.x.share must be a finite number"),
        ({"points": [[1, 2], [3]]}, "points[1] must be a list of 2, not [3]"),
        ({"points": [[1, None]]}, "points[0][1] must be a number, not None"),
        ({"table": [[1], [1, 2]]}, "table must have rows of equal length"),
        ({"table": []}, "table must not be empty"),
        ({"name": "a/b"}, "name must be the name of a file or folder, not 'a/b'"),
    ],
)
def test_a_wrong_value_is_told_with_source_and_field(change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        read(Outer, {**GOOD, **change}, "f.json")
    assert message_of(caught.value).startswith("f.json: ")
    assert told in str(caught.value)


def test_numbers_of_numpy_are_numbers() -> None:
    assert argument(int, np.int64(3), "n") == 3
    assert argument(float, np.float32(0.5), "p") == 0.5
    for wrong in (3.0, "3", None, np.array([3])):
        with pytest.raises(InputError, match="n must be a whole number"):
            argument(int, wrong, "n")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON)
def test_any_value_is_taken_or_refused(value: Any) -> None:
    for kind in (Outer, Inner, dict[str, Table], list[FileName], int | str | None):
        with suppress(InputError):
            read(kind, value, "f.json")


@given(st.text(st.characters(), max_size=3000))  # lone surrogates and control characters too
def test_messages_are_one_short_printable_line(text: str) -> None:
    for error in (InputError(text), RunError(text), unknown("thing", text, ["one", "two" * 100])):
        line = str(error)
        assert len(line) <= LONGEST
        assert line.isprintable()
        line.encode()
    assert one_line(one_line(text)) == one_line(text)


def test_values_are_shown_short_however_large() -> None:
    deep: list[Any] = []
    for _ in range(sys.getrecursionlimit()):
        deep = [deep]
    for value in (deep, 10**5000, "x" * 10**6, dict.fromkeys(range(1000), deep), np.zeros(10**6)):
        assert len(shortened(value)) <= 60
