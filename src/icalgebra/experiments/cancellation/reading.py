"""What the section on cancellation says of one model, and by which thresholds.

A side is left or right: facts that share the query's left or right variable. Its reader is the final layer's head with
most attention on those facts, its demoter the head that lowers their answers most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from icalgebra.experiments.shared.readings import NotMeasured, Number, Shown, Stated, Values, clearly_more, stated

MOSTLY_COMMA = 0.5  # of a reader's attention on its facts: with more on the ',', it does not read the answer slot
HARDLY_CHANCE = 1.25  # times chance: a reader with less attention on its facts does not look for them
SPECIALIST = 0.5  # of a head's attention on one side's answers, though every fact is of one of two sides
UNSEEN = 0.1  # attention on a side's facts below which a demoter cannot have read them itself
ABLATED_ON = {"cancel": "cancel", "cancel_embedded": "cancel, among other facts", "copy": "copy"}

SideName = Literal["left", "right"]
ABLATED: tuple[Literal["readers", "demoters", "found"], ...] = ("readers", "demoters", "found")


@dataclass(frozen=True)
class AnswerHead:
    """The head with most attention on the answer slots of the side's facts: the published measure."""

    head: str
    attention: Number
    chance: Number
    change: Number


@dataclass(frozen=True)
class Reader:
    head: str
    on_answer: Number
    on_comma: Number
    on_facts: Number
    chance: Number
    on_facts_alone: Number  # of sequences that hold only facts of the two sides: the published measure
    on_other_side: Number
    on_rest: Number
    change: Number  # of the answers of its side's facts, on `cancel`
    lowers_in: Number  # share of queries
    change_of_others: Shown  # the mean of all other heads; a model of one head has none
    change_in_group: Number  # on `holdout`, against members that no fact rules out

    @property
    def reads_comma(self) -> bool:
        return self.on_comma.value > MOSTLY_COMMA * self.on_facts.value

    @property
    def hardly_more_than_chance(self) -> bool:
        return self.on_facts.value < HARDLY_CHANCE * self.chance.value

    @property
    def prefers_its_side(self) -> bool:
        return self.on_facts.low > self.on_other_side.high


@dataclass(frozen=True)
class Demoter:
    head: str
    change: Number
    on_facts: Number
    on_query: Number

    @property
    def demotes_unseen(self) -> bool:
        """It lowers answers of facts that it hardly attends to."""
        return self.on_facts.value < UNSEEN and self.change.high < 0


@dataclass(frozen=True)
class Side:
    answer_head: AnswerHead
    reader: Reader
    demoter: Demoter
    correlation: Shown  # over all heads: attention on the facts, demotion of their answers; hold-out
    correlation_on_cancel: Shown


@dataclass(frozen=True)
class Ablation:
    """Accuracy without a set of heads; beside each the control, as many other heads of the same layers."""

    which: Literal["readers", "demoters", "found"]
    heads: tuple[str, ...]
    accuracies: tuple[tuple[Number, Shown], ...]

    @property
    def needed(self) -> bool:
        """On cancel sequences these heads are missed more than as many others, clearly."""
        without, control = self.accuracies[0]
        return clearly_more(control, without)


@dataclass(frozen=True)
class Specialist:
    """An answer head that attends to one side's answers more than to everything else."""

    side: SideName
    head: str
    attention: Number
    published: Stated


@dataclass(frozen=True)
class Reading:
    left: Side
    right: Side
    published_left: Stated
    published_right: Stated
    specialists: tuple[Specialist, ...]  # answer heads with most of their attention on one side
    same_answer_head: bool
    both_read_comma: bool
    readers: Literal["none", "one", "two"]  # who looks for such facts
    unspecific: tuple[tuple[str, SideName], ...]  # of two readers, those without a preference for their side
    attending_does_not_demote: bool
    # heads, and the sides whose answers they lower without attending to the facts
    unseeing: tuple[tuple[str, str], ...]
    ablated_on: tuple[str, ...]  # distributions, in words
    plain: tuple[Number, ...]
    ablations: tuple[Ablation, ...]

    @property
    def sides_without(self) -> list[str]:
        """Sides whose facts no answer head mostly attends to."""
        found = {item.side for item in self.specialists}
        return [side for side in ("left", "right") if side not in found]

    @property
    def no_specialist(self) -> bool:
        return not self.specialists

    @property
    def needs(self) -> dict[str, bool]:
        return {item.which: item.needed for item in self.ablations}


