"""The page: sections that have results, the verdict table, and how to repeat each part."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FunctionLoader,
    PackageLoader,
    StrictUndefined,
    TemplateSyntaxError,
    UndefinedError,
)
from markupsafe import Markup

from icalgebra import __version__
from icalgebra.atomic_files import write_text
from icalgebra.errors import InputError
from icalgebra.experiments import EXPERIMENTS, Experiment, load_claims
from icalgebra.experiments.shared import released
from icalgebra.experiments.shared.readings import (
    Models,
    NotMeasuredError,
    Number,
    OfModel,
    Shown,
    Stated,
    Values,
    names_held,
)
from icalgebra.report.drawings import drawings
from icalgebra.report.evidence import Evidence, Span
from icalgebra.report.findings import Findings, read_findings
from icalgebra.report.findings_behaviour import read_natural_association
from icalgebra.report.findings_training import TARGET, steps_in_figure
from icalgebra.report.highlights import Highlight, Key, read_highlights, read_key
from icalgebra.report.seeds_figure import seeds_figure
from icalgebra.report.store import PREFERRED, SHIPPED, THIS_RUN, Store, Stored
from icalgebra.report.universality import Universality, read_universality
from icalgebra.report.verdicts import (
    ClassCount,
    Family,
    JudgedClaim,
    SectionVerdicts,
    YourRun,
    by_family,
    by_section,
    count_classes,
    judge_all,
    read_your_run,
)
from icalgebra.results import Result, display_name

MISSED = 0.05  # of 95 % intervals, those that do not hold the true value
RISEN = 0.95  # where the curve of the paper's Figure 2b ends its abrupt rise
RECIPE_AS_RELEASED = "paper"  # the preset that follows the released code in everything, its precision too
OPTIMISERS = {"muon": "Muon", "adamw": "AdamW"}


@dataclass(frozen=True)
class Body:
    """A section's text about one result. complete: not the plain list of values that replaces missing text."""

    html: Markup
    complete: bool
    stored: Stored

    @property
    def result(self) -> Result:
        return self.stored.result


@dataclass(frozen=True)
class Section:
    """text: about all models of the paper's world side by side; bodies: models of other worlds, or without values."""

    experiment: Experiment
    text: Markup
    bodies: list[Body]
    made: list[Stored]
    together: Markup
    judged: list[JudgedClaim]
    folded: bool  # committed, on a page that a run has made

    @property
    def of_this_run(self) -> bool:
        return any(stored.origin == THIS_RUN for stored in self.made)

    @property
    def of_models(self) -> bool:
        return self.experiment.about != "data"

    @property
    def kind(self) -> str:
        """What a result is about, if not data: 'sweep' or 'model'."""
        return "sweep" if self.experiment.about == "runs" and self.experiment.name != "dynamics" else "model"


@dataclass(frozen=True)
class TrainedModel:
    """What the summary says about a model."""

    name: str
    d_model: int
    steps: Stated
    schedule_steps: Stated  # more where the run ended before its learning-rate schedule
    optimiser: str
    precision: str
    seed: int
    holdout: Shown  # accuracy at the end

    @property
    def stopped_early(self) -> bool:
        return self.schedule_steps.value > self.steps.value

    @property
    def by_papers_recipe(self) -> bool:
        return self.name == display_name(PREFERRED[0])


SAME_WORK = ("n_layers", "n_heads", "d_model", "batch_size", "n_facts")  # settings that make steps comparable


@dataclass(frozen=True)
class StepTime:
    """Of a preset with the paper's recipe, on our machine."""

    name: str
    precision: str
    milliseconds: str


@dataclass(frozen=True)
class Methods:
    """Numbers of the paper, of its code and of our runs of its recipe that the methods quote."""

    step_seconds: float  # of the released code, on an H200
    target: Stated  # hold-out accuracy
    text_steps: Span  # to the target, by the paper's text
    figure_steps: Stated  # the same by its Figure 2b
    risen: Stated  # the accuracy at which the abrupt rise of that curve ends
    figure_risen: Stated  # and the step
    step_times: list[StepTime]  # of the same step in several precisions; empty where only one was measured


