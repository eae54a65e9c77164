"""Types that several experiments' record.py share. No torch here: the report reads results, not models."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypedDict

from icalgebra.errors import shortened
from icalgebra.language.world import PlainWorld
from icalgebra.records import Count, Numbers, Table, at_least, not_empty
from icalgebra.results import PlainCurve


def a_head(name: str) -> str | None:
    return (
        None if re.fullmatch(r"[0-9]{1,3}\.[0-9]{1,3}", name) else f"must be a head such as 3.6, not {shortened(name)}"
    )


def facts(text: str) -> str | None:
    is_sequence = re.fullmatch(r"(,[A-Za-z]{2}=[A-Za-z])*,[A-Za-z]{2}=[A-Za-z?]?", text)
    return None if is_sequence else f"must be a sequence of facts such as ,ab=c,bc=d, not {shortened(text)}"


Head = Annotated[str, a_head]
Sequence = Annotated[str, facts]
MaybeTable = Annotated[list[list[float | None]], not_empty]
Points = list[tuple[float, float]]  # step and value


class SweepWorld(TypedDict, total=False):
    """The world of several runs: a list of values where they differ."""

    structures: list[Any]


class ModelWorld(SweepWorld, total=False):
    p_mix: float


class Training(PlainWorld, total=False):
    """The fields of a training config that pages read; a config has more."""

    n_layers: Count
    n_heads: Count
    d_model: Count
    n_facts: Annotated[int, at_least(1)]
    batch_size: Count
    steps: Count
    eval_n: Count
    optimiser: Literal["adamw", "muon"]
    schedule: Literal["constant", "linear", "cosine"]
    lr: float
    muon_lr: float
    float8: bool
    precision: str
    residual: str


class Example(TypedDict, total=False):
    """A sequence with what a head attends to and writes."""

    text: Sequence
    attention: Table
    direct: Numbers


class SweepRun(TypedDict, total=False):
    """One training run of a sweep."""

    n_layers: Count
    n_heads: Count
    d_model: Count
    p_mix: float
    seed: int
    recipe: Training
    steps_to: dict[str, Count | None]
    holdout: PlainCurve
    loss: Points
    seconds: float


class AboutModel(TypedDict, total=False):
    """The config of an experiment about a model: its sizes, and the model's world."""

    n: Count
    n_facts: Count
    facts: Annotated[list[Count], not_empty]
    world: ModelWorld
