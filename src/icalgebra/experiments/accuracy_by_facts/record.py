"""What a result of accuracy by number of facts holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel

Config = AboutModel


class Prevalence(TypedDict, total=False):
    alone: float
    present: float
    repeats_alone_at_200: float


class Details(TypedDict, total=False):
    falls: dict[str, tuple[int, int] | None]
    prevalence: dict[str, Prevalence]
