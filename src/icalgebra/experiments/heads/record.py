"""What a result of the roles of heads holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Head
from icalgebra.records import Table

Config = AboutModel


class Role(TypedDict, total=False):
    heads: list[Head]
    scores: Table
    low: Table
    high: Table


class Details(TypedDict, total=False):
    roles: dict[str, Role]
