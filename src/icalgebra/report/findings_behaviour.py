"""Findings about what models and mechanisms answer."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from icalgebra.experiments import load_claims
from icalgebra.experiments.shared.readings import (
    NotMeasured,
    Number,
    Shown,
    Stated,
    Values,
    clearly_more,
    listed,
    stated,
)
from icalgebra.experiments.unseen_structures.reading import NAMES, LargeGroups, large_groups
from icalgebra.report.evidence import Evidence, Span, named, span
from icalgebra.verdicts import decide

MOSTLY = 0.5  # of the queries that no mechanism answers
# Where semigroups and unseen groups are compared, as in the paper's Figure 2c.
SEMIGROUP_FACTS, SEMIGROUP_ORDER = 200, 8
COVERAGE_ROWS = ("C1", "C2")  # the published areas under the coverage curves: training and hold-out sequences


@dataclass(frozen=True)
class OfModel:
    model: str
    value: Number


def read_natural_association(evidence: Evidence) -> list[OfModel]:
    """Where association alone gives the answer too, but among natural facts, not a few that are repeated."""
    return evidence.each("distributions", lambda model, found: OfModel(model, found.number("associate_embedded.k200")))


@dataclass(frozen=True)
class Ceiling:
    """The best possible hold-out accuracy, and how close models come to it."""

    auc: Number
    published: Stated  # the AUC of the paper's model
    published_here: Shown  # over this ceiling
    published_fitting: Shown  # over the ceiling of the setting that the published numbers fit
    shares: list[OfModel]


def read_ceiling(evidence: Evidence) -> Ceiling | None:
    if not evidence.has("ceiling"):
        return None
    values = evidence.of("ceiling")
    return Ceiling(
        auc=values.number("p7.holdout.ceiling"),
        published=stated("C2m.model"),
        published_here=values.optional("p7.holdout.published_model_share"),
        published_fitting=values.optional("p5_d2.holdout.published_model_share"),
        shares=evidence.each(
            "model_coverage", lambda model, found: OfModel(model, found.number("holdout.over_ceiling"))
        ),
    )


@dataclass(frozen=True)
class Unsolved:
    """A model on hold-out queries that no mechanism answers."""

    model: str
    entailed: Number  # accuracy where the facts leave one answer
    guesses: Shown  # accuracy where they leave several, and the model can only guess

    @property
    def beats_guessing(self) -> bool:
        return clearly_more(self.entailed, self.guesses)


@dataclass(frozen=True)
class BeyondMechanisms:
    """Queries whose answer follows from the facts though none of the five mechanisms gives it."""

    share: Number  # of all hold-out queries
    of_unsolved: Shown  # of those that no mechanism answers
    mostly_entailed: bool  # most queries that no mechanism answers follow from the facts
    models: list[Unsolved]
    all_beat_guessing: bool


def read_beyond_mechanisms(evidence: Evidence) -> BeyondMechanisms | None:
    if not evidence.has("ceiling"):
        return None
    values = evidence.of("ceiling")
    share, solved = values.number("p7.holdout.entailed_unsolved"), values.number("p7.holdout.solvers")
    models = evidence.each("model_coverage", _unsolved)
    of_unsolved = evidence.each("model_coverage", lambda _, found: found.number("holdout.unsolved_entailed"))
    return BeyondMechanisms(
        share=share,
        of_unsolved=of_unsolved[0] if of_unsolved else NotMeasured(),
        mostly_entailed=share.low > MOSTLY * (1 - solved.low),
        models=models,
        all_beat_guessing=bool(models) and all(model.beats_guessing for model in models),
    )


def _unsolved(model: str, values: Values) -> Unsolved:
    return Unsolved(
        model, values.number("holdout.unsolved_entailed_model"), values.optional("holdout.unsolved_guess_model")
    )


@dataclass(frozen=True)
class PublishedCoverage:
    """The setting that the published coverage curves fit."""

    n_published: int
    n_met_main: int  # by the claims' rules, at the main model's p_mix .7 without D2
    n_met_other: int  # at p_mix .5 with D2

    @property
    def fits_other(self) -> bool:
        return self.n_met_other > self.n_met_main


def read_published_coverage(evidence: Evidence) -> PublishedCoverage | None:
    if not evidence.has("coverage"):
        return None
    values = evidence.of("coverage")
    met = {"_p7": 0, "_p5_d2": 0}
    rows = [item for item in load_claims() if item.row in COVERAGE_ROWS]
    for setting in met:
        judged = [decide(item, values.result).verdict for item in rows if item.id.endswith(setting)]
        met[setting] = judged.count("reproduced")
    return PublishedCoverage(
        n_published=len(rows) // len(met),
        n_met_main=met["_p7"],
        n_met_other=met["_p5_d2"],
    )


@dataclass(frozen=True)
class OnSemigroups:
    model: str
    semigroups: Number
    groups: Number  # unseen ones of the same order
    largest: LargeGroups | None  # unseen groups of the largest order

    @property
    def largest_harder(self) -> bool:
        """Than groups of the order of the random tables."""
        return self.largest is not None and self.largest.highest.low < self.groups.low


@dataclass(frozen=True)
class Semigroups:
    models: list[OnSemigroups]
    n_facts: int
    order: int
    n_groups: int  # over which their accuracy is an average

    @property
    def groups(self) -> Span:
        return span([item.groups for item in self.models])

    @property
    def of_largest(self) -> list[LargeGroups]:
        return [item.largest for item in self.models if item.largest]

    @property
    def largest_order(self) -> str:
        return self.of_largest[0].orders

    @property
    def largest(self) -> Span:
        """The worst group of the worst model, the best of the best."""
        return span([number for found in self.of_largest for number in (found.lowest, found.highest)])

    @property
    def largest_harder(self) -> bool:
        """In every model that was measured on them."""
        return bool(self.of_largest) and all(item.largest_harder for item in self.models if item.largest)


def read_semigroups(evidence: Evidence) -> Semigroups | None:
    models = evidence.each("unseen_structures", _on_semigroups)
    return Semigroups(models, SEMIGROUP_FACTS, SEMIGROUP_ORDER, len(NAMES)) if models else None


def _on_semigroups(model: str, values: Values) -> OnSemigroups:
    accuracy = values.numbers(f"holdout.{{}}.k{SEMIGROUP_FACTS}", ("semigroup", "groups"))
    _, largest = large_groups(values) if "structures" in values.result.details else (None, None)
    return OnSemigroups(model, accuracy["semigroup"], accuracy["groups"], largest)


@dataclass(frozen=True)
class Fall:
    """How far C3 falls from its published peak to the end: by our law, and with the reserved variable as identity."""

    model: str
    ours: Number
    reserved: Number

    @property
    def anyway(self) -> bool:
        return self.ours.low > 0

    @property
    def by_law(self) -> bool:
        """Only with the reserved variable as identity."""
        return self.reserved.low > 0 and not self.anyway


@dataclass(frozen=True)
class EvaluationLaw:
    models: list[Fall]

    @property
    def by_law(self) -> Markup:
        return listed([named(item.model) for item in self.models if item.by_law])

    @property
    def anyway(self) -> Markup:
        return listed([named(item.model) for item in self.models if item.anyway])


def read_evaluation_law(evidence: Evidence) -> EvaluationLaw | None:
    models = evidence.each("released_evaluation", _fall)
    return EvaluationLaw(models) if models else None


def _fall(model: str, values: Values) -> Fall:
    ours = values.number("C3.holdout.fall", "points")
    reserved = values.number("C3.holdout_reserved_identity.fall", "points")
    return Fall(model, ours, reserved)
