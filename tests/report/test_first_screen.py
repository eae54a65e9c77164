"""The first screen: what its titles say, what is drawn on one line, what is seen without scrolling; models' names."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers import ROOT
from icalgebra.claims import Verdict
from icalgebra.experiments import load_claims
from icalgebra.experiments.shared.readings import Number
from icalgebra.plotting import MODEL_COLOURS, model_colours
from icalgebra.report.findings_behaviour import OfModel
from icalgebra.report.highlights import FINDINGS, MARGIN, WIDTH, Highlight, read_highlights, read_key
from icalgebra.report.page import build_report, number_figures
from icalgebra.report.store import Judged
from icalgebra.report.universality import SOURCES, Cell, Row, Tally
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


def direction(model: str, steers: str, once: float = 10.0, twice: float | None = None) -> Any:
    """Shares in per cent, as the claim states them."""
    moves = [value if value is None else steered(value / 100) for value in (once, twice)]
    moves[0].works = steers == "at one"
    return SimpleNamespace(model=model, steers=steers, once=moves[0], twice=moves[1])


def steered(share: float) -> Any:
    return SimpleNamespace(plus=Number(Estimate(share, share, share, 9)), random=Number(Estimate(0.1, 0.1, 0.1, 9)))


def steering(deciding: Any, *others: Any, verdict: Verdict = "differs") -> Highlight:
    rows = {claim.replace(".", "_"): judged(claim, verdict) for claim in DRAWN if claim.startswith("I3")}
    return highlight("steering", SimpleNamespace(models=[*others, deciding]), **rows)


HALF = CLAIMS["I3.plus_distance"].number / 2


@pytest.mark.parametrize(
    "steers, once, twice, says",
    [
        ("at one", HALF - 0.1, None, "much weaker"),
        ("at one", HALF - 0.1, HALF + 0.1, "weaker"),  # the larger move counts
        ("at two", 10.0, HALF - 0.1, "much weaker"),
        ("no", HALF + 0.1, None, "no"),
    ],
)
def test_a_direction_that_does_not_steer_as_published_is_weaker(
    steers: str, once: float, twice: float | None, says: str
) -> None:
    found = steering(direction("rerun", steers, once, twice), direction("small", "at one", 90.0))
    assert (found.says, found.overall) == ([says], "no")
    assert found.steering is not None
    assert [item.model for item in found.steering.moves] == ["rerun", "small"]
    assert steering(direction("rerun", steers), verdict="reproduced").says == ["yes"]
    assert highlight("copying", SimpleNamespace(models=[direction("rerun", steers)])).steering is None


def test_only_a_move_by_the_papers_length_is_drawn_beside_its_number() -> None:
    """And what cannot be compared decides no title."""
    rows = {claim.replace(".", "_"): judged(claim) for claim in DRAWN if claim.startswith("I3")}
    found = highlight("steering", **{**rows, "I3_plus": judged("I3.plus", "not comparable", published=18.3)})
    assert found.says == ["yes"]
    assert (found.picture.count('class="published"'), found.picture.count("→")) == (1, 1)
    assert "99.2 → 18.3" in found.picture


@pytest.mark.parametrize(
    "lower, start", [((75, 100, 150, 200), 75), ((25, 150, 200), 150), ((75, 100), None), ((), None)]
)
def test_where_association_falls_below_the_published_accuracy(lower: tuple[int, ...], start: int | None) -> None:
    """From there on at every number of facts; elsewhere it may lie above, which is a difference too."""
    rows = [judged(claim) for claim in DRAWN]
    for item in load_claims():
        if item.id.startswith("C3.associate_"):
            below = int(item.id.removeprefix("C3.associate_")) in lower
            value = item.number - 20 if below else item.number + 20
            verdicts = [Judged(item, "published", Estimate(value, value - 1, value + 1, 9), Decision("differs"), "")]
            rows = [row for row in rows if row.claim.id != item.id] + [JudgedClaim(item, verdicts)]
    (found,) = [item for item in read_highlights(rows, None) if item.name == "behaviour"]
    assert found.falls_from == start
    assert found.says[-1] == ("from" if start else "no")


@pytest.mark.parametrize("low, more", [(0.51, True), (0.5, False)])
def test_natural_facts_are_named_where_the_model_answers_more_of_them(low: float, more: bool) -> None:
    rows = {claim: judged(claim) for claim in DRAWN}
    rows["C3.associate_200"] = judged("C3.associate_200", "differs", published=49.99)
    natural = [OfModel("rerun", Number(Estimate(0.6, low, 0.7, 9)))]
    (found,) = [item for item in read_highlights(list(rows.values()), None, natural) if item.name == "behaviour"]
    assert bool(found.natural) == more
    rows["C3.copy_50"] = judged("C3.copy_50", "differs", published=1.0)  # the first that differs is another one
    (found,) = [item for item in read_highlights(list(rows.values()), None, natural) if item.name == "behaviour"]
    assert not found.natural


@pytest.mark.parametrize("value, just", [(98.1, "under"), (97.9, "")])
def test_a_near_miss_is_called_one_within_the_resolution_of_its_rule(value: float, just: str) -> None:
    assert (CLAIMS["L3.without_identity"].threshold, CLAIMS["L3.without_identity"].resolution) == (99.0, 1.0)
    sets = highlight("sets", a=judged("L3.without_identity", "differs", published=value, small=82.6))
    assert sets.says[-1] == ("nearly" if just else "first only")
    assert "≥ 99 → " in sets.picture
    found = sets.difference
    assert found is not None
    assert (found.just, found.others) == (just, "<code>small</code> 82.6\N{NO-BREAK SPACE}%")
    assert highlight("sets").difference is None


def test_the_key_names_the_models_in_the_pictures() -> None:
    rows = {claim: judged(claim, published=0.5) for claim in DRAWN}
    assert read_key(read_highlights(list(rows.values()), None)) == []
    rows["L6.closure"] = judged("L6.closure", published=0.5, mine=0.5, small=0.4, fast=0.3)
    key = read_key(read_highlights(list(rows.values()), None))
    assert [(item.sign, re.sub("</?code>", "", item.models)) for item in key] == [
        ("○", "small"),
        ("□", "fast"),
        ("△", "mine"),
    ]


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


def test_a_number_that_the_paper_does_not_state_is_drawn_alone_and_on_the_axis_of_the_others() -> None:
    picture = highlight("copying", a=judged("K4.share", published=1.24)).picture
    assert "→ 1.24" not in picture
    assert "0.91 → " in picture  # of K1, which is the paper's quantity
    assert picture.count('class="published"') == 2
    assert picture.count('class="tick"') == 4  # every line is longer than one, and says where one is
    ends = [float(found) for found in re.findall('x2="([^"]+)" y1="[^"]+" y2="[^"]+" class="span', picture)]
    assert max(ends) == WIDTH - MARGIN  # the whole interval, 1.25, is drawn


def test_a_value_of_another_model_than_the_key_names_is_named() -> None:
    picture = highlight("copying", a=judged("K4.share", small=0.9)).picture
    assert picture.count("<tspan>small</tspan>") == picture.count("<tspan>") == 1


def seeds_of(claim: str, **verdicts: tuple[Verdict, float]) -> Row:
    """A row of the table of seeds: one seed per name."""
    (source,) = (item for item in SOURCES if item.name == "sprint")
    items = [
        Judged(CLAIMS[claim], f"sprint-{name}", Estimate(x, x, x, 9), Decision(verdict), "committed, full tier")
        for name, (verdict, x) in verdicts.items()
    ]
    return Row(CLAIMS[claim], (Cell(source, tuple(items)),))


def test_every_seed_is_a_tick_and_the_first_claim_on_which_seeds_disagree_is_told() -> None:
    rows = [judged(claim) for claim in DRAWN]
    apart = seeds_of("K4.share", seed0=("reproduced", 0.99), seed1=("differs", 0.07), seed2=("undecided", 0.9))
    alike = seeds_of("K1.copy_best", seed0=("differs", 0.6), seed1=("differs", 0.5))
    found = {item.name: item for item in read_highlights(rows, None, (), [alike, apart])}
    seeds = found["copying"].seeds
    assert seeds is not None
    assert (seeds.label, seeds.row.spread) == ("one fact differs, copying head", "0.07 to 0.99")
    assert seeds.row.tally_of_seeds == Tally(1, 2)  # undecided does not count
    assert found["copying"].picture.count('class="seed"') == 5
    assert found["sets"].seeds is None
    assert 'class="seed"' not in found["sets"].picture
    assert highlight("copying").seeds is None


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


def test_the_limits_are_those_of_the_run(tmp_path: Path, undrawn: None) -> None:
    """Where it was stopped and at what accuracy; nothing of the kind after a whole schedule."""
    run = read_result(ROOT / "results" / "full" / "published" / "training.json")

    def limits(steps: int) -> str:
        config = {**run.config, "training": {**run.config["training"], "steps": steps, "seed": 7}}
        changed = replace(run, config=config, values={**run.values, "final_holdout": Estimate(0.876, 0.8, 0.9, 99)})
        shutil.copytree(ROOT / "results", tmp_path / str(steps))
        write_result(tmp_path / str(steps), changed)
        html = build_report(tmp_path / "page", None, tmp_path / str(steps)).read_text(encoding="utf-8")
        found = re.search('<li class="limits">(.*?)</li>', html, re.DOTALL)
        assert found
        return " ".join(re.sub("<[^>]*>", "", found[1]).split())

    early = limits(9000)
    assert "seed 7, bf16, stopped after 9 000 of 200 001 steps at 87.6 % hold-out accuracy; paper: 99 %" in early
    assert "30 000 to 75 000 steps by its text, 22 000 in Figure 2b" in early
    assert "stopped" not in limits(200_001)


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
    for part in (".key li", ".titled .signs", ".highlights li"):
        assert page.evaluate(f"({bottom})('{part}')") <= 1000, part
    assert page.locator(".highlights .small-picture").count() == 5
    key, first = (page.locator(part).first.bounding_box() for part in (".titled .signs", ".highlights li"))
    assert key["y"] + key["height"] <= first["y"]


@pytest.mark.parametrize("width", [1300, 420])
def test_nothing_scrolls_sideways(page: Any, built: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(built.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    parts = "[...document.querySelectorAll('nav a, .highlights *, .key *')]"
    assert page.evaluate(f"{parts}.filter(part => part.getBoundingClientRect().right > innerWidth).length") == 0
