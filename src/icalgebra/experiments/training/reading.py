"""What the section on training says about one run, and the thresholds behind it."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.claims import published
from icalgebra.experiments import claim
from icalgebra.experiments.shared import released
from icalgebra.experiments.shared.readings import Number, Stated, Values, published_text
from icalgebra.language.world import is_papers_world
from icalgebra.results import Curve

LOW, HIGH = 0.10, 0.95  # the ends of the published rise of hold-out accuracy
PLATEAU = 0.20  # models of ours rise from here: the plateau, where they guess among the group's variables, lies below
CPU_PRESET = "tiny"  # small enough for two CPU cores: it gets a paragraph of its own


@dataclass(frozen=True)
class PublishedRise:
    """Figure 2b: the last step at or below the lower end, and the first at or above HIGH."""

    start: float
    end: float

    @property
    def share(self) -> float:
        return (self.end - self.start) / self.end


@dataclass(frozen=True)
class Rise:
    high: Stated
    plateau: Stated
    share: Number  # of the steps up to HIGH that the rise from PLATEAU took
    published_share: Number
    less_abrupt: bool  # than the published one, in proportion


@dataclass(frozen=True)
class ReservedVariable:
    """Hold-out accuracy at the end of training, with the reserved variable as an identity and without."""

    unshuffled: Number  # the released evaluation's one assignment, where it is the first group's identity
    as_identity: Number  # shuffled variables, and it is the identity of the query's group
    learned: bool  # significantly worse when the rule is broken


@dataclass(frozen=True)
class Reading:
    model: str
    on_two_cores: bool
    structures: list[str]
    n_variables: int
    n_facts: int
    final: Number
    published_final: str
    n_final: int
    steps: int
    seconds: str  # of training, compilation included
    minutes_in_all: str  # evaluations included
    rise: Rise | None  # None where HIGH was never reached
    reserved: ReservedVariable | None
    published_curve: bool  # drawn beside ours: same world
    released_step_seconds: Stated


def published_rise(low: float = LOW) -> PublishedRise:
    points = published()["figures"]["2b"]["phase"]
    end = next(step for step, accuracy in points if accuracy >= HIGH)
    return PublishedRise(max(step for step, accuracy in points if step < end and accuracy <= low), end)


def read(values: Values) -> Reading:
    training, model = values.config["training"], values.result.model
    final = values.number("final_holdout")
    return Reading(
        model=model,
        on_two_cores=model == CPU_PRESET,
        structures=training["structures"],
        n_variables=training["n_variables"],
        n_facts=training["n_facts"],
        final=final,
        published_final=published_text(claim("B3.reaches_99")),
        n_final=final.n,
        steps=values.detail("steps")[-1],
        seconds=f"{values.detail('seconds')[-1]:.0f}",
        minutes_in_all=f"{values.detail('all_seconds')[-1] / 60:.1f}",
        rise=_rise(values),
        reserved=_reserved(values.result.curves, final) if model != CPU_PRESET else None,
        published_curve=is_papers_world(values.config),
        released_step_seconds=Stated(released.STEP_SECONDS),
    )


def _rise(values: Values) -> Rise | None:
    if "rise_share_from_plateau" not in values:
        return None
    share, theirs = values.number("rise_share_from_plateau"), published_rise(PLATEAU)
    return Rise(
        high=Stated(100 * HIGH, "%"),
        plateau=Stated(100 * PLATEAU, "%"),
        share=share,
        published_share=Number.exact(theirs.share),
        less_abrupt=share.value > theirs.share,
    )


def _reserved(curves: dict[str, Curve], final: Number) -> ReservedVariable | None:
    if not {"holdout_unshuffled", "holdout_reserved_identity"} <= set(curves):
        return None
    as_identity = Number(curves["holdout_reserved_identity"].estimates[-1])
    return ReservedVariable(
        unshuffled=Number(curves["holdout_unshuffled"].estimates[-1]),
        as_identity=as_identity,
        learned=as_identity.high < final.low,
    )
