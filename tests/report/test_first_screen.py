"""The first screen: what its titles say, what is drawn on one line, what is seen without scrolling; models' names."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers import ROOT
from icalgebra.claims import Verdict
from icalgebra.experiments import load_claims
from icalgebra.plotting import MODEL_COLOURS, model_colours
from icalgebra.report.highlights import FINDINGS, Highlight, read_highlights
from icalgebra.report.page import build_report, number_figures
from icalgebra.report.store import Judged
from icalgebra.report.verdicts import JudgedClaim
from icalgebra.results import display_name, read_result, write_result
from icalgebra.statistics import Estimate
from icalgebra.verdicts import Decision

DRAWN = [item.claim for _, items in FINDINGS.values() for item in items]
CLAIMS = {item.id: item for item in load_claims() if item.id in DRAWN}


def judged(claim: str, verdict: Verdict = "reproduced", **values: float) -> JudgedClaim:
    """Every model's value with a narrow interval; the verdict is that of each."""
    items = [
        Judged(CLAIMS[claim], model, Estimate(x, x - 0.01, x + 0.01, 9), Decision(verdict), "committed, full tier")
        for model, x in (values or {"published": 0.5}).items()
    ]
    return JudgedClaim(CLAIMS[claim], items)


def highlight(name: str, identity: Any = None, **changed: JudgedClaim) -> Highlight:
    rows = {claim: judged(claim) for claim in DRAWN} | {row.claim.id: row for row in changed.values()}
    (found,) = [item for item in read_highlights(list(rows.values()), identity) if item.name == name]
    return found


@pytest.mark.parametrize(
    "best, second, says",
    [
        ("reproduced", "stronger here", "yes"),
        ("reproduced", "differs", "first only"),
        ("differs", "reproduced", "second only"),
        ("reproduced", "undecided", "in part"),  # which is not to say that the second differs
        ("differs", "undecided", "no"),
    ],
)
def test_a_part_of_two_claims_says_which_one_agrees(best: Verdict, second: Verdict, says: str) -> None:
    found = highlight("copying", a=judged("K1.copy_best", best), b=judged("K1.copy_second", second))
    assert found.says == ["yes", says]
    assert found.overall == ("yes" if says == "yes" else "in part")


@pytest.mark.parametrize("steers", ["at one", "at two", "no"])
def test_a_direction_that_does_not_steer_as_published_says_how_far_it_must_go(steers: str) -> None:
    models = [SimpleNamespace(model="small", steers="at one"), SimpleNamespace(model="rerun", steers=steers)]
    assert highlight("copying", SimpleNamespace(models=models)).direction is None
    differ = {claim: judged(claim, "differs") for claim in DRAWN if claim.startswith("I3")}
    found = highlight("steering", SimpleNamespace(models=models), **{c.replace(".", "_"): r for c, r in differ.items()})
    assert (found.says, found.overall, found.direction) == ([steers], "no", models[1])
    assert highlight("steering", SimpleNamespace(models=models)).says == ["yes"]


def test_a_model_is_said_to_come_closer_only_where_it_does() -> None:
    stated = CLAIMS["C2m.over_ceiling"].number

    def position(**off: float) -> str:
        values = {model: stated + distance for model, distance in off.items()}
        found = highlight("ceiling", a=judged("C2m.over_ceiling", **values)).position
        return unescape(re.sub("</?code>", "", found))

    both = "small and fast come closer to it than the paper's model, rerun stays further below"
    assert position(published=-5, small=4, fast=2) == both
    assert position(published=-5) == "rerun stays further below it than the paper's model"
    assert position(published=-5, small=4).startswith("small comes closer")
    assert position(published=0) == ""


def test_what_is_another_quantity_is_not_drawn_on_the_same_line() -> None:
    picture = highlight("copying", a=judged("K4.share", published=1.24)).picture
    assert "0.91 → 1.24" not in picture
    assert "0.91 → " in picture  # of K1, which is the paper's quantity
    assert picture.count('class="published"') == 2
    assert picture.count('class="tick"') == 1  # the line is longer than one, and says where one is
    x = [float(found) for found in re.findall('<circle cx="([^"]+)"', picture)]
    assert max(x) <= 294