def read(values: Values) -> Reading:
    sides: dict[SideName, Side] = {"left": _side(values, "left"), "right": _side(values, "right")}
    left, right = sides["left"], sides["right"]
    readers = _readers(left.reader, right.reader)
    published = {name: stated(f"L5.{name}_slot") for name in sides}
    return Reading(
        left=left,
        right=right,
        published_left=published["left"],
        published_right=published["right"],
        specialists=tuple(
            Specialist(name, side.answer_head.head, side.answer_head.attention, published[name])
            for name, side in sides.items()
            if side.answer_head.attention.low > SPECIALIST
        ),
        same_answer_head=left.answer_head.head == right.answer_head.head,
        both_read_comma=left.reader.reads_comma and right.reader.reads_comma,
        readers=readers,
        unspecific=tuple(
            (side.reader.head, name)
            for name, side in sides.items()
            if readers == "two" and not side.reader.prefers_its_side
        ),
        attending_does_not_demote=_negative(left.correlation) and _negative(right.correlation),
        unseeing=_unseeing(sides),
        ablated_on=tuple(ABLATED_ON.values()),
        plain=tuple(values.numbers("plain.{}", ABLATED_ON).values()),
        ablations=tuple(_ablation(values, which) for which in ABLATED),
    )


def _side(values: Values, side: SideName) -> Side:
    attention, read, change, demotes = (
        f"attention.{side}", f"reads.{side}.cancel_embedded", f"change.{side}.cancel", f"demotes.{side}",
    )  # fmt: skip
    return Side(
        answer_head=AnswerHead(
            head=values.detail("answer_heads", side),
            attention=values.number(attention),
            chance=values.number(f"{attention}.chance"),
            change=values.number(f"{attention}.change", ""),
        ),
        reader=Reader(
            head=values.detail("readers", side),
            on_answer=values.number(f"{read}.answer"),
            on_comma=values.number(f"{read}.comma_behind"),
            on_facts=values.number(f"{read}.fact"),
            on_facts_alone=values.number(f"reads.{side}.cancel.fact"),
            chance=values.number(f"chance.{side}.cancel_embedded.fact"),
            on_other_side=values.number(f"{read}.other_side"),
            on_rest=values.number(f"{read}.neither.fact"),
            change=values.number(change, ""),
            lowers_in=values.number(f"{change}.queries"),
            change_of_others=values.optional(f"{change}.other_heads", ""),
            change_in_group=values.number(f"change.{side}.holdout.group", ""),
        ),
        demoter=Demoter(
            head=values.detail("demoters", side),
            change=values.number(f"{demotes}.group", ""),
            on_facts=values.number(f"{demotes}.attention"),
            on_query=values.number(f"{demotes}.attention_on_query"),
        ),
        correlation=values.optional(f"attend_and_demote.{side}.holdout.group", ""),
        correlation_on_cancel=values.optional(f"attend_and_demote.{side}.cancel.group", ""),
    )


def _readers(left: Reader, right: Reader) -> Literal["none", "one", "two"]:
    if left.hardly_more_than_chance and right.hardly_more_than_chance:
        return "none"
    return "one" if left.head == right.head else "two"


def _negative(correlation: Shown) -> bool:
    return not isinstance(correlation, NotMeasured) and correlation.high < 0


def _unseeing(sides: dict[SideName, Side]) -> tuple[tuple[str, str], ...]:
    """One entry per head: a head that does so on both sides is named once."""
    found: dict[str, list[str]] = {}
    for name, side in sides.items():
        if side.demoter.demotes_unseen:
            found.setdefault(side.demoter.head, []).append(name)
    return tuple((head, " and ".join(names)) for head, names in found.items())


def _ablation(values: Values, which: Literal["readers", "demoters", "found"]) -> Ablation:
    heads = values.detail(which)
    return Ablation(
        which=which,
        # readers and demoters are named by side, and one head may serve both
        heads=tuple(dict.fromkeys(heads.values() if isinstance(heads, dict) else heads)),
        accuracies=tuple(
            (values.number(f"without.{which}.{law}"), values.optional(f"without.{which}.control.{law}"))
            for law in ABLATED_ON
        ),
    )
