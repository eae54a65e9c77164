"""What a result of one training run holds."""

from __future__ import annotations

from typing import Annotated, TypedDict

from icalgebra.experiments.shared.record_types import SweepWorld, Training
from icalgebra.records import Count, Numbers, not_empty


class Config(TypedDict, total=False):
    n: Count
    training: Training
    world: SweepWorld


class Details(TypedDict, total=False):
    steps: Annotated[list[Count], not_empty]
    tokens: list[Count]
    flops: Numbers
    seconds: Numbers
    all_seconds: Numbers
