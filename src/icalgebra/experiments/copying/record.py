"""What a result of the copying experiment holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Example, Head
from icalgebra.records import Table

Config = AboutModel


class Details(TypedDict, total=False):
    head: Head
    effects: dict[str, Table]
    decode: dict[str, Table]
    examples: dict[str, Example]
    leading: dict[str, Head]
