"""What a result about the price holds; scripts/deep_search.py writes it after every evaluation."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from icalgebra.language.world import PlainWorld
from icalgebra.records import Count
from icalgebra.results import PlainEstimate


class Config(TypedDict, total=False):
    n: Count  # sequences per evaluation on the way
    n_last: Count  # and of the last one
    n_facts: Count
    seconds: float  # of training that each variant of the search is given,
    winner_seconds: float  # and that the winner is given
    world: PlainWorld


class Point(TypedDict, total=False):
    """One evaluation. share: of the ceiling's AUC, on the same sequences."""

    seconds: float
    step: Count
    share: PlainEstimate
    accuracy: dict[str, PlainEstimate]  # hold-out, by facts
    mechanisms: dict[str, PlainEstimate]  # associate/50: association at 50 facts


class Variant(TypedDict, total=False):
    """One recipe in one stage: trained for as long as all others, or, as the winner, for longer."""

    name: str
    stage: Literal["search", "winner"]
    why: str
    n_layers: Count
    n_loops: Count
    d_model: Count
    parameters: Count
    recipe: dict[str, Any]  # the fields of its training config that differ from the defaults
    milliseconds_per_step: float
    steps: Count
    tokens: Count
    done: bool
    failed: str  # why it did not end; empty if it did
    points: list[Point]


class Details(TypedDict, total=False):
    device: str
    ceiling: dict[str, PlainEstimate]  # by facts, on the sequences of the last evaluation
    variants: list[Variant]
