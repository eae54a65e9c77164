"""The page: sections that have results, the verdict table, and how to rerun each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from icalgebra import __version__
from icalgebra.claims import Claim, load_claims
from icalgebra.experiments import EXPERIMENTS
from icalgebra.figures import accuracy_by_facts as by_facts_figures
from icalgebra.figures import architecture as architecture_figures
from icalgebra.figures import cancellation as cancellation_figures
from icalgebra.figures import ceiling as ceiling_figures
from icalgebra.figures import closure as closure_figures
from icalgebra.figures import copying as copying_figures
from icalgebra.figures import coverage as coverage_figures
from icalgebra.figures import distributions as distributions_figures
from icalgebra.figures import dynamics as dynamics_figures
from icalgebra.figures import heads as heads_figures
from icalgebra.figures import identity as identity_figures
from icalgebra.figures import mixing as mixing_figures
from icalgebra.figures import model_coverage as model_coverage_figures
from icalgebra.figures import probes as probes_figures
from icalgebra.figures import subspaces as subspaces_figures
from icalgebra.figures import svg
from icalgebra.figures import training as training_figures
from icalgebra.figures import unseen_structures as unseen_figures
from icalgebra.files import write_text
from icalgebra.report.numbers import Measured, number, shower
from icalgebra.report.store import Judged, Store, stands_alone
from icalgebra.results import Result

Draw = Callable[[Result], Any]
DIGITS = {"%": 1, "steps": 0, "nats": 4}  # two for any other unit


@dataclass(frozen=True)
class Section:
    """One question of the paper: its template is templates/<experiment>.html.jinja."""

    experiment: str
    rows: tuple[str, ...]
    figures: dict[str, Draw]
    title: str = ""  # where it is not the experiment's
    together: str = ""  # a template over all models at once


# By the letter their rows begin with.
FAMILIES = {
    "B": "behaviour",
    "C": "coverage and distributions",
    "K": "copying",
    "I": "the identity",
    "L": "closure, cancellation, subspaces, probes",
    "P": "phases of training",
    "S": "architecture and mixing",
    "O": "the ceiling",
}

SECTIONS = (
    Section("training", ("B3",), {"holdout": training_figures.holdout, "skills": training_figures.skills}),
    Section("speedrun", (), {}, "How fast does it learn?"),
    Section(
        "coverage",
        ("C1", "C2", "B2", "L3d"),
        {"stacked": coverage_figures.stacked, "beside_published": coverage_figures.beside_published},
    ),
    Section(
        "ceiling",
        ("O1",),
        {"beside_solvers": ceiling_figures.beside_solvers, "by_structure": ceiling_figures.by_structure},
    ),
    Section(
        "accuracy_by_facts",
        ("B1",),
        {"by_structure": by_facts_figures.by_structure, "causes": by_facts_figures.causes},
    ),
    Section(
        "unseen_structures",
        ("B4", "B5"),
        {
            "order_8": unseen_figures.order_8,
            "all_structures": unseen_figures.all_structures,
            "cancellation": unseen_figures.cancellation,
        },
    ),
    Section("model_coverage", ("C1m", "C2m"), {"over_mechanisms": model_coverage_figures.over_mechanisms}),
    Section("distributions", ("C3",), {"by_distribution": distributions_figures.by_distribution}),
    Section(
        "copying",
        ("K1", "K2", "K3"),
        {
            "effects": copying_figures.effects,
            "strips": copying_figures.strips,
            "decoded": copying_figures.decoded,
        },
    ),
    Section(
        "identity",
        ("I1", "I2", "I3"),
        {
            "scatter": identity_figures.scatter,
            "heads": identity_figures.heads,
            "steered": identity_figures.steered,
            "dose_response": identity_figures.dose_response,
        },
    ),
    Section(
        "heads",
        (),
        {"roles": heads_figures.roles, "worth": heads_figures.worth},
        together="heads_together.html.jinja",
    ),
    Section("closure", ("L1",), {"two_queries": closure_figures.two_queries, "measured": closure_figures.measured}),
    Section(
        "cancellation",
        ("L5",),
        {
            "strips": cancellation_figures.strips,
            "attention": cancellation_figures.attention,
            "attend_and_demote": cancellation_figures.attend_and_demote,
        },
    ),
    Section(
        "subspaces",
        ("L2", "L3"),
        {
            "curves": subspaces_figures.curves,
            "controls": subspaces_figures.controls,
            "closure_sweep": subspaces_figures.closure_sweep,
            "elimination_sweep": subspaces_figures.elimination_sweep,
            "heads": subspaces_figures.heads,
        },
    ),
    Section(
        "probes",
        ("L4",),
        {
            "accuracy": probes_figures.accuracy,
            "unembedding": probes_figures.unembedding,
            "among_probes": probes_figures.among_probes,
        },
    ),
    Section(
        "dynamics",
        ("P1", "P2"),
        {"phases": dynamics_figures.phases, "seeds": dynamics_figures.seeds, "roles": dynamics_figures.roles},
    ),
    Section(
        "architecture",
        ("S1",),
        {"courses": architecture_figures.courses, "beside_published": architecture_figures.beside_published},
    ),
    Section("mixing", ("S2",), {"courses": mixing_figures.courses, "skills": mixing_figures.skills}),
)


def build_report(out: Path, fresh: Path | None, committed: Path | None) -> Path:
    """Write the page from the results of this run and the committed ones."""
    store = Store(fresh, committed)
    judged = [item for claim in load_claims() for item in store.judge(claim)]
    environment = _environment()
    sections = [_render(environment, section, store, judged) for section in SECTIONS]
    html = environment.get_template("page.html.jinja").render(
        version=__version__,
        sections=[section for section in sections if section],
        judged=by_claim(judged),
        families=families(judged),
        verdicts=Counter(item.verdict for item in judged if item.counts),
        measured=Measured(store),
        missing=[name for name in EXPERIMENTS if not store.models(name)],
        results=store.all(),
    )
    path = out / "report.html"
    write_text(path, html)
    return path


def _render(environment: Environment, section: Section, store: Store, judged: list[Judged]) -> dict[str, Any] | None:
    """One section for every model that has its result, or None where nobody has."""
    stored = [store.get(section.experiment, model) for model in store.models(section.experiment)]
    found = [item for item in stored if item is not None]
    if not found:
        return None
    template = environment.get_template(f"{section.experiment}.html.jinja")
    bodies = [
        {
            "html": Markup(template.render(**_context(section, item.result))),
            "result": item.result,
            "origin": item.origin,
        }
        for item in found
        if stands_alone(item.result.model)
    ]
    return {
        "name": section.experiment,
        "title": section.title or EXPERIMENTS[section.experiment].title,
        "bodies": bodies,
        "together": _together(environment, section, [item.result for item in found]),
        "judged": by_claim([item for item in judged if item.claim.row in section.rows and item.ours is not None]),
    }


def _together(environment: Environment, section: Section, results: list[Result]) -> Markup:
    """What several models have to say side by side, where the section has words for that."""
    if not section.together or len(results) < 2:
        return Markup("")
    return Markup(environment.get_template(section.together).render(results=results))


def by_claim(judged: list[Judged]) -> list[tuple[Claim, list[Judged]]]:
    """Each claim once, with every model's verdict on it."""
    return [(claim, list(items)) for claim, items in groupby(judged, key=lambda item: item.claim)]


def families(judged: list[Judged]) -> dict[str, dict[str, Counter[str]]]:
    """Verdicts counted by family of claims and model."""
    counts: dict[str, dict[str, Counter[str]]] = {title: {} for title in FAMILIES.values()}
    for item in (item for item in judged if item.counts):
        counts[FAMILIES[item.claim.row[0]]].setdefault(item.model, Counter())[item.verdict] += 1
    return counts


def _context(section: Section, result: Result) -> dict[str, Any]:
    """What a section's template can use: the result lets it choose its words, numbers are written by show alone."""
    return {"result": result, "show": shower(result), "figures": _drawn(section, result)}


def _drawn(section: Section, result: Result) -> dict[str, Markup]:
    return {name: Markup(svg(draw(result))) for name, draw in section.figures.items()}


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("icalgebra.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["number"] = lambda estimate, unit="": Markup(number(estimate, unit))
    return environment