@dataclass(frozen=True)
class Page:
    """What page.html.jinja uses."""

    version: str
    explorer: bool  # whether the explorer's page lies beside this one
    sections: list[Section]
    judged: list[JudgedClaim]
    classes: list[ClassCount]
    verdicts: list[SectionVerdicts]
    families: list[Family]
    your_run: YourRun | None
    highlights: list[Highlight]
    key: list[Key]  # to their pictures
    findings: Findings
    universality: Universality | None
    seeds_figure: Markup | None
    methods: Methods
    trained: list[TrainedModel]
    missing: list[Experiment]
    experiments: list[Experiment]  # those that can be rerun

    @property
    def preferred(self) -> tuple[str, ...]:
        """The models that verdicts rest on."""
        return tuple(name for model in PREFERRED if (name := display_name(model)) in self.judged_models)

    @property
    def titles(self) -> dict[str, str]:
        return {name: item.title for name, item in EXPERIMENTS.items()}

    @property
    def n_rows(self) -> int:
        return len(self.judged)

    @property
    def papers(self) -> list[JudgedClaim]:
        """Without checks of our own."""
        return [item for item in self.judged if not item.claim.check]

    @property
    def n_claims(self) -> int:
        return len(self.papers)

    @property
    def n_late(self) -> int:
        return sum(item.claim.late for item in self.papers)

    @property
    def n_revised(self) -> int:
        """Rules that were written or changed after measuring began."""
        return sum(item.claim.late or bool(item.claim.changed) for item in self.papers)

    @property
    def n_decided(self) -> int:
        """By an interval: a yes or no has none, nor has a single observation."""
        return sum(item.deciding.decision.decided and item.deciding.has_interval for item in self.papers)

    @property
    def n_by_chance(self) -> int:
        return round(MISSED * self.n_decided)

    @property
    def judged_models(self) -> list[str]:
        return sorted({item.shown_model for row in self.judged for item in row.verdicts if item.ours is not None})

    @property
    def some_dirty(self) -> bool:
        commits = (str(stored.result.provenance.get("commit")) for part in self.sections for stored in part.made)
        return any(commit.endswith("-dirty") for commit in commits)

    @property
    def by_recipe(self) -> str:
        """The model that was trained by the paper's own recipe."""
        return display_name(PREFERRED[0])

    @property
    def recipe_preset(self) -> str:
        return PREFERRED[0]

    @property
    def recipe_run(self) -> TrainedModel | None:
        return next((model for model in self.trained if model.by_papers_recipe), None)

    @property
    def others(self) -> list[TrainedModel]:
        return [model for model in self.trained if not model.by_papers_recipe]

    @property
    def has_published_recipe(self) -> bool:
        return self.by_recipe in self.judged_models


def build_report(
    out: Path, fresh: Path | None, committed: Path | None, files_written: Collection[Path] | None = None
) -> Path:
    """Write the page from the results of this run (the files it wrote, or the whole folder) and the committed ones."""
    store = Store(fresh, committed, files_written)
    judged = judge_all(store, tuple(load_claims()))
    environment = template_environment()
    sections = [found for item in EXPERIMENTS.values() if (found := _section(environment, item, store, judged))]
    incomplete = {
        (section.experiment.name, body.result.model)
        for section in sections
        for body in section.bodies
        if not body.complete
    }
    evidence = Evidence(store.for_findings(incomplete))
    findings = read_findings(evidence)
    universality = read_universality(store, load_claims())
    rows = universality.rows if universality else ()
    highlights = read_highlights(judged, findings.identity, read_natural_association(evidence), rows)
    trained = trained_models(evidence)
    shown = [section.experiment for section in sections]
    page = Page(
        version=__version__,
        explorer=(out / "explorer.html").is_file(),
        sections=sections,
        judged=judged,
        classes=count_classes(judged, [model.name for model in trained if model.stopped_early]),
        verdicts=by_section(judged),
        families=by_family(judged),
        your_run=read_your_run(store, judged),
        highlights=highlights,
        key=read_key(highlights),
        findings=findings,
        universality=universality,
        seeds_figure=seeds_figure(rows),
        methods=read_methods(evidence),
        trained=trained,
        missing=[item for item in EXPERIMENTS.values() if item.can_run and item not in shown],
        experiments=[item for item in EXPERIMENTS.values() if item.can_run],
    )
    path = out / "report.html"
    write_text(path, reachable_tables(number_figures(environment.get_template("page.html.jinja").render(page=page))))
    return path


