"""What a result about the facts that an answer rests on holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Head
from icalgebra.records import Count


class Config(AboutModel, total=False):
    sizes: list[Count]
    n_controls: Count


class Details(TypedDict, total=False):
    counts: dict[str, Count]
    heads: dict[str, Head]
