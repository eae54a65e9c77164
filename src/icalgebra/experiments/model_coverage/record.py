"""What a result of the comparison of model, mechanisms and ceiling holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Sequence

Config = AboutModel


class Example(TypedDict, total=False):
    text: Sequence
    answer: str
    forced_by: list[str]
    structures: list[str]


class Details(TypedDict, total=False):
    examples: list[Example]
