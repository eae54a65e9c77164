"""What the section on circuits says of one model, and by which thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from icalgebra.experiments.shared.readings import Number, Shown, Stated, Values

REACTS = 0.2  # change of the clean answer's probability; below it the model hardly uses the changed fact
CARRIES = 0.8  # share of the effect on fresh pairs, for a set that was chosen to have nine tenths
LEADS = 0.9  # K4: of the reversed effect, for the copying head
SHARED = 0.08  # published: for copy no other head has more
NEEDED = 0.5  # lost accuracy: the mechanism needs these reads
SLOTS = {"comma": "','", "left": "the left slot", "right": "the right slot", "equals": "'='", "answer": "the answer"}
READERS = {"equals": "'='", "operands": "the operands"}
ANY_READER = "some token"


@dataclass(frozen=True)
class Member:
    """A component of the set: its share alone, and what the set loses without it."""

    name: str
    alone: Number
    given_rest: Number


@dataclass(frozen=True)
class Mechanism:
    name: str
    clean_right: Number
    corrupt_right: Number
    total: Number  # in probability
    logits: Number
    reacts: bool  # else shares of its effect say little, and are left out
    members: list[Member]  # of the smallest set; none if the effect has the wrong sign
    share: Shown
    lost: Shown
    random: Shown
    strongest: Shown
    carries: bool  # the set holds on fresh pairs

    @property
    def names(self) -> list[str]:
        return [item.name.replace("mlp", "MLP") for item in self.members]


@dataclass(frozen=True)
class CopyingHead:
    name: str
    decodes: Number
    attention: Number
    effect: Number  # reversed: towards the answer that the changed fact alone gives
    share: Shown
    denoise: Shown
    other_name: str
    other: Shown
    other_denoise_name: str
    other_denoise: Shown
    needed: list[str]
    one: bool
    plain: Number
    ablated: Number
    control: Shown


@dataclass(frozen=True)
class Needed:
    """Mechanisms that need the same reads: the slots of a fact by who must read them, a token of the query or any."""

    mechanisms: list[str]
    reads: dict[str, list[str]]


@dataclass(frozen=True)
class Reading:
    n_judged: int
    mechanisms: list[Mechanism]
    left_out: list[str]
    copying: CopyingHead | None
    n_blocked: int
    blocked_facts: int
    needed: list[Needed]
    needed_points: Stated
    not_held: list[str]  # mechanisms whose set does not hold on fresh pairs


def read(values: Values) -> Reading:
    mechanisms = [_mechanism(values, name) for name in values.detail("mechanisms")]
    judged = [item for item in mechanisms if item.reacts and item.members]
    return Reading(
        n_judged=values.config["n_pairs"] // 2,
        mechanisms=mechanisms,
        left_out=list(values.detail("left_out")),
        copying=_copying(values) if "copying_head" in values.result.details else None,
        n_blocked=values.config["n_knockout"],
        blocked_facts=values.config["knockout_facts"],
        needed=_needed(values),
        needed_points=Stated(100 * NEEDED, "points"),
        not_held=[item.name for item in judged if not item.carries],
    )


def _mechanism(values: Values, name: str) -> Mechanism:
    total = values.number(f"{name}.total.probability", "effect")
    members: list[dict[str, Any]] = values.detail("mechanisms", name, "set")
    share = _share(values, f"{name}.set.share", bool(members))
    carries = isinstance(share, Number) and share.value >= CARRIES
    return Mechanism(
        name=name,
        clean_right=values.number(f"{name}.clean_right"),
        corrupt_right=values.number(f"{name}.corrupt_right"),
        total=total,
        logits=values.number(f"{name}.total.logit_difference", ""),
        reacts=total.value >= REACTS,
        members=[
            Member(item["name"], Number.exact(item["alone"]), Number.exact(item["given_rest"])) for item in members
        ],
        share=share,
        lost=_share(values, f"{name}.set.noise", bool(members)),
        random=values.optional(f"{name}.set.random"),
        strongest=_share(values, f"{name}.strongest.share", bool(members)),
        carries=carries,
    )


def _share(values: Values, key: str, measured: bool) -> Shown:
    """A set's values are there where the set is."""
    return values.number(key) if measured else values.optional(key)


def _copying(values: Values) -> CopyingHead:
    found = values.detail("copying_head")
    share, other = (values.optional(f"copying_head.reversed.{key}") for key in ("share", "other"))
    leads = isinstance(share, Number) and share.value >= LEADS
    return CopyingHead(
        name=found["head"],
        decodes=values.number("copying_head.decodes"),
        attention=values.number("copying_head.attention"),
        effect=values.number("copying_head.reversed.effect", "effect"),
        share=share,
        denoise=values.optional("copying_head.denoise.share"),
        other_name=found["others"]["reversed"],
        other=other,
        other_denoise_name=found["others"]["denoise"],
        other_denoise=values.optional("copying_head.denoise.other"),
        needed=found["needed"].get("probability", []),
        one=leads and not (isinstance(other, Number) and other.value > SHARED),
        plain=values.number("copying_head.plain.corrupt_right"),
        ablated=values.number("copying_head.ablated.corrupt_right"),
        control=values.optional("copying_head.control.corrupt_right"),
    )


def _needed(values: Values) -> list[Needed]:
    found: list[Needed] = []
    for name in values.detail("knockout", "tables"):
        reads = _reads(values, name)
        same = next((item for item in found if item.reads == reads), None)
        if same:
            same.mechanisms.append(name)
        else:
            found.append(Needed([name], reads))
    return found


def _reads(values: Values, name: str) -> dict[str, list[str]]:
    """Where no single reader is needed, one of them may do what the others cannot."""
    least = values.number(f"knockout.{name}.plain").value - NEEDED
    reads: dict[str, list[str]] = {}
    for slot, words in SLOTS.items():
        left = {token: values.number(f"knockout.{name}.{slot}.{token}").value for token in (*READERS, "all")}
        readers = [reader for token, reader in READERS.items() if left[token] < least]
        for reader in readers or [ANY_READER] * (left["all"] < least):
            reads.setdefault(reader, []).append(words)
    return reads
