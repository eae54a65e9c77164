"""What the section says about one model beside the mechanisms and the ceiling."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import NotMeasured, Number, Shown, Stated, Values, stated
from icalgebra.language.world import is_papers_world


@dataclass(frozen=True)
class Answered:
    """The model on one kind of sequence. A number about a subset of queries is absent if that subset is empty."""

    auc: Number
    over_ceiling: Number
    mechanisms: Number
    above_mechanisms: Number  # net: what it answers beyond them, less what it misses of theirs
    missed: Shown  # of all queries, those that a mechanism answers and the model does not
    beyond: Shown  # those that the model answers and no mechanism does
    entailed: Shown  # accuracy where the facts leave one answer,
    guess: Shown  # and where they leave several
    guess_ceiling: Shown
    published_auc: Stated
    published_mechanisms: Stated
    published_above: Number

    @property
    def covered_less(self) -> bool:
        """The mechanisms cover significantly less of these sequences than of the published ones."""
        return 100 * self.mechanisms.high < self.published_mechanisms.value


@dataclass(frozen=True)
class Unexplained:
    """Hold-out queries that the model answers and no mechanism does; left_…: all that no mechanism answers."""

    entailed: Number
    at_few_facts: Number
    left_entailed: Shown
    left_entailed_right: Shown
    left_guess_right: Shown


@dataclass(frozen=True)
class Example:
    text: str
    answer: str
    structures: list[str]
    forced_by: list[str]


@dataclass(frozen=True)
class Reading:
    model: str
    holdout: Answered
    train: Answered
    train_above_any_copy: Number
    papers_world: bool
    p_mix: Stated
    covered_less: bool  # on both kinds of sequences the mechanisms cover less than published
    agrees_with_mechanisms: Shown
    unexplained: Unexplained | None
    examples: tuple[Example, ...]
    published_over_ceiling: Stated  # in the setting that its curves fit


def read(values: Values) -> Reading:
    holdout = _answered(values, "holdout", "C2m.model", "C2.total_p7", "C2m.unexplained")
    train = _answered(values, "train", "C1m.model", "C1.total_p7", "C1m.unexplained")
    return Reading(
        model=values.result.model,
        holdout=holdout,
        train=train,
        train_above_any_copy=values.number("train.unexplained_any", "points"),
        papers_world=is_papers_world(values.config),
        p_mix=Stated(values.config["world"]["p_mix"]),
        covered_less=holdout.covered_less and train.covered_less,
        agrees_with_mechanisms=values.optional("holdout.solved"),
        unexplained=_unexplained(values),
        examples=tuple(
            Example(found["text"], found["answer"], found["structures"], found["forced_by"])
            for found in values.detail("examples")
        ),
        published_over_ceiling=stated("C2m.over_ceiling"),
    )


def _answered(values: Values, kind: str, model_claim: str, mechanisms_claim: str, above_claim: str) -> Answered:
    mechanisms, above = values.number(f"{kind}.mechanisms"), values.number(f"{kind}.unexplained", "points")
    missed = _missed(mechanisms, values.optional(f"{kind}.solved")) if kind == "holdout" else NotMeasured()
    return Answered(
        auc=values.number(f"{kind}.auc"),
        over_ceiling=values.number(f"{kind}.over_ceiling"),
        mechanisms=mechanisms,
        above_mechanisms=above,
        missed=missed,
        beyond=Number.exact(above.value + missed.value, "points") if isinstance(missed, Number) else missed,
        entailed=values.optional(f"{kind}.entailed"),
        guess=values.optional(f"{kind}.guess"),
        guess_ceiling=values.optional(f"{kind}.guess_ceiling"),
        published_auc=stated(model_claim),
        published_mechanisms=stated(mechanisms_claim),
        published_above=Number.exact(stated(above_claim).value / 100, "points"),
    )


def _missed(mechanisms: Number, right_there: Shown) -> Shown:
    """Areas are means over all queries, so shares of queries add up."""
    if not isinstance(right_there, Number):
        return right_there
    return Number.exact(mechanisms.value * (1 - right_there.value), "points")


def _unexplained(values: Values) -> Unexplained | None:
    """None if the model answers nothing that the mechanisms do not."""
    entailed, few = values.optional("holdout.unexplained_entailed"), values.optional("holdout.unexplained_below_50")
    if not isinstance(entailed, Number) or not isinstance(few, Number):
        return None
    return Unexplained(
        entailed=entailed,
        at_few_facts=few,
        left_entailed=values.optional("holdout.unsolved_entailed"),
        left_entailed_right=values.optional("holdout.unsolved_entailed_model"),
        left_guess_right=values.optional("holdout.unsolved_guess_model"),
    )
