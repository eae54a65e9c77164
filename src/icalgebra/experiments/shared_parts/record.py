"""What a result about shared parts holds."""

from __future__ import annotations

from typing import Annotated, TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Head
from icalgebra.records import Numbers, Table, not_empty

Config = AboutModel


class Closure(TypedDict, total=False):
    best: dict[str, Head]
    left: Table
    equals: Table


class Details(TypedDict, total=False):
    components: Annotated[list[str], not_empty]
    lost: dict[str, Numbers]
    chosen: dict[str, str]
    closure: Closure
