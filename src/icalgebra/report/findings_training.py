"""Findings about training: the order of skills, narrow models, mixing and training time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from icalgebra.claims import published
from icalgebra.experiments import claim
from icalgebra.experiments.shared import released
from icalgebra.experiments.shared.readings import NotMeasuredError, Number, Shown, Stated, Values, stated
from icalgebra.report.evidence import Evidence, Span
from icalgebra.results import display_name

NARROW = (128, 256)  # the two widths that fail in the paper's Table 1
LEARNED = 0.5  # a hold-out accuracy clearly above guessing
MINUTES = 600  # seconds; shorter training is said to take minutes
TARGET = 0.99  # the hold-out accuracy that the speedrun and the paper's text refer to
SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class RareSkill:
    """A skill that did not emerge in every run."""

    key: str
    n_runs: int  # in which it did

    @property
    def name(self) -> str:
        return self.key.replace("_", " ")


@dataclass(frozen=True)
class SkillOrder:
    """When skills emerge, over the seeds of one preset."""

    model: str
    n_seeds: int
    as_published: bool
    agreement: Number
    rare: list[RareSkill]
    without_rare: bool  # the order is as published without these, too
    identity_published: Stated
    early_half: bool  # identity comes close to the published half before copying emerges
    then_falls: bool


def read_skill_order(evidence: Evidence) -> SkillOrder | None:
    models = evidence.models("dynamics")
    if not models:
        return None
    values = evidence.of("dynamics", models[0])
    peak, dip, half = values.number("early_peak.identity"), values.number("dip.identity"), claim("P1.half")
    near_half = (half.number - half.threshold) / 100  # the least that the claim counts as the published half
    return SkillOrder(
        model=display_name(models[0]),
        n_seeds=len(values.detail("onsets")),
        as_published=bool(values.number("order_as_published").value),
        agreement=values.number("order_agreement", ""),
        rare=(rare := _rare_skills(values.detail("onsets"))),
        without_rare=_in_order(values.result.details.get("pairs", []), {skill.key for skill in rare}),
        identity_published=stated("P1.half"),
        early_half=peak.high >= near_half,
        then_falls=peak.high >= near_half > dip.high,
    )


def _rare_skills(runs: list[dict[str, dict[str, float | None]]]) -> list[RareSkill]:
    came = {skill: sum(run[skill]["step"] is not None for run in runs) for skill in runs[0]}
    return [RareSkill(skill, n_runs) for skill, n_runs in came.items() if n_runs < len(runs)]


def _in_order(pairs: list[dict[str, Any]], left_out: set[str]) -> bool:
    """As order_as_published of the experiment: most pairs in order, none mostly reversed; without these skills."""
    net = [sum(pair["runs"]) for pair in pairs if not left_out & {pair["earlier"], pair["later"]}]
    return bool(net) and min(net) >= 0 and sum(total > 0 for total in net) > len(net) / 2


@dataclass(frozen=True)
class Width:
    d_model: int
    published: Stated
    accuracy: Number


@dataclass(frozen=True)
class NarrowModels:
    widths: list[Width]
    learn: bool  # all of them, the narrowest included
    steps: Span | Stated | None
    steps_of_wider: Span | Stated | None
    had_more_steps: bool  # than every wider model


def read_narrow_models(evidence: Evidence) -> NarrowModels | None:
    models = evidence.models("architecture")
    if not models:
        return None
    values = evidence.of("architecture", models[0])
    widths = [Width(size, stated(f"S1.d{size}"), values.number(f"d{size}.holdout")) for size in NARROW]
    settings = values.detail("settings")
    steps = sorted(step for found in settings if found["d_model"] in NARROW for step in found["steps"])
    wider = sorted(step for found in settings if found["d_model"] > max(NARROW) for step in found["steps"])
    return NarrowModels(
        widths=widths,
        learn=all(width.accuracy.low > LEARNED for width in widths),
        steps=_from_to(steps),
        steps_of_wider=_from_to(wider),
        had_more_steps=bool(steps and wider) and steps[0] > wider[-1],
    )


def _from_to(steps: list[int]) -> Span | Stated | None:
    """One number where all are the same."""
    if not steps:
        return None
    return Stated(steps[0]) if steps[0] == steps[-1] else Span(Stated(steps[0]), Stated(steps[-1]))


@dataclass(frozen=True)
class Mixing:
    without: Number  # trained at p_mix 0; hold-out accuracy of all models at the main model's p_mix
    half: Number  # at p_mix .5
    always: Shown  # at p_mix 1
    n_steps: int
    d_model: int


def read_mixing(evidence: Evidence) -> Mixing | None:
    """None also where models without mixing learn as well as others."""
    models = evidence.models("mixing")
    if not models:
        return None
    values = evidence.of("mixing", models[0])
    without, half = values.number("p0.p7.holdout"), values.number("p0.5.p7.holdout")
    if without.high >= half.low:
        return None
    return Mixing(
        without=without,
        half=half,
        always=values.optional("p1.p7.holdout"),
        n_steps=values.config["recipes"][0]["steps"],
        d_model=values.detail("runs")[0]["d_model"],
    )


@dataclass(frozen=True)
class Speedruns:
    """One preset's runs to the target, at the paper's size with another recipe."""

    preset: str
    n_runs: int
    seconds: list[float]  # of training, of the runs that passed

    @property
    def n_passed(self) -> int:
        return len(self.seconds)

    @property
    def in_minutes(self) -> bool:
        """Each of the runs that passed, of which there are some."""
        return bool(self.seconds) and max(self.seconds) < MINUTES

    @property
    def taken(self) -> Span:
        return Span(f"{min(self.seconds):.0f}", f"{max(self.seconds):.0f}")


@dataclass(frozen=True)
class Speed:
    target: Stated
    text_hours: Span  # of the released code, by the steps that the paper's text states
    figure_hours: str  # and by those at which its Figure 2b first reaches the target
    presets: list[Speedruns]
    hours_to_minutes: bool


PAPERS_RECIPE = ("paper", "published")  # presets with the recipe of the released code


def read_speed(evidence: Evidence) -> Speed | None:
    """None where no run at the paper's size reached the target."""
    presets = [found for found in evidence.each("speedrun", _speedruns) if found.seconds]
    if not presets:
        return None
    fewest, most = released.STEPS_TO_99
    return Speed(
        target=Stated(100 * TARGET, "%"),
        text_hours=Span(_hours(fewest), _hours(most)),
        figure_hours=_hours(steps_in_figure()),
        presets=presets,
        hours_to_minutes=all(preset.in_minutes for preset in presets),
    )


def steps_in_figure(accuracy: float = TARGET) -> float:
    """Where the curve of the paper's Figure 2b first reaches an accuracy; later points may fall below it again."""
    return next(step for step, reached in published()["figures"]["2b"]["phase"] if reached >= accuracy)


def _hours(steps: float) -> str:
    return f"{steps * released.STEP_SECONDS / SECONDS_PER_HOUR:.2g}"


def _speedruns(model: str, values: Values) -> Speedruns:
    runs, training = values.detail("runs"), values.config["training"]
    of_papers_size = (training["n_layers"], training["n_heads"], training["d_model"]) == released.SIZE
    if not runs or not of_papers_size or values.result.model in PAPERS_RECIPE:  # or only the steps were timed
        raise NotMeasuredError("runs")
    return Speedruns(model, len(runs), [run["training_seconds"] for run in runs if run["passed"]])
