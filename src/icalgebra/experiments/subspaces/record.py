"""What a result of the subspaces holds."""

from __future__ import annotations

from typing import Annotated, TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Head
from icalgebra.records import Count, Numbers, not_empty


class Config(AboutModel, total=False):
    size: Count
    sizes: Annotated[list[Count], not_empty]
    sites: str
    steps: Count
    n_seeds: Count
    n_sweep: Count
    steps_sweep: Count


class Details(TypedDict, total=False):
    sweep: dict[str, dict[str, dict[str, Numbers]]]  # set, component, layer: by size
    best_size: dict[str, Count]
    heads: dict[str, list[Head]]
    d_model: Count
