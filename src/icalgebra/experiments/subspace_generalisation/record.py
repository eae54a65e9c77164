"""What a result about subspaces in other sequences holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel
from icalgebra.records import Count


class Config(AboutModel, total=False):
    size: Count
    steps: Count
    n_seeds: Count
    natural_facts: Count
    n_wide: Count
    learning_rate: float
    published_rate: float


class Details(TypedDict, total=False):
    left_out: dict[str, str]
    d_model: Count
