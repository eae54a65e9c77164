"""What a result of the probes holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel
from icalgebra.records import Count, Table


class Config(AboutModel, total=False):
    size: Count
    n_train: Count
    n_test: Count


class Tables(TypedDict, total=False):
    accuracy: Table
    unembedding: Table
    probes: Table


class Details(TypedDict, total=False):
    closure: Tables
    cancellation: Tables
    variables: str
    reserved: str | None
