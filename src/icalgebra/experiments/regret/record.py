"""What a result about regret holds."""

from __future__ import annotations

from icalgebra.experiments.shared.record_types import AboutModel
from icalgebra.records import Count


class Config(AboutModel, total=False):
    few: Count
    once_share: float
