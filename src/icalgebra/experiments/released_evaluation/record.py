"""What a result of the evaluation under the released laws holds."""

from __future__ import annotations

from typing import Annotated, TypedDict

from icalgebra.experiments.shared.record_types import AboutModel
from icalgebra.records import not_empty

Config = AboutModel


class Details(TypedDict, total=False):
    structures: Annotated[list[str], not_empty]
    laws: Annotated[list[str], not_empty]
    reserved: str | None
