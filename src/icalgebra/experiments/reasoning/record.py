"""What a result about the rungs of deduction holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Sequence
from icalgebra.records import Count


class Config(AboutModel, total=False):
    n_proofs: Count


class Proved(TypedDict):
    """A query that only this rung and those above it decide, with its proof in words."""

    rung: str
    text: Sequence
    answer: str
    structures: list[str]
    proof: list[str]


class Details(TypedDict, total=False):
    examples: list[Proved]
