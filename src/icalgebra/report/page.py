"""The page: sections that have results, the verdict table, and how to rerun each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
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
from icalgebra.claims import Claim
from icalgebra.errors import InputError
from icalgebra.experiments import EXPERIMENTS, Experiment, load_claims
from icalgebra.experiments.shared import released
from icalgebra.experiments.shared.readings import NotMeasuredError, Number, Stated, Values, names_held
from icalgebra.report.drawings import drawings
from icalgebra.report.evidence import Evidence, Span
from icalgebra.report.findings import Findings, read_findings
from icalgebra.report.findings_training import TARGET, steps_in_figure
from icalgebra.report.store import SHIPPED, Judged, Store, Stored
from icalgebra.results import Result

RISEN = 0.95  # where the curve of the paper's Figure 2b ends its abrupt rise
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
class JudgedClaim:
    """A claim with every model's verdict on it."""

    claim: Claim
    verdicts: list[Judged]

    @property
    def n_rows(self) -> int:
        return len(self.verdicts)

    @property
    def gives_reason(self) -> bool:
        return bool(self.claim.why) and any(item.needs_reason for item in self.verdicts)

    @property
    def published(self) -> str:
        """As the paper states it, a number with its unit."""
        unit = "" if isinstance(self.claim.published, str) else self.claim.unit
        return f"{self.claim.published}\N{NO-BREAK SPACE}{unit}" if unit else str(self.claim.published)


@dataclass(frozen=True)
class Section:
    experiment: Experiment
    bodies: list[Body]
    together: Markup
    judged: list[JudgedClaim]

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
    n_layers: int
    n_heads: int
    d_model: int
    steps: int
    optimiser: str

    @property
    def of_papers_size(self) -> bool:
        return (self.n_layers, self.n_heads, self.d_model) == released.SIZE


@dataclass(frozen=True)
class Methods:
    """Numbers of the paper and of its code that the methods quote."""

    step_seconds: float  # of the released code, on an H200
    target: Stated  # hold-out accuracy
    text_steps: Span  # to the target, by the paper's text
    figure_steps: Stated  # the same by its Figure 2b
    risen: Stated  # the accuracy at which the abrupt rise of that curve ends
    figure_risen: Stated  # and the step


@dataclass(frozen=True)
class Page:
    """What page.html.jinja uses."""

    version: str
    explorer: bool  # whether the explorer's page lies beside this one
    sections: list[Section]
    judged: list[JudgedClaim]
    families: dict[str, dict[str, Counter[str]]]
    verdicts: Counter[str]
    findings: Findings
    methods: Methods
    trained: list[TrainedModel]
    missing: list[Experiment]
    experiments: list[Experiment]  # those that can be rerun

    @property
    def n_claims(self) -> int:
        return len(self.judged)

    @property
    def n_late(self) -> int:
        return sum(item.claim.late for item in self.judged)

    @property
    def n_before(self) -> int:
        """Rules written down before measuring."""
        return self.n_claims - self.n_late


def build_report(
    out: Path, fresh: Path | None, committed: Path | None, files_written: Collection[Path] | None = None
) -> Path:
    """Write the page from the results of this run (the files it wrote, or the whole folder) and the committed ones."""
    store = Store(fresh, committed, files_written)
    judged = [item for claim in load_claims() for item in store.judge(claim)]
    environment = template_environment()
    sections = [found for item in EXPERIMENTS.values() if (found := _section(environment, item, store, judged))]
    incomplete = {
        (section.experiment.name, body.result.model)
        for section in sections
        for body in section.bodies
        if not body.complete
    }
    evidence = Evidence(store.for_findings(incomplete))
    page = Page(
        version=__version__,
        explorer=(out / "explorer.html").is_file(),
        sections=sections,
        judged=by_claim(judged),
        families=families(judged),
        verdicts=Counter(item.verdict for item in judged if item.counts),
        findings=read_findings(evidence),
        methods=read_methods(),
        trained=trained_models(evidence),
        missing=[item for item in EXPERIMENTS.values() if item.can_run and not store.models(item.name)],
        experiments=[item for item in EXPERIMENTS.values() if item.can_run],
    )
    path = out / "report.html"
    write_text(path, environment.get_template("page.html.jinja").render(page=page))
    return path


def _section(environment: Environment, experiment: Experiment, store: Store, judged: list[Judged]) -> Section | None:
    """A section with a part per model that has a result, or None where there is no result."""
    stored = [store.get(experiment.name, model) for model in store.models(experiment.name)]
    found = [item for item in stored if item is not None]
    if not found:
        return None
    own = [item for item in judged if item.claim.experiment == experiment.name and item.ours is not None]
    return Section(
        experiment,
        [_body(environment, experiment, item, found) for item in found if item.has_own_section],
        _together(environment, experiment, [item.result for item in found]),
        by_claim(own),
    )


def _body(environment: Environment, experiment: Experiment, item: Stored, others: list[Stored]) -> Body:
    """A section's text about one result. Where the result lacks values that the text quotes, as for a model with a
    single head, its values are listed instead."""
    values, figures = Values(item.result), drawings(experiment, item.result)
    try:
        reading = experiment.part("reading").read(values)
    except NotMeasuredError:
        reading = None
    _refuse_unknown(experiment, values, [other.result for other in others])
    if reading is None:
        numbers = {key: Number(estimate, "") for key, estimate in item.result.values.items()}
        html = environment.get_template("values.html.jinja").render(numbers=numbers, figures=figures)
        return Body(Markup(html), False, item)
    return Body(_words(environment, experiment, "section", r=reading, figures=figures), True, item)


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


def by_claim(judged: list[Judged]) -> list[JudgedClaim]:
    return [JudgedClaim(claim, list(items)) for claim, items in groupby(judged, key=lambda item: item.claim)]


def families(judged: list[Judged]) -> dict[str, dict[str, Counter[str]]]:
    """Numbers of verdicts by family of claims and model."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for item in (item for item in judged if item.counts):
        counts.setdefault(item.claim.family, {}).setdefault(item.model, Counter())[item.verdict] += 1
    return counts


def read_methods() -> Methods:
    fewest, most = released.STEPS_TO_99
    return Methods(
        step_seconds=released.STEP_SECONDS,
        target=Stated(100 * TARGET, "%"),
        text_steps=Span(Stated(fewest), Stated(most)),
        figure_steps=Stated(steps_in_figure()),
        risen=Stated(RISEN),
        figure_risen=Stated(steps_in_figure(RISEN)),
    )


def trained_models(evidence: Evidence) -> list[TrainedModel]:
    recipes = {model: evidence.of("training", model).config["training"] for model in evidence.models("training")}
    return [
        TrainedModel(
            name, recipe["n_layers"], recipe["n_heads"], recipe["d_model"], recipe["steps"],
            OPTIMISERS[recipe["optimiser"]],
        )
        for name, recipe in recipes.items()
    ]  # fmt: skip


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
