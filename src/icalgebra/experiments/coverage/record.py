"""What a result of coverage holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.language.world import PlainWorld
from icalgebra.records import Count


class Config(TypedDict, total=False):
    n: Count
    n_facts: Count
    settings: dict[str, PlainWorld]
