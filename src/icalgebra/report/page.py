"""The page: sections that have results, the verdict table, and how to rerun each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, UndefinedError
from markupsafe import Markup

from icalgebra import __version__
from icalgebra.atomic_files import write_text
from icalgebra.claims import Claim, load_claims
from icalgebra.experiments import EXPERIMENTS
from icalgebra.report.numbers import Measured, number, shower
from icalgebra.report.sections import FAMILIES, SECTIONS, Section
from icalgebra.report.store import Judged, Store, Stored
from icalgebra.results import Result
from icalgebra.train.presets import PRESETS


def build_report(
    out: Path, fresh: Path | None, committed: Path | None, written: Collection[Path] | None = None
) -> Path:
    """Write the page from the results of this run (the files it wrote, or the whole folder) and the committed ones."""
    store = Store(fresh, committed, written)
    judged = [item for claim in load_claims() for item in store.judge(claim)]
    environment = _environment()
    sections = [found for section in SECTIONS if (found := _render(environment, section, store, judged))]
    bodies = [(section["name"], body) for section in sections for body in section["bodies"]]
    incomplete = {(name, body["result"].model) for name, body in bodies if not body["complete"]}
    html = environment.get_template("page.html.jinja").render(
        version=__version__,
        sections=sections,
        judged=by_claim(judged),
        families=families(judged),
        verdicts=Counter(item.verdict for item in judged if item.counts),
        measured=Measured(store.for_findings(incomplete)),
        experiments=EXPERIMENTS,
        presets=PRESETS,
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
    return {
        "name": section.experiment,
        "title": section.title,
        "bodies": [_body(template, section, item) for item in found if item.has_own_place],
        "together": _together(environment, section, [item.result for item in found]),
        "judged": by_claim([item for item in judged if item.claim.row in section.rows and item.ours is not None]),
    }


def _body(template: Template, section: Section, item: Stored) -> dict[str, Any]:
    """A section's words about one result. They may weigh numbers that a model of one head, say, was never asked for:
    it is then incomplete, and its drawings and values are shown as they are."""
    context = _context(section, item.result)
    try:
        html, complete = template.render(**context), True
    except UndefinedError:
        html, complete = template.environment.get_template("values.html.jinja").render(**context), False
    return {"html": Markup(html), "complete": complete, "result": item.result, "origin": item.origin}


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
    return {"result": result, "show": shower(result), "figures": section.drawn(result)}


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("icalgebra.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["number"] = lambda estimate, unit="": Markup(number(estimate, unit))
    environment.filters["proper"] = {"muon": "Muon", "adamw": "AdamW"}.get
    return environment
