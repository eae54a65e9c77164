"""What the section on copying says of one model, and by which thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from icalgebra.experiments.shared.readings import Number, Shown, Values

NO_COPYING_HEAD = 0.2  # an indirect effect below a fifth names no head
SHARED = 0.08  # published: for copy no other head has more
CLEAR_DECODING = 0.9  # a head whose top logit is the copied answer so often copies, whatever its indirect effect
ATTENDS = 0.5  # attention mass on the reverse fact, or share of top logits that are the attended variable
READS_SLOT = 0.2  # attention on a slot that counts as reading it
SLOTS = {"answer": "answer", "comma": "comma_behind", "equals": "="}  # as results name them


@dataclass(frozen=True)
class ClearestHead:
    """The head whose top logit is most often the copied answer."""

    name: str
    share: Number
    effect: Number
    unseen_by_effect: bool  # it copies, and carrying it over alone hardly shows that


@dataclass(frozen=True)
class CopyingHead:
    """The head that copies by what it decodes and attends to, on the half that did not choose it."""

    decodes: Number
    looks: Number
    demotes_identity: Shown


@dataclass(frozen=True)
class Reading:
    head: str | None  # None where no head copies; so are the numbers about it
    strongest: str  # the head with the largest effect
    copying: CopyingHead | None  # None in earlier results, which took the strongest for the copying head
    effect: dict[str, Shown]  # of the first, second and third head, and of a random other one
    commute_head: str
    commute_effect: Number
    spread: Literal["none", "several", "one"]  # who copies
    together: dict[str, Shown]
    commute_together: dict[str, Shown]
    direct_path: Number
    clearest: ClearestHead | None  # where it is not the copying head
    flipped_head: str
    flipped_effect: Number
    flipped_of_head: Number | None
    same_on_flipped: bool  # a chosen copying head leads on flipped queries, too
    another_decides: bool  # the copying head points at the reverse fact, another leads on flipped queries
    n_variants: int
    exact_mass: Number | None
    both_mass: Number | None
    both_mass_reverse: Number | None
    commutative_mass: Number | None
    self_mass: Number | None
    slot: dict[str, Number | None]
    reads_comma: bool
    reads_answer: bool
    conflicting_right: Number
    conflicting_wrong: Number
    corrupted_right: Number
    corrupted_wrong: Number
    promotes_both: Number | None
    decodes_dihedral: Number | None
    decodes_attended: Number | None
    copies_regardless: bool


def read(values: Values) -> Reading:
    head, leading, by_its_work = values.detail("head"), values.detail("leading"), "chosen_by" in values.config
    copies = by_its_work or _spread(values) != "none"

    def of_head(key: str, unit: str = "%") -> Number | None:
        found = values.number(key, unit)
        return found if copies else None

    effect = values.optionals("aie.copy.{}", ("first", "second", "third", "random_other"), "")
    commutative = values.number("variants.commutative.mass.reverse")
    slot = values.numbers("copy.slot.{}", ("answer", "comma_behind"))
    attended = values.number("decode.dihedral.attended")
    return Reading(
        head=head if copies else None,
        strongest=leading["copy"],
        copying=_copying(values) if by_its_work else None,
        effect=effect,
        commute_head=leading["commute"],
        commute_effect=values.number("aie.commute.first", ""),
        spread=_spread(values),
        together=values.optionals("aie.copy.together.{}", ("one", "two", "three", "all"), ""),
        commute_together=values.optionals("aie.commute.together.{}", ("one", "two", "three"), ""),
        direct_path=values.number("path.copy.first", ""),
        clearest=_clearest(values, head) if not by_its_work else None,
        flipped_head=leading["flipped"],
        flipped_effect=values.number("aie.flipped.first", ""),
        flipped_of_head=of_head("aie.flipped.copying_head", ""),
        same_on_flipped=by_its_work and leading["flipped"] == head,
        another_decides=copies and leading["flipped"] != head and commutative.value > ATTENDS,
        n_variants=values.number("variants.exact.correct").n,
        exact_mass=of_head("variants.exact.mass.same_pair"),
        both_mass=of_head("variants.both.mass.same_pair"),
        both_mass_reverse=of_head("variants.both.mass.reverse"),
        commutative_mass=commutative if copies else None,
        self_mass=of_head("variants.neither.mass.self"),
        slot={name: of_head(f"copy.slot.{key}") for name, key in SLOTS.items()},
        reads_comma=copies and slot["comma_behind"].value > max(READS_SLOT, slot["answer"].value),
        reads_answer=copies and slot["answer"].value > max(READS_SLOT, slot["comma_behind"].value),
        conflicting_right=values.number("variants.conflicting.correct"),
        conflicting_wrong=values.number("conflicting.predicts_wrong"),
        corrupted_right=values.number("variants.corrupted.correct"),
        corrupted_wrong=values.number("corrupted.predicts_wrong"),
        promotes_both=of_head("corrupted.promotes_both"),
        decodes_dihedral=of_head("decode.dihedral.commute_any"),
        decodes_attended=attended if copies else None,
        copies_regardless=copies and attended.low > ATTENDS,
    )


def _copying(values: Values) -> CopyingHead:
    return CopyingHead(
        decodes=values.number("copying_head.decodes"),
        looks=values.number("copying_head.looks"),
        demotes_identity=values.optional("copying_head.demotes_identity"),
    )


def _spread(values: Values) -> Literal["none", "several", "one"]:
    """Several heads share the effect only if two carry over clearly more together than the first alone."""
    if values.number("aie.copy.first").value < NO_COPYING_HEAD:
        return "none"
    alone, two = (values.optional(f"aie.copy.together.{name}") for name in ("one", "two"))
    more = isinstance(alone, Number) and isinstance(two, Number) and two.low > alone.high
    return "several" if more and values.number("aie.copy.second").value > SHARED else "one"


def _clearest(values: Values, head: str) -> ClearestHead | None:
    decoded, effects = values.detail("decode", "cyclic.copy"), values.detail("effects", "copy")
    shares = {(i, j): share for i, row in enumerate(decoded) for j, share in enumerate(row)}
    layer, place = max(shares, key=lambda found: shares[found])
    name, share, effect = f"{layer}.{place}", shares[layer, place], effects[layer][place]
    if name == head:
        return None
    return ClearestHead(
        name=name,
        share=Number.exact(share),
        effect=Number.exact(effect, "effect"),
        unseen_by_effect=share > CLEAR_DECODING and effect < NO_COPYING_HEAD,
    )
