"""What the section on closure says of one model, and by which thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Values

FEW_FACTS = 5  # the context that is quoted: of those measured, the one where members seen and linked differ most


@dataclass(frozen=True)
class OtherGroup:
    """The control: the same logits against another group of the same sequence."""

    top1: Number
    topk: Number


@dataclass(frozen=True)
class AfterFewFacts:
    """How often the K highest logits are exactly each of three sets."""

    n_facts: int
    seen: Number
    linked: Number
    with_it: Number
    follows_chains: bool  # the linked variables explain the logits better than both other sets


@dataclass(frozen=True)
class Reading:
    n_sequences: int
    n_facts: int
    top1: Number
    topk: Number
    topk_matching: Number
    random_top1: Number
    random_topk: Number
    other_group: OtherGroup | None  # where sequences hold two groups
    two_lefts: bool  # the figure shows two left variables, of different groups
    papers_sequence: bool  # the figure shows the sequence of the paper's Figure 15
    uniformity: Number
    spread: Number
    above_others: Number
    true_entropy: Number
    excess_millinats: Number
    predictive_uniformity: Number
    predictive_mass: Number
    after_few: AfterFewFacts | None  # where sequences are long enough
    through_training: bool  # the run kept several checkpoints


def read(values: Values) -> Reading:
    return Reading(
        n_sequences=values.number("top1").n,
        n_facts=values.config["n_facts"],
        top1=values.number("top1"),
        topk=values.number("topk"),
        topk_matching=values.number("topk_matching"),
        random_top1=values.number("control.random.top1"),
        random_topk=values.number("control.random.topk"),
        other_group=_other_group(values),
        two_lefts=len(values.detail("example", "panels")) > 1,
        papers_sequence=values.detail("example", "published"),
        uniformity=values.number("uniformity"),
        spread=values.number("spread", ""),
        above_others=values.number("above_others", ""),
        true_entropy=values.number("true_entropy", ""),
        excess_millinats=values.number("excess_millinats", ""),
        predictive_uniformity=values.number("predictive.uniformity"),
        predictive_mass=values.number("predictive.mass"),
        after_few=_after_few(values),
        through_training="training.mass" in values.result.curves,
    )


def _other_group(values: Values) -> OtherGroup | None:
    if "control.other.top1" not in values:
        return None
    return OtherGroup(values.number("control.other.top1"), values.number("control.other.topk"))


def _after_few(values: Values) -> AfterFewFacts | None:
    if f"at.{FEW_FACTS}.topk.linked" not in values:
        return None
    found = values.numbers(f"at.{FEW_FACTS}.topk.{{}}", ("seen", "linked", "with_it"))
    return AfterFewFacts(
        n_facts=FEW_FACTS,
        follows_chains=found["linked"].low > max(found["seen"].high, found["with_it"].high),
        **found,
    )
