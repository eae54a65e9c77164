"""What a result of the experiment on unseen structures holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel
from icalgebra.records import Count
from icalgebra.results import PlainEstimate


class Config(AboutModel, total=False):
    n_tables: Count
    cancel_facts: list[Count]


class Details(TypedDict, total=False):
    structures: dict[str, list[str]]
    by_table: dict[str, dict[str, PlainEstimate]]
