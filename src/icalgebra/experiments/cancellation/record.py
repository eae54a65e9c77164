"""What a result of the experiment on cancelling holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Head, Sequence
from icalgebra.records import Count, Numbers, Table


class Config(AboutModel, total=False):
    short_facts: Count


class Strip(TypedDict, total=False):
    attention: Table
    direct: Numbers


class ExampleSequence(TypedDict, total=False):
    text: Sequence
    strips: dict[str, Strip]


class Details(TypedDict, total=False):
    readers: dict[str, Head]
    answer_heads: dict[str, Head]
    demoters: dict[str, Head]
    tables: dict[str, Table]
    example: ExampleSequence
