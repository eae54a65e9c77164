"""What a result of the experiment on identities holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Head
from icalgebra.records import Table


class Config(AboutModel, total=False):
    raw_dose: float


class Scatter(TypedDict, total=False):
    points: Table
    identity: list[bool]
    structure: list[str]


class Heads(TypedDict, total=False):
    promotion: Table
    demotion: Table
    promoter: Head
    demoter: Head | None
    bars: dict[str, dict[str, float]]
    spread: dict[str, list[str]]


class Details(TypedDict, total=False):
    scatter: Scatter
    distance: float
    heads: Heads
    steered: dict[str, dict[str, float]]
