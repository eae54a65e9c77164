"""What the section on regret says: how far the loss on answers is above the floor, and on which queries."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Shown, Values
from icalgebra.results import Curve

PARTS = {
    "solved": "entailed, and a mechanism has the answer",
    "beyond": "entailed, and no mechanism has the answer",
    "guess": "not entailed: several answers are possible",
}
IN_WORDS = {
    "solved": "queries that a mechanism answers",
    "beyond": "queries that are entailed and that no mechanism answers",
    "guess": "queries whose answer is not entailed",
}
MOST = 0.5  # of the regret, for "most" of it
CLEAR = 0.0  # the calibration's interval holds it where oracle and sampler agree
SIZES = (5, 10, 20, 30, 50, 100, 199)


@dataclass(frozen=True)
class Part:
    """One kind of query. per_query in nats."""

    what: str
    share: Number
    per_query: Shown
    of_regret: Number


@dataclass(frozen=True)
class Reading:
    regret: Number  # this and what follows in nats per answer, the mean over all context sizes
    loss: Number
    floor: Number
    greatest: Number
    greatest_at: int  # facts of context
    few: int
    few_share: Number  # of the regret, up to so many facts of context
    mostly: str  # the kind of query that most regret lies on, in words; empty if there is none
    parts: tuple[Part, ...]
    at: dict[str, Shown]
    other_rows: bool  # it was also trained on sequences of another law
    n: int
    calibration: Number
    calibrated: bool


def read(values: Values) -> Reading:
    curve = values.curve("regret")
    place = greatest(curve)
    few_share, calibration = values.number("few"), values.number("calibration", "nats")
    shares = {name: values.number(f"{name}.of_regret") for name in PARTS}
    return Reading(
        regret=values.number("regret", "nats"),
        loss=values.number("loss", "nats"),
        floor=values.number("floor", "nats"),
        greatest=Number.exact(curve.y[place], "nats"),
        greatest_at=round(curve.x[place]),
        few=values.config["few"],
        few_share=few_share,
        mostly=next((IN_WORDS[name] for name, share in shares.items() if share.low > MOST), ""),
        parts=tuple(_part(values, name, what) for name, what in PARTS.items()),
        at=values.optionals("at.{}", SIZES, "nats"),
        other_rows=values.config.get("once_share", 0) > 0,
        n=values.number("regret", "nats").n,
        calibration=calibration,
        calibrated=calibration.low <= CLEAR <= calibration.high,
    )


def _part(values: Values, name: str, what: str) -> Part:
    """A world may have no queries of a kind, which then have no regret per query."""
    per_query = values.optional(f"{name}.per_query", "nats")
    return Part(what, values.number(f"{name}.share"), per_query, values.number(f"{name}.of_regret"))


def greatest(curve: Curve) -> int:
    return max(range(len(curve.y)), key=lambda place: curve.y[place])
