"""Findings about training: the order of skills, narrow models, mixing and training time."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.claims import published
from icalgebra.experiments import claim
from icalgebra.experiments.shared import released
from icalgebra.experiments.shared.readings import NotMeasuredError, Number, Shown, Stated, Values, stated
from icalgebra.report.evidence import Evidence, Span

NARROW = (128, 256)  # the two widths that fail in the paper's Table 1
LEARNED = 0.5  # a hold-out accuracy clearly above guessing
MINUTES = 600  # seconds; shorter training is said to take minutes
TARGET = 0.99  # the hold-out accuracy that the speedrun and the paper's text refer to
SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class SkillOrder:
    """When skills emerge, over the seeds of one preset."""

    model: str
    n_seeds: int
    as_published: bool
    agreement: Number
    n_associate: int  # runs in which associate emerged at all
    associate_missing: bool  # in some it did not
    identity_peak: Number  # before copying emerges
    identity_published: Stated
    early_half: bool  # identity comes close to the published half before copying emerges
    identity_dip: Number
    then_falls: bool


def read_skill_order(evidence: Evidence) -> SkillOrder | None:
    models = evidence.models("dynamics")
    if not models:
        return None
    values = evidence.of("dynamics", models[0])
    peak, dip, half = values.number("early_peak.identity"), values.number("dip.identity"), claim("P1.half")
    near_half = (half.number - half.threshold) / 100  # the least that the claim counts as the published half
    onsets = values.detail("onsets")
    n_associate = sum(found["associate"]["step"] is not None for found in onsets)
    return SkillOrder(
        model=models[0],
        n_seeds=len(onsets),
        as_published=bool(values.number("order_as_published").value),
        agreement=values.number("order_agreement", ""),
        n_associate=n_associate,
        associate_missing=n_associate < len(onsets),
        identity_peak=peak,
        identity_published=stated("P1.half"),
        early_half=peak.high >= near_half,
        identity_dip=dip,
        then_falls=peak.high >= near_half > dip.high,
    )


@dataclass(frozen=True)
class Width:
    d_model: int
    published: Stated
    accuracy: Number


@dataclass(frozen=True)
class NarrowModels:
    widths: list[Width]
    learn: bool  # all of them, the narrowest included
    had_more_steps: bool  # than every model of the paper's width or wider


def read_narrow_models(evidence: Evidence) -> NarrowModels | None:
    models = evidence.models("architecture")
    if not models:
        return None
    values = evidence.of("architecture", models[0])
    widths = [Width(size, stated(f"S1.d{size}"), values.number(f"d{size}.holdout")) for size in NARROW]
    settings = values.detail("settings")
    steps = [step for found in settings if found["d_model"] in NARROW for step in found["steps"]]
    wide = [step for found in settings if found["d_model"] >= released.SIZE[-1] for step in found["steps"]]
    return NarrowModels(
        widths=widths,
        learn=all(width.accuracy.low > LEARNED for width in widths),
        had_more_steps=bool(steps and wide) and min(steps) > max(wide),
    )


@dataclass(frozen=True)
class Mixing:
    without: Number  # hold-out accuracy at p_mix 0
    half: Number  # at p_mix .5
    always: Shown  # at p_mix 1
    n_steps: int
    d_model: int
    most_not_best: bool


def read_mixing(evidence: Evidence) -> Mixing | None:
    """None also where models without mixing learn as well as others."""
    models = evidence.models("mixing")
    if not models:
        return None
    values = evidence.of("mixing", models[0])
    without, half = values.number("p0.own.holdout"), values.number("p0.5.own.holdout")
    if without.high >= half.low:
        return None
    more_is_better = values.optional("more_is_better")
    return Mixing(
        without=without,
        half=half,
        always=values.optional("p1.own.holdout"),
        n_steps=values.config["recipes"][0]["steps"],
        d_model=values.detail("runs")[0]["d_model"],
        most_not_best=isinstance(more_is_better, Number) and not more_is_better.value,
    )


@dataclass(frozen=True)
class Speedruns:
    """One preset's runs to the target."""

    preset: str
    d_model: int
    n_runs: int
    n_passed: int
    seconds: list[str]  # of training, of the runs that passed
    in_minutes: bool  # each of these runs
    of_papers_size: bool
    by_papers_recipe: bool
    times_text: Span | None  # how many times faster than the released code, by the steps that the paper's text states
    times_figure: Span | None  # and by those at which its Figure 2b first reaches the target


@dataclass(frozen=True)
class Speed:
    step_seconds: float  # of the released code, on an H200
    target: Stated
    text_steps: Span
    text_hours: Span
    figure_steps: Stated
    figure_hours: str
    presets: list[Speedruns]
    hours_to_minutes: bool  # shown at the paper's size


PAPERS_RECIPE = ("paper", "published")  # presets with the recipe of the released code


def read_speed(evidence: Evidence) -> Speed | None:
    presets = evidence.each("speedrun", _speedruns)
    if not presets:
        return None
    own_size = [preset for preset in presets if preset.of_papers_size and not preset.by_papers_recipe]
    fewest, most = released.STEPS_TO_99
    in_figure = steps_in_figure()
    return Speed(
        step_seconds=released.STEP_SECONDS,
        target=Stated(100 * TARGET, "%"),
        text_steps=Span(Stated(fewest), Stated(most)),
        text_hours=Span(_hours(fewest), _hours(most)),
        figure_steps=Stated(in_figure),
        figure_hours=_hours(in_figure),
        presets=presets,
        hours_to_minutes=bool(own_size) and all(preset.in_minutes for preset in own_size),
    )


def steps_in_figure(accuracy: float = TARGET) -> float:
    """Where the curve of the paper's Figure 2b first reaches an accuracy; later points may fall below it again."""
    return next(step for step, reached in published()["figures"]["2b"]["phase"] if reached >= accuracy)


def _hours(steps: float) -> str:
    return f"{steps * released.STEP_SECONDS / SECONDS_PER_HOUR:.2g}"


def _speedruns(model: str, values: Values) -> Speedruns:
    runs, training = values.detail("runs"), values.config["training"]
    if not runs:  # for this preset only the steps were timed
        raise NotMeasuredError("runs")
    seconds = [run["training_seconds"] for run in runs if run["passed"]]
    of_papers_size = (training["n_layers"], training["n_heads"], training["d_model"]) == released.SIZE
    compared = bool(seconds) and of_papers_size
    return Speedruns(
        preset=model,
        d_model=training["d_model"],
        n_runs=len(runs),
        n_passed=len(seconds),
        seconds=[f"{found:.0f}" for found in seconds],
        in_minutes=bool(seconds) and max(seconds) < MINUTES,
        of_papers_size=of_papers_size,
        by_papers_recipe=model in PAPERS_RECIPE,
        times_text=_times_faster(seconds, *released.STEPS_TO_99) if compared else None,
        times_figure=_times_faster(seconds, steps_in_figure(), steps_in_figure()) if compared else None,
    )


def _times_faster(seconds: list[float], fewest: float, most: float) -> Span:
    """Compared with that many steps of the released code: slowest run to fewest steps, fastest run to most."""
    least, largest = fewest * released.STEP_SECONDS / max(seconds), most * released.STEP_SECONDS / min(seconds)
    return Span(f"{least:.0f}", f"{largest:.0f}")