def test_a_value_of_another_model_than_the_key_names_is_named() -> None:
    picture = highlight("copying", a=judged("K4.share", small=0.9)).picture
    assert picture.count("<tspan>small</tspan>") == picture.count("<tspan>") == 1


@pytest.mark.parametrize(
    "model, name", [("published", "rerun"), ("published-seed1", "rerun-seed1"), ("small", "small"), ("paper", "paper")]
)
def test_our_run_of_the_papers_recipe_is_not_called_published(model: str, name: str) -> None:
    assert display_name(model) == name


def test_on_the_page_published_is_the_paper(built: Path, committed_names: set[str]) -> None:
    """Our run keeps its name only where the preset is named."""
    html = built.read_text(encoding="utf-8")
    for found in re.finditer('<code>published</code>|<option>published|data-model="published|[(]published[)]', html):
        assert html[: found.start()].endswith("(preset "), html[found.start() - 80 : found.end()]
    assert html.count("<code>rerun</code>") > 50
    assert {"rerun", "small", "fast"} <= committed_names
    assert "published" not in committed_names


@pytest.fixture
def committed_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[str]:
    """The models' names that figures are given."""
    names: set[str] = set()

    def drawings(experiment: Any, *results: Any) -> dict[str, str]:
        names.update(result.model for result in results)
        return {draw.__name__: "" for draw in experiment.figures}

    monkeypatch.setattr("icalgebra.report.page.drawings", drawings)
    build_report(tmp_path, None, ROOT / "results")
    return names


def test_a_model_keeps_its_colour_under_either_name() -> None:
    found = read_result(ROOT / "results" / "full" / "published" / "closure.json")
    assert model_colours([found])["published"] == model_colours([found.as_shown()])["rerun"] == MODEL_COLOURS["rerun"]


def test_a_result_without_the_text_of_its_section_is_left_out_of_the_findings(tmp_path: Path, undrawn: None) -> None:
    """Also under the name that is shown instead of its own."""
    whole = read_result(ROOT / "results" / "full" / "published" / "closure.json")
    partly = replace(whole, values={"topk": whole.values["topk"]})
    for item in (partly, read_result(ROOT / "results" / "full" / "small" / "closure.json")):
        write_result(tmp_path / "results", item)
    html = build_report(tmp_path, None, tmp_path / "results").read_text(encoding="utf-8")
    assert "needs measurements that this model does not have" in html
    assert "<code>rerun</code></summary>" in html


def test_figures_that_are_seen_are_numbered_one_after_another() -> None:
    page = number_figures(
        "<figcaption>a<details><summary>b</summary><figcaption>c<details><figcaption>d</details></details><figcaption>e"
    )
    assert re.findall(r"<b>Figure (\w+)\.</b> (\w)", page) == [("1", "a"), ("F1", "c"), ("F2", "d"), ("2", "e")]


def test_the_first_screen_is_seen_without_scrolling(page: Any, built: Path) -> None:
    page.set_viewport_size({"width": 1300, "height": 1000})
    page.goto(built.as_uri())
    bottom = (
        "name => Math.max(...[...document.querySelectorAll(name)].map(item => item.getBoundingClientRect().bottom))"
    )
    for part in (".key li", ".highlights li", ".limits .signs"):
        assert page.evaluate(f"({bottom})('{part}')") <= 1000, part
    assert page.locator(".highlights .small-picture").count() == 5


@pytest.mark.parametrize("width", [1300, 420])
def test_nothing_scrolls_sideways(page: Any, built: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(built.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    parts = "[...document.querySelectorAll('nav a, .highlights *, .key *')]"
    assert page.evaluate(f"{parts}.filter(part => part.getBoundingClientRect().right > innerWidth).length") == 0
