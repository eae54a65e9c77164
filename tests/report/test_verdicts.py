"""Verdicts: each class from claims and results made by hand, counted by claim; the real files; your own run."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import ROOT
from icalgebra.claims import VERDICTS, Claim, Condition, read_claims
from icalgebra.errors import InputError
from icalgebra.experiments import load_claims
from icalgebra.report.page import build_report
from icalgebra.report.store import Judged, Store
from icalgebra.report.verdicts import JudgedClaim, by_section, count_classes, elapsed_seconds, judge_all
from icalgebra.results import Result, read_result, write_result
from icalgebra.statistics import Estimate
from icalgebra.verdicts import Decision, decide, fitting_settings


def claim(rule: str, threshold: float, **more: Any) -> Claim:
    stated = {"published": 50.0, "resolution": 2.0, **more}
    return Claim("X.y", "X", "family", "there", "text", "coverage", "key", rule=rule, threshold=threshold, **stated)


def result(low: float, value: float, high: float, n: int = 100, **others: Estimate) -> Result:
    values = {"key": Estimate(float(value), float(low), float(high), n), **others}
    return Result("coverage", "quick", "data", 0, {}, "command", values)


def exactly(value: float) -> Estimate:
    return Estimate(float(value), float(value), float(value), 100)


@pytest.mark.parametrize(
    "rule, threshold, better, interval, verdict",
    [
        ("within", 2.0, "", (49.0, 50.0, 51.0), "reproduced"),
        ("within", 2.0, "", (52.0, 52.0, 52.0), "reproduced"),  # the edge belongs to the rule
        ("within", 2.0, "", (52.01, 52.02, 52.03), "differs"),
        ("within", 2.0, "", (47.0, 47.5, 47.99), "differs"),
        ("within", 2.0, "", (50.0, 51.5, 53.0), "reproduced"),  # across the edge, but narrow enough to tell
        ("within", 2.0, "", (47.0, 51.5, 56.0), "undecided"),  # too wide to tell
        ("within", 2.0, "", (51.9, 52.1, 52.3), "undecided"),  # meets the rule only by its width
        ("within", 2.0, "higher", (52.01, 53.0, 54.0), "stronger here"),
        ("within", 2.0, "higher", (51.9, 53.0, 54.0), "reproduced"),  # not surely stronger
        ("within", 2.0, "higher", (46.0, 47.0, 47.9), "differs"),
        ("within", 2.0, "lower", (46.0, 47.0, 47.9), "stronger here"),
        ("within", 2.0, "lower", (52.01, 53.0, 54.0), "differs"),
        ("at_least", 99.0, "", (99.0, 99.0, 99.0), "reproduced"),
        ("at_least", 99.0, "", (97.0, 98.0, 98.99), "differs"),
        ("at_least", 99.0, "", (97.0, 98.0, 99.1), "undecided"),
        ("at_least", 99.0, "", (98.0, 99.5, 99.9), "reproduced"),
        ("at_least", 99.0, "", (90.0, 99.5, 99.9), "undecided"),
        ("at_most", 10.0, "", (10.0, 10.0, 10.0), "reproduced"),
        ("at_most", 10.0, "", (10.01, 11.0, 12.0), "differs"),
        ("at_most", 10.0, "", (9.0, 11.0, 14.0), "undecided"),
        ("at_most", 10.0, "higher", (10.01, 11.0, 12.0), "stronger here"),
        ("at_least", 10.0, "lower", (7.0, 8.0, 9.9), "stronger here"),
        ("within", 2.0, "", (float("nan"), 51.0, float("nan")), "reproduced"),  # a single observation
    ],
)
def test_the_rule_and_the_interval(rule: str, threshold: float, better: str, interval: Any, verdict: str) -> None:
    assert decide(claim(rule, threshold, better=better), result(*interval)).verdict == verdict


@pytest.mark.parametrize(
    "interval, told",
    [
        ((51.9, 52.1, 52.3), "the interval lies across the limit"),
        ((45.0, 53.0, 61.0), "the sample is too small: an interval of ± 2 points or less could tell"),
        ((47.0, 51.5, 56.0), "the sample is too small: an interval of ± 2 points or less could tell"),
    ],
)
def test_a_narrow_interval_is_not_called_wide(interval: Any, told: str) -> None:
    values = result(*(x / 100 for x in interval))
    assert decide(claim("within", 2.0, unit="%"), values) == Decision("undecided", told)


def test_what_was_not_measured_says_so() -> None:
    assert claim("within", 1.0).measure(None) is None
    assert decide(claim("within", 1.0), None) == Decision("not measured")
    assert decide(claim("within", 1.0, requires=(("n", 3),)), result(50, 50, 50)).verdict == "not measured"


@pytest.mark.parametrize("n, verdict", [(99, "undecided"), (100, "reproduced")])
def test_too_few_cannot_tell(n: int, verdict: str) -> None:
    assert decide(claim("within", 2.0, sample=100), result(50, 50, 50, n)).verdict == verdict


def test_what_a_sample_counts_is_named() -> None:
    found = decide(claim("within", 2.0, sample=400, sample_is="pairs"), result(50, 50, 50, 128))
    assert found.because == "it rests on 128 pairs; 400 or more could tell"


@pytest.mark.parametrize(
    "rule, interval, control, verdict",
    [
        ("at_least", (98.0, 99.0, 100.0), 97.9, "reproduced"),
        ("at_least", (98.0, 99.0, 100.0), 98.0, "undecided"),
        ("at_most", (8.0, 9.0, 10.0), 10.1, "reproduced"),
        ("at_most", (8.0, 9.0, 10.0), 10.0, "undecided"),
        ("at_most", (30.0, 31.0, 32.0), 10.0, "differs"),  # a control excuses nothing
    ],
)
def test_a_value_must_be_clear_of_its_control(rule: str, interval: Any, control: float, verdict: str) -> None:
    threshold = {"at_least": 97.0, "at_most": 10.0}[rule]
    measured = result(*interval, chance=exactly(control))
    for stated in (control, "chance"):
        found = decide(claim(rule, threshold, control=stated, control_is="a guess"), measured)
        assert found.verdict == verdict
        assert found.because == ("it is too close to a guess" if verdict == "undecided" else "")


@pytest.mark.parametrize("level, verdict", [(0.9, "reproduced"), (0.89, "not comparable")])
def test_a_condition_decides_whether_it_can_be_compared(level: float, verdict: str) -> None:
    judged = claim("within", 2.0, not_comparable="undertrained", comparable_if=(Condition("own", at_least=0.9),))
    assert decide(judged, result(50, 50, 50, own=exactly(level))).verdict == verdict
    assert decide(replace(judged, comparable_if=()), result(50, 50, 50, own=exactly(level))).because == "undertrained"


def test_of_exclusive_settings_the_one_that_fits_the_whole_figure_is_judged() -> None:
    """Setting b meets one number exactly, a is closer over both."""
    stated = {("a", "1"): 51.0, ("a", "2"): 51.0, ("b", "1"): 50.0, ("b", "2"): 59.0}
    claims = [
        replace(claim("within", 2.0, exclusive="g", setting=setting), id=f"X.{setting}{i}") for setting, i in stated
    ]
    found = {item.id: exactly(value) for item, value in zip(claims, stated.values())}
    fitting = fitting_settings(claims, lambda item: found[item.id])
    assert fitting == {"g": "a"}
    verdicts = [decide(item, result(50, 50, 50), fitting).verdict for item in claims]
    assert verdicts == ["reproduced", "reproduced", "not comparable", "not comparable"]
    assert fitting_settings(claims, lambda item: found[item.id] if item.setting == "a" else None) == {}


def judged_by(*models: tuple[str, str], check: bool = False) -> JudgedClaim:
    stated = claim("within", 2.0, check=check)
    return JudgedClaim(stated, [Judged(stated, name, exactly(50), Decision(v), "committed") for name, v in models])  # type: ignore[arg-type]


def test_a_claim_counts_once_by_the_preferred_model_that_can_be_compared() -> None:
    rows = [
        judged_by(("small", "reproduced"), ("fast", "differs")),
        judged_by(("small", "reproduced"), ("fast", "differs"), ("published", "undecided")),
        judged_by(("small", "stronger here"), ("fast", "not comparable")),
        judged_by(("data", "reproduced"), check=True),  # not the paper's: judged, not counted
    ]
    assert [row.deciding.model for row in rows] == ["fast", "published", "small", "data"]
    counts = {item.verdict: item.n for item in count_classes(rows)}
    assert counts == {**dict.fromkeys(VERDICTS, 0), "differs": 1, "undecided": 1, "stronger here": 1}


@pytest.mark.parametrize(
    "verdict, unfinished, stopped, n",
    [
        ("differs", True, ["rerun"], 1),
        ("differs", False, ["rerun"], 0),
        ("differs", True, ["small"], 0),
        ("reproduced", True, ["rerun"], 0),
    ],
)
def test_what_may_come_of_an_early_stop_is_counted(verdict: str, unfinished: bool, stopped: list[str], n: int) -> None:
    row = judged_by(("published", verdict))
    row = JudgedClaim(replace(row.claim, unfinished=unfinished), row.verdicts)
    assert sum(item.stopped for item in count_classes([row], stopped)) == n


def test_a_cause_may_depend_on_the_side() -> None:
    stated = claim("within", 2.0, why="it is small", why_above="it is large")
    assert [stated.cause(exactly(value)) for value in (40, 60)] == ["it is small", "it is large"]
    assert replace(stated, why_above="").cause(exactly(60)) == "it is small"
    judged = [
        Judged(stated, model, exactly(x), Decision("differs"), "committed")
        for model, x in (("published", 60), ("small", 40))
    ]
    row = JudgedClaim(stated, judged)
    assert (row.reasons, row.reason_of_others) == (["It is large"], "it is small")


def test_a_check_of_our_own_has_no_published_number() -> None:
    check, papers = (judged_by(("data", "reproduced"), check=own) for own in (True, False))
    assert (check.published, check.earlier) == ("–", "an earlier program of ours gave 50.0")
    assert (papers.published, papers.earlier) == ("50.0", "")
    assert "Published" not in check.told


def test_a_yes_has_no_interval() -> None:
    wide, yes = Estimate(50.0, 49.0, 51.0, 9), Estimate(1.0, 0.9, 1.0, 9)
    found = [(claim("within", 2.0), wide), (claim("within", 2.0), exactly(50)), (claim("holds", 0.5), yes)]
    judged = [Judged(stated, "small", ours, Decision("reproduced"), "committed") for stated, ours in found]
    assert [item.has_interval for item in judged] == [True, False, False]


ROW = """[[row]]
id = "X"
family = "f"
place = "p"
text = "t"
{row}
claims = [{{ id = "y", text = "t", value = "v", {claim} }}]
"""


@pytest.mark.parametrize(
    "row, entry, told",
    [
        ("", "published = 1, witin = 2.0", "unknown field 'witin'; did you mean 'within'?"),
        ("betr = 'higher'", "published = 1, within = 2.0", "unknown field 'betr'; did you mean 'better'?"),
        ("", "published = 1", "exactly one of within, at_least, at_most, holds, not 0"),
        ("", "published = 1, within = 1, at_least = 1", "not 2"),
        ("", "published = 1, within = '1'", "within cannot be '1'"),
        ("", "published = 1, within = true", "within cannot be True"),
        ("", "published = 'one', within = 1", "within needs a published number, not 'one'"),
        ("", "published = 1, within = 1, better = 'up'", "better must be 'higher' or 'lower', not 'up'"),
        ("", "published = 'one', at_least = 1", "needs a resolution"),
        ("", "published = 1, within = 1, setting = 's'", "exclusive and setting go together"),
        ("", "published = 1, within = 1, control = 'c'", "control and control_is"),
        ("", "published = 1, within = 1, comparable_if = [{ value = 'v' }]", "comparable_if needs not_comparable"),
        ("", "published = 1, within = 1, changed = 'yesterday'", "changed must be a date and a reason"),
    ],
)
def test_a_mistyped_claim_is_a_one_line_error(tmp_path: Path, row: str, entry: str, told: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(ROW.format(row=row, claim=entry))
    with pytest.raises(InputError) as caught:
        read_claims(path, "coverage")
    assert told in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_row_states_for_its_claims(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(
        ROW.format(row='better = "lower"\nsample = 7', claim='published = 1, within = 2.0, better = "higher"')
    )
    (found,) = read_claims(path, "coverage")
    assert (found.better, found.sample, found.resolution) == ("higher", 7, 2.0)


@pytest.fixture(scope="module")
def committed() -> list[JudgedClaim]:
    return judge_all(Store(None, ROOT / "results"), tuple(load_claims()))


def test_every_committed_claim_has_a_class_and_every_class_is_in_use(committed: list[JudgedClaim]) -> None:
    counts = {item.verdict: item.n for item in count_classes(committed)}
    assert sum(counts.values()) == sum(not row.claim.check for row in committed)
    assert all(counts[verdict] for verdict in VERDICTS[:-1])
    for row in committed:
        assert row.deciding.decision.because or row.verdict not in ("undecided", "not comparable"), row.claim.id


def test_what_is_stated_for_the_newer_classes_is_dated() -> None:
    for item in load_claims():
        stated = item.better or item.control != "" or item.sample > 1 or item.exclusive or item.not_comparable
        assert not stated or item.changed or item.late, item.id


def test_every_value_that_a_rule_asks_for_exists() -> None:
    store = Store(None, ROOT / "results")
    for item in load_claims():
        results = [store.best(item.experiment, model) for model in store.models(item.experiment)]
        held = {key for stored in results if stored for key in stored.result.values}
        asked = {item.value, *(condition.value for condition in item.comparable_if)}
        assert asked | ({item.control} if isinstance(item.control, str) and item.control else set()) <= held, item.id


SHIPPED = ROOT / "results" / "full" / "small" / "closure.json"


def test_the_box_about_your_run(tmp_path: Path, undrawn: None) -> None:
    """Of three claims one agrees, one is undecided at this size, one disagrees."""
    shipped = read_result(SHIPPED)
    claims = {item.id: item.value for item in load_claims() if item.experiment == "closure"}
    changed = {claims["L1.uniform"]: Estimate(0.97, 0.95, 0.99, 20), claims["L1.topk"]: Estimate(0.5, 0.45, 0.55, 20)}
    own = replace(
        shipped,
        tier="quick",
        values={**shipped.values, **changed},
        provenance={"seconds": 150.0, "time": "2026-11-19T12:00:00+00:00"},
    )
    write_result(tmp_path / "fresh", own)
    html = " ".join(build_report(tmp_path, tmp_path / "fresh", ROOT / "results").read_text().split())
    box = html[html.index('id="your-run"') : html.index("</div>", html.index('id="your-run"'))]
    assert "Measured here in 2.5 minutes (quick tier)" in box
    assert "the 3 committed verdicts" in box
    assert "<b>1 in agreement</b>, <b>1 undecided at this size</b>, <b>1 in disagreement</b>" in box
    assert re.findall(r'href="#claim-([^"]+)"', box) == ["L1.topk"]
    marked = re.findall(r'<h2 id="(\w+)">[^<]*<span class="mark">this run</span>', html)
    assert marked == ["closure"]
    assert html.count("<summary>Committed results</summary>") > 10
    assert 'id="your-run"' not in build_report(tmp_path, None, ROOT / "results").read_text()


def test_minutes_of_a_run_are_those_of_the_clock() -> None:
    """Two at the same time, one within another, one later; of one it is not known when."""
    spans = [("12:10:00", 300.0), ("12:08:00", 240.0), ("12:09:30", 10.0), ("13:00:00", 60.0)]
    at = [{"time": f"2026-11-19T{end}+00:00", "seconds": seconds} for end, seconds in spans]
    timed = [replace(read_result(SHIPPED), provenance=found) for found in [*at, {"seconds": 900.0}, {"time": "noon"}]]
    assert elapsed_seconds(timed) == 360 + 60


def test_nothing_from_a_result_becomes_markup(tmp_path: Path, undrawn: None) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    own = replace(read_result(SHIPPED), model=hostile, model_hash="mine", provenance={"machine": hostile})
    write_result(tmp_path / "fresh", own)
    html = build_report(tmp_path, tmp_path / "fresh", ROOT / "results").read_text()
    assert hostile not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


SHOWN = "[...document.querySelectorAll('.ledger tr.claim')].filter(row => row.offsetParent).map(row => row.id)"


def test_the_filter_in_a_browser(page: Any, built: Path, committed: list[JudgedClaim]) -> None:
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else wrong.append(request.url))
    page.goto(built.as_uri())
    assert page.evaluate(SHOWN) == [row.anchor for row in committed]
    page.focus("#filters select[name=class]")
    page.keyboard.type("undecided")
    page.keyboard.press("Enter")
    asked = [row.anchor for row in committed if row.verdict == "undecided"]
    assert page.evaluate(SHOWN) == asked
    assert page.text_content("#n-shown") == str(len(asked))
    page.select_option("#filters select[name=section]", "identity")
    page.select_option("#filters select[name=class]", "")
    page.select_option("#filters select[name=model]", "fast")
    assert page.evaluate(SHOWN) == [
        row.anchor
        for row in committed
        if row.claim.experiment == "identity" and any(item.model == "fast" and item.ours for item in row.verdicts)
    ]
    opened = "[...document.querySelectorAll('.ledger details[open]')].map(found => found.closest('tr').id)"
    asked = [row.anchor for row in committed if row.claim.experiment == "identity" and row.deciding.model != "fast"]
    assert page.evaluate(opened) == asked  # what is asked for is seen, without a click
    headings = "[...document.querySelectorAll('.ledger .group, .ledger .title')].filter(row => row.offsetParent).length"
    assert page.evaluate(headings) == 1 + len({row.claim.row for row in committed if row.anchor in asked})
    page.click("a.cell[href='#claim-B1.C4_auc'] >> nth=0")  # a hidden row: the whole table is shown again
    assert len(page.evaluate(SHOWN)) == len(committed)
    assert page.evaluate(opened) == []
    page.hover("#map ~ .map .cell >> nth=0")
    assert page.text_content("#map-says").startswith(committed[0].claim.id)
    assert not wrong


def test_without_script_the_whole_table_is_there_and_narrow_the_verdict_comes_first(page: Any, built: Path) -> None:
    assert "<tr hidden" not in built.read_text(encoding="utf-8")
    page.set_viewport_size({"width": 420, "height": 900})
    page.goto(built.as_uri())
    tops = page.evaluate(
        "[...document.querySelector('.ledger tr.claim').children].map(cell => cell.getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    assert page.evaluate("document.querySelector('.ledger tr.claim td').className") == "verdict"
    assert page.evaluate("document.querySelector('.ledger').scrollWidth <= innerWidth")


def test_a_claim_shows_what_decides_it_and_folds_the_rest(page: Any, built: Path, committed: list[JudgedClaim]) -> None:
    page.goto(built.as_uri())
    seen = "row => [...row.querySelectorAll('[data-model]')].filter(item => item.checkVisibility()).length"
    rows = page.evaluate(f"[...document.querySelectorAll('.ledger tr.claim')].map({seen})")
    assert rows == [int(row.deciding.ours is not None) for row in committed]
    folded = page.evaluate("document.querySelectorAll('.ledger details [data-model]').length")
    assert folded == sum(item.ours is not None for row in committed for item in row.others)
    assert page.evaluate(NAMELESS) == 0


# Signs are drawn by the style sheet: to a screen reader each has the word.
NAMELESS = "[...document.querySelectorAll('.sign')].filter(item => !item.ariaLabel && item.checkVisibility()).length"


def test_reasons_are_notes_each_once_per_section(committed: list[JudgedClaim]) -> None:
    for part in by_section(committed):
        assert len(part.notes) == len(set(part.notes))
        rows = [row for group in part.groups for row in group.rows]
        assert {number for row in rows for number in part.notes_of(row)} == set(range(1, len(part.notes) + 1))
    assert [row for part in by_section(committed) for group in part.groups for row in group.rows] == committed
    reproduced = judged_by(("published", "reproduced"), ("small", "differs"))
    explained = JudgedClaim(replace(reproduced.claim, why="it is small"), reproduced.verdicts)
    assert (explained.reasons, explained.reason_of_others) == ([], "it is small")
    differs = JudgedClaim(explained.claim, judged_by(("published", "differs")).verdicts)
    assert (differs.reasons, differs.reason_of_others) == (["It is small"], "")


def test_a_claim_below_its_heading_does_not_repeat_it(committed: list[JudgedClaim]) -> None:
    for row in committed:
        assert f"{row.claim.of_row}: {row.claim.alone}" == row.claim.text


def test_on_paper_every_claim_is_there(page: Any, built: Path, committed: list[JudgedClaim]) -> None:
    """What is folded is left out of a printout, but the line that opens it is the claim."""
    page.goto(built.as_uri())
    page.emulate_media(media="print")
    seen = "[...document.querySelectorAll('.ledger summary')].filter(item => item.checkVisibility()).length"
    assert page.evaluate(seen) == len(committed)
    assert not page.evaluate("document.querySelector('.ledger details p').checkVisibility()")
    page.emulate_media(media="screen")


def test_results_of_the_first_edition_are_understood(tmp_path: Path) -> None:
    """They call the cancellation set "elimination"."""
    now = ROOT / "results" / "full" / "small" / "subspaces.json"
    old = tmp_path / "subspaces.json"
    old.write_text(now.read_text().replace("cancellation", "elimination"))
    assert "elimination.no_identity" in old.read_text()
    assert read_result(old) == read_result(now)
