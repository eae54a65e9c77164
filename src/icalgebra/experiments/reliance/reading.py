"""What the section on reliance says: the mechanism each answer rests on, and whether proofs' facts carry it."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import NotMeasured, Number, Shown, Values, widest
from icalgebra.language.vocabulary import MECHANISMS

KINDS = {"train": "training", "holdout": "hold-out"}
ROWS = (*MECHANISMS, "any", "none")
WORDS = {"any": "any of several", "none": "none of them"}


@dataclass(frozen=True)
class Row:
    """One mechanism: how often it has the answer, how often the answer rests on it, and that among the former."""

    name: str
    has: Shown
    used: Number
    used_if_has: Shown


@dataclass(frozen=True)
class OfKind:
    name: str
    rows: tuple[Row, ...]
    any: Number
    none: Number


@dataclass(frozen=True)
class OfProofs:
    """Queries with a proof: is the answer gone without its facts, and without as many others?"""

    beyond: bool  # no mechanism has the answer
    breaks: Number
    control: Number
    top: Number
    chance: Number
    fall: Number
    other_fall: Number
    rests: bool

    @property
    def name(self) -> str:
        return "a longer proof" if self.beyond else "a mechanism"


@dataclass(frozen=True)
class OfHead:
    """The head at '=' that answers resting on a mechanism miss most; special: answers that rest on others do not."""

    mechanism: str
    head: str
    fall: Number
    other: Number
    special: bool


@dataclass(frozen=True)
class Reading:
    heads: tuple[OfHead, ...]
    kinds: tuple[OfKind, ...]
    proofs: tuple[OfProofs, ...]
    widest: Number  # of the intervals of the figure's shares, to one side

    @property
    def needed(self) -> list[str]:
        """Proofs whose facts are clearly needed more than others."""
        return [proof.name for proof in self.proofs if proof.rests]

    @property
    def some_not_needed(self) -> bool:
        return len(self.needed) < len(self.proofs)

    @property
    def holdout_rests_less(self) -> bool:
        """Clearly more answers rest on none of the mechanisms than in training sequences."""
        none = {kind.name: kind.none for kind in self.kinds}
        both = KINDS["holdout"] in none and KINDS["train"] in none
        return both and none[KINDS["holdout"]].low > none[KINDS["train"]].high


def read(values: Values) -> Reading:
    return Reading(
        heads=tuple(_of_head(values, name, head) for name, head in values.detail("heads").items()),
        kinds=tuple(_of_kind(values, kind) for kind in KINDS if f"{kind}.all.used.none" in values),
        proofs=tuple(_of_proofs(values, name) for name in ("known", "beyond") if f"proof.{name}.breaks" in values),
        widest=_widest(values),
    )


def _of_kind(values: Values, kind: str) -> OfKind:
    rows = tuple(
        Row(
            name,
            values.optional(f"{kind}.all.has.{name}"),
            values.number(f"{kind}.all.used.{name}"),
            values.if_there(f"{kind}.all.of.{name}") or NotMeasured(),  # hold-out queries are never copied
        )
        for name in MECHANISMS
    )
    some, nothing = values.number(f"{kind}.all.used.any"), values.number(f"{kind}.all.used.none")
    return OfKind(KINDS[kind], rows, some, nothing)


def _widest(values: Values) -> Number:
    keys = [f"{kind}.{size}.used.{name}" for kind in KINDS for size in values.config["sizes"] for name in ROWS]
    return widest(values.number(key).estimate for key in keys if key in values)


def _of_head(values: Values, name: str, head: str) -> OfHead:
    fall, other = values.number(f"head.{name}.fall", ""), values.number(f"head.{name}.other", "")
    return OfHead(name, head, fall, other, special=fall.low > other.high)


def _of_proofs(values: Values, name: str) -> OfProofs:
    breaks, control = values.number(f"proof.{name}.breaks"), values.number(f"proof.{name}.control")
    return OfProofs(
        beyond=name == "beyond",
        breaks=breaks,
        control=control,
        top=values.number(f"proof.{name}.top"),
        chance=values.number(f"proof.{name}.chance"),
        fall=values.number(f"proof.{name}.fall", ""),
        other_fall=values.number(f"proof.{name}.other_fall", ""),
        rests=breaks.low > control.high,
    )