def number_figures(html: str) -> str:
    """Every caption starts with its figure's number, in the order of the page.

    Folded figures have numbers of their own, so that those that are seen follow on one another.
    """
    shown, folded = count(1), count(1)
    depth, parts = 0, []
    for part in re.split("(<details|</details>|<figcaption>)", html):
        depth += {"<details": 1, "</details>": -1}.get(part, 0)
        if part == "<figcaption>":
            part += f"<b>Figure {f'F{next(folded)}' if depth else next(shown)}.</b> "
        parts.append(part)
    return "".join(parts)


def reachable_tables(html: str) -> str:
    """A table that is wider than a narrow window scrolls sideways; without a mouse only what has the focus scrolls."""
    return html.replace(
        '<div class="scroll">', '<div class="scroll" role="group" tabindex="0" aria-label="A table; scrolls sideways">'
    )


def _section(
    environment: Environment, experiment: Experiment, store: Store, judged: list[JudgedClaim]
) -> Section | None:
    """A section with a part per model that has a result, or None where nothing would be shown."""
    stored = [store.get(experiment.name, model) for model in store.models(experiment.name)]
    found = [item.as_shown() for item in stored if item is not None]
    shown = [item for item in found if item.has_own_section]
    together = _together(environment, experiment, [item.result for item in found])
    if not shown and not together:
        return None
    own = [row for row in judged if row.claim.experiment == experiment.name and row.deciding.ours is not None]
    readings = [_reading(experiment, item, found) for item in shown]
    joined = [i for i, reading in enumerate(readings) if reading is not None and shown[i].of_papers_world]
    return Section(
        experiment,
        _side_by_side(environment, experiment, [shown[i] for i in joined], [readings[i] for i in joined]),
        [_body(environment, experiment, shown[i], readings[i]) for i in range(len(shown)) if i not in joined],
        shown,
        together,
        own,
        folded=bool(store.of_this_run()) and not any(item.origin == THIS_RUN for item in shown),
    )


def _reading(experiment: Experiment, item: Stored, others: list[Stored]) -> Any:
    """None where the result lacks values that the text quotes, as for a model with a single head."""
    values = Values(item.result)
    try:
        reading = experiment.part("reading").read(values)
    except NotMeasuredError:
        reading = None
    _refuse_unknown(experiment, values, [other.result for other in others])
    return reading


def _side_by_side(environment: Environment, experiment: Experiment, items: list[Stored], readings: list[Any]) -> Markup:
    """A section's text about these models together, their curves in the same figures."""
    if not items:
        return Markup("")
    models = Models(OfModel(item.result.model, reading) for item, reading in zip(items, readings))
    figures = _pictures(experiment, *[item.result for item in items])
    return _words(environment, experiment, "section", models=models, r=readings[0], figures=figures)


def _body(environment: Environment, experiment: Experiment, item: Stored, reading: Any) -> Body:
    """A section's text about one result; without a reading its values are listed instead."""
    if reading is None:
        numbers = {key: Number(estimate, "") for key, estimate in item.result.values.items()}
        figures = _pictures(experiment, item.result)
        html = environment.get_template("values.html.jinja").render(numbers=numbers, figures=figures)
        return Body(Markup(html), False, item)
    return Body(_side_by_side(environment, experiment, [item], [reading]), True, item)


def _pictures(experiment: Experiment, *results: Result) -> dict[str, Markup]:
    """The drawings, each in a box that scrolls where the window is too narrow for legible text."""
    box = Markup('<div class="scroll picture">{}</div>')
    return {name: box.format(drawn) for name, drawn in drawings(experiment, *results).items()}


