"""What a result of the sweep over p_mix holds."""

from __future__ import annotations

from typing import Annotated, TypedDict

from icalgebra.experiments.shared.record_types import SweepRun, SweepWorld, Training
from icalgebra.records import Count, a_number, not_empty


class Config(TypedDict, total=False):
    n: Count
    recipes: Annotated[list[Training], not_empty]
    world: SweepWorld


class Details(TypedDict, total=False):
    measured: Annotated[list[Annotated[str, a_number]], not_empty]
    missing: list[str]
    never_90: list[str]
    devices: list[str]
    in_bf16: list[str]
    runs: Annotated[list[SweepRun], not_empty]
    one_recipe: bool
