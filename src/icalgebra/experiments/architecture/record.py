"""What a result of the sweep over layers, heads and width holds."""

from __future__ import annotations

from typing import Annotated, TypedDict

from icalgebra.experiments.shared.record_types import SweepRun, SweepWorld, Training
from icalgebra.records import Count, not_empty


class Config(TypedDict, total=False):
    recipes: Annotated[list[Training], not_empty]
    world: SweepWorld


class Setting(TypedDict, total=False):
    layers: Count
    heads: Count
    d_model: Count
    label: str
    published: dict[str, float]
    seeds: list[int]
    steps: list[Count]
    schedule: list[str]
    in_bf16: bool
    seconds: float


class Details(TypedDict, total=False):
    settings: Annotated[list[Setting], not_empty]
    runs: Annotated[list[SweepRun], not_empty]
    devices: list[str]
    one_recipe: bool
