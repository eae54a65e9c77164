"""What a result of attribution on minimal pairs holds."""

from __future__ import annotations

from typing import TypedDict

from icalgebra.experiments.shared.record_types import AboutModel, Head, MaybeTable
from icalgebra.records import Count, Numbers, Table


class Config(AboutModel, total=False):
    n_pairs: Count
    n_knockout: Count
    knockout_facts: Count


class Map(TypedDict, total=False):
    """Effects by component and token; null where a component does not exist at a token."""

    rows: list[str]
    tokens: list[str]
    probability: MaybeTable
    logit_difference: MaybeTable


class Member(TypedDict, total=False):
    component: str
    token: str
    name: str
    layer: int
    reached: float
    alone: float
    given_rest: float


class Place(TypedDict, total=False):
    component: str
    token: str
    name: str
    layer: int


class Edge(TypedDict, total=False):
    sender: Place
    receiver: Place
    input: str
    share: float


class Mechanism(TypedDict, total=False):
    maps: dict[str, Map]
    residual: Map
    set: list[Member]
    edges: list[Edge]


class CopyingHead(TypedDict, total=False):
    head: Head
    control: str | None
    others: dict[str, str]
    needed: dict[str, list[str]]
    decodes_and_looks: Table


class Blocked(TypedDict, total=False):
    layers: Numbers
    heads: Table


class Knockout(TypedDict, total=False):
    slot: str
    tables: dict[str, Blocked]


class Details(TypedDict, total=False):
    mechanisms: dict[str, Mechanism]
    left_out: dict[str, str]
    copying_head: CopyingHead
    knockout: Knockout
