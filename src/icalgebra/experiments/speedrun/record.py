"""What a result of a speedrun holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import Training
from icalgebra.records import Count


class Config(TypedDict, total=False):
    target: float
    n: Count
    training: Training


class Accuracy(TypedDict, total=False):
    value: float
    low: float
    high: float
    n: Count


class Run(TypedDict, total=False):
    seed: int
    passed: bool
    accuracy: Accuracy
    steps: Count
    tokens: Count
    training_seconds: float
    seconds_in_all: float
    flops_a_second: float
    share_of_chip: float | None
    quality: dict[str, Accuracy]


class Details(TypedDict, total=False):
    device: str
    transcribed: str
    warm_up_seconds: float | None
    seconds_to_first_step: float
    runs: list[Run]
