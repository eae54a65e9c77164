"""What the section on reasoning says: queries by rung, how deep the model chains, and how much of it is guessing."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import NotMeasured, Number, Shown, Values
from icalgebra.language.vocabulary import MECHANISMS

RUNGS = ("chain", "latin", "associative", "split", "catalogue")
WHAT = {
    "chain": "the mechanisms in sound forms, applied to their own results",
    "latin": "every row and column holds each member once",
    "associative": "(ab)c = a(bc) with any part unknown, also to exclude answers",
    "split": "assume a possible answer and derive a contradiction",
    "catalogue": "which groups there are",
}
DEPTHS = ("1", "2", "3", "4", "5")
NAMES = {"1": "1 step", "2": "2 steps", "3": "3 steps", "4": "4 steps", "5": "5 steps and more"}
MOSTLY = 0.5  # a depth is mastered if more than half of its queries are reasoned
SOME = 0.0  # and reached at all if more are right than guesses would be
FEWEST = 20  # queries, below which a depth is not judged


@dataclass(frozen=True)
class Row:
    """One rung or depth: share of queries (rungs only), accuracy, floor and share reasoned."""

    name: str
    what: str
    share: Shown
    accuracy: Shown
    floor: Shown
    reasoned: Shown


@dataclass(frozen=True)
class Proofs:
    rung: str
    premises: Number
    steps: Number
    depth: Number


@dataclass(frozen=True)
class Example:
    rung: str
    text: str
    answer: str
    structures: list[str]
    proof: list[str]


@dataclass(frozen=True)
class OfKind:
    """One kind of sequence."""

    name: str
    five: Number
    five_accuracy: Shown
    guess: Number
    rungs: tuple[Row, ...]
    depths: tuple[Row, ...]
    accuracy: Number  # on entailed queries beyond the five
    floor: Number
    reasoned: Number
    mastered: str  # the greatest depth at which it decides most queries, in words; empty if there is none
    reached: str  # the greatest at which it does better than guessing, if that is greater


@dataclass(frozen=True)
class Reading:
    kinds: tuple[OfKind, ...]
    n_facts: int
    rungs: dict[str, str]  # what each uses, by name
    mostly_deduction_from: int | None  # facts of context, on hold-out sequences
    some_mastered: bool  # some depth is mastered on some kind of sequences
    proofs: tuple[Proofs, ...]
    examples: tuple[Example, ...]


def read(values: Values) -> Reading:
    kinds = (_of_kind(values, "holdout", "hold-out"), _of_kind(values, "train", "training"))
    return Reading(
        kinds=kinds,
        n_facts=values.config["n_facts"] - 1,
        rungs=WHAT,
        mostly_deduction_from=mostly_deduction_from(values),
        some_mastered=any(kind.mastered for kind in kinds),
        proofs=tuple(
            Proofs(rung, *(values.number(f"proof.{rung}.{key}", "") for key in ("premises", "steps", "depth")))
            for rung in RUNGS
            if f"proof.{rung}.premises" in values
        ),
        examples=tuple(Example(**example) for example in values.detail("examples")),
    )


def mostly_deduction_from(values: Values) -> int | None:
    """The context size from which on deduction is most of what lies between mechanisms and ceiling; hold-out."""
    ceiling = values.curve("holdout.ceiling")
    solved, deduced = (
        [sum(parts) for parts in zip(*(values.curve(f"holdout.{name}").y for name in names))]
        for names in (MECHANISMS, RUNGS)
    )
    mostly = [mine > MOSTLY * (best - known) for mine, best, known in zip(deduced, ceiling.y, solved)]
    return next((round(x) for place, x in enumerate(ceiling.x) if all(mostly[place:])), None)


def _of_kind(values: Values, kind: str, name: str) -> OfKind:
    depths = tuple(
        _row(values, f"{kind}.depth.{depth}", NAMES[depth], "")
        for depth in DEPTHS
        if f"{kind}.depth.{depth}.accuracy" in values
    )
    mastered, reached = deepest(depths, MOSTLY), deepest(depths, SOME)
    return OfKind(
        name=name,
        five=values.number(f"{kind}.five.share"),
        five_accuracy=values.optional(f"{kind}.five.accuracy"),
        guess=values.number(f"{kind}.guess.share"),
        rungs=tuple(_row(values, f"{kind}.{rung}", rung, WHAT[rung]) for rung in RUNGS),
        depths=depths,
        accuracy=values.number(f"{kind}.beyond.accuracy"),
        floor=values.number(f"{kind}.beyond.floor"),
        reasoned=values.number(f"{kind}.beyond.reasoned"),
        mastered=mastered,
        reached="" if reached == mastered else reached,
    )


def _row(values: Values, prefix: str, name: str, what: str) -> Row:
    share = values.optional(f"{prefix}.share") if what else values.optional(f"{prefix}.accuracy")
    keys = [f"{prefix}.{key}" for key in ("accuracy", "floor", "reasoned")]
    parts = (values.if_there(key) or NotMeasured() for key in keys)  # a rung may have no queries
    return Row(name, what, share, *parts)


def deepest(depths: tuple[Row, ...], least: float) -> str:
    """The greatest depth up to which the share reasoned is significantly above a level; empty if not even the first.

    Depths with too few queries are passed over.
    """
    found = ""
    for row in depths:
        if not isinstance(row.reasoned, Number) or row.reasoned.n < FEWEST:
            continue
        if row.reasoned.low <= least:
            break
        found = row.name
    return found