def _words(environment: Environment, experiment: Experiment, part: str, **names: Any) -> Markup:
    """A template of the experiment's folder, rendered."""
    file = f"{experiment.name}/{part}.html.jinja"
    try:
        return Markup(environment.get_template(file).render(names))
    except (UndefinedError, TemplateSyntaxError) as error:
        raise InputError(f"{file}: {error}") from error


def _refuse_unknown(experiment: Experiment, values: Values, results: Iterable[Result]) -> None:
    """A value that only this result lacks was not measured; one that no result contains is an error in reading.py.
    Optional values are not looked at: a small run may lack them all (a test compares them with the committed results).

    Where only models of other worlds or lengths have results, the two cannot be distinguished.
    """
    held = {result.model: names_held(result) for result in results}
    mistyped = [name for name in values.missing if not any(name in names for names in held.values())]
    if mistyped and {"data", SHIPPED} & held.keys():
        raise InputError(f"{experiment.name}/reading.py asks for {mistyped[0]!r}, which no result holds")


def _together(environment: Environment, experiment: Experiment, results: list[Result]) -> Markup:
    """The comparison of several models, where the experiment has a template for it."""
    if len(results) < 2 or not (experiment.folder / "together.html.jinja").is_file():
        return Markup("")
    try:
        reading = experiment.part("reading").read_together([Values(result) for result in results])
    except NotMeasuredError:
        return Markup("")
    return _words(environment, experiment, "together", r=reading)


def read_methods(evidence: Evidence) -> Methods:
    fewest, most = released.STEPS_TO_99
    return Methods(
        step_seconds=released.STEP_SECONDS,
        target=Stated(100 * TARGET, "%"),
        text_steps=Span(Stated(fewest), Stated(most)),
        figure_steps=Stated(steps_in_figure()),
        risen=Stated(RISEN),
        figure_risen=Stated(steps_in_figure(RISEN)),
        step_times=_step_times(evidence),
    )


def _step_times(evidence: Evidence) -> list[StepTime]:
    """The recipe timed by `speedrun`, and our run of it, whose seconds include compilation."""
    if not evidence.has("speedrun", RECIPE_AS_RELEASED) or not evidence.has("training", PREFERRED[0]):
        return []
    timed, run = evidence.of("speedrun", RECIPE_AS_RELEASED), evidence.of("training", PREFERRED[0])
    recipes = [values.config["training"] for values in (timed, run)]
    if any(recipes[0][key] != recipes[1][key] for key in SAME_WORK):
        return []
    milliseconds = [
        timed.number("milliseconds_a_step").value,
        1000 * run.detail("seconds")[-1] / run.detail("steps")[-1],
    ]
    names = (RECIPE_AS_RELEASED, display_name(PREFERRED[0]))
    return [StepTime(name, recipe["precision"], f"{ms:.0f}") for name, recipe, ms in zip(names, recipes, milliseconds)]


def trained_models(evidence: Evidence) -> list[TrainedModel]:
    return [_trained(model, evidence.of("training", model)) for model in evidence.models("training")]


def _trained(name: str, values: Values) -> TrainedModel:
    recipe = values.config["training"]
    return TrainedModel(
        name=display_name(name),
        d_model=recipe["d_model"],
        steps=Stated(recipe["steps"]),
        schedule_steps=Stated(recipe.get("schedule_steps") or recipe["steps"]),
        optimiser=OPTIMISERS[recipe["optimiser"]],
        precision=recipe["precision"],
        seed=recipe["seed"],
        holdout=values.optional("final_holdout"),
    )


def template_environment() -> Environment:
    """Templates of report/templates, and as `copying/section.html.jinja` those of the experiments' folders."""

    def of_experiment(name: str) -> str | None:
        experiment, _, file = name.partition("/")
        known = EXPERIMENTS.get(experiment)
        return (known.folder / file).read_text(encoding="utf-8") if known and file else None

    return Environment(
        loader=ChoiceLoader([FunctionLoader(of_experiment), PackageLoader("icalgebra.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
