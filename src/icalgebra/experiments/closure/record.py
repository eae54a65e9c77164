"""What a result of the closure experiment holds."""

from __future__ import annotations

from typing import Annotated, TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Sequence
from icalgebra.records import Numbers, not_empty

Config = AboutModel


class Panel(TypedDict, total=False):
    left: Annotated[str, not_empty]
    members: str
    logits: Numbers


class ExampleSequence(TypedDict, total=False):
    text: Sequence
    published: bool
    panels: Annotated[list[Panel], not_empty]


class Details(TypedDict, total=False):
    example: ExampleSequence
