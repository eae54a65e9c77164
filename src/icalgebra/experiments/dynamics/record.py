"""What a result of the phases of training holds."""

from __future__ import annotations

from typing import Annotated, TypedDict

from icalgebra.experiments.shared.record_types import Head, Points, Training
from icalgebra.records import Count, Numbers, not_empty
from icalgebra.results import PlainCurve


class Config(TypedDict, total=False):
    n: Count
    n_facts: Count
    training: Training
    seeds: list[int]


class Role(TypedDict, total=False):
    head: Head
    own: PlainCurve
    best: PlainCurve
    heads: list[Head]


class Run(TypedDict, total=False):
    config: Training
    steps: Annotated[list[Count], not_empty]
    values: dict[str, Numbers]
    loss: Points
    roles: dict[str, Role]


class Onset(TypedDict, total=False):
    step: float | None
    low: float | None
    high: float | None


class Pair(TypedDict, total=False):
    earlier: str
    later: str
    runs: list[int]


class Details(TypedDict, total=False):
    runs: Annotated[list[Run], not_empty]
    onsets: list[dict[str, Onset]]
    pairs: list[Pair]
