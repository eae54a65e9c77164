"""Claims, results and the page: verdicts follow the rules, files round-trip, the page shows what was measured."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from helpers import message_of
from icalgebra.cli.main import main
from icalgebra.errors import InputError
from icalgebra.experiments import EXPERIMENTS, load_claims, read_checked
from icalgebra.experiments.coverage.measure import run
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.readings import ABSENT, written
from icalgebra.language.world import PAPER_STRUCTURES, World
from icalgebra.plotting.compact import compact
from icalgebra.report.evidence import Evidence
from icalgebra.report.page import build_report
from icalgebra.report.store import Store
from icalgebra.results import Curve, Result, read_result, result_paths, write_result
from icalgebra.statistics import Estimate
from icalgebra.train.presets import PRESETS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def small_coverage() -> Result:
    return run(tier="quick", seed=0, n=60)


def test_claims_are_well_formed() -> None:
    claims = load_claims()
    assert len({item.id for item in claims}) == len(claims) > 100
    for item in claims:
        assert item.rule != "within" or isinstance(item.published, float | int), item.id
    rows = {re.sub("[a-z]", "", item.row) for item in claims}
    assert rows == {
        f"{letter}{i}" for letter, n in zip("BCKILPSOH", (5, 3, 4, 3, 6, 2, 2, 1, 1)) for i in range(1, n + 1)
    }


def test_every_claim_of_the_experiment_finds_its_value(small_coverage: Result) -> None:
    for item in load_claims():
        if item.experiment == "coverage":
            assert item.measure(small_coverage) is not None, item.id


def test_results_round_trip(tmp_path: Path, small_coverage: Result) -> None:
    path = write_result(tmp_path, small_coverage)
    assert path == tmp_path / "quick" / "data" / "coverage.json"
    assert read_result(path).to_dict() == small_coverage.to_dict()


def test_the_same_seed_gives_the_same_result_outside_provenance(small_coverage: Result) -> None:
    assert run(tier="quick", seed=0, n=60).to_dict() == small_coverage.to_dict()
    assert run(tier="quick", seed=1, n=60).to_dict() != small_coverage.to_dict()
    stamped = run_experiment("coverage", "quick").to_dict()
    assert {"time", "commit", "machine", "seconds"} <= set(stamped["provenance"])


def test_every_value_has_its_interval(small_coverage: Result) -> None:
    for key, estimate in small_coverage.values.items():
        assert estimate.low <= estimate.value <= estimate.high, key
        assert estimate.n == 60


def test_the_page_is_self_contained_and_shows_what_was_measured(tmp_path: Path, small_coverage: Result) -> None:
    stamped = Result(**{**vars(small_coverage), "provenance": {"seconds": 1.0, "machine": "m", "commit": None}})
    write_result(tmp_path / "results", stamped)
    html = build_report(tmp_path, tmp_path / "results", None).read_text()
    assert html.count("<svg") == 2
    assert not re.search(r'(src|href)="(?!#)', html)
    assert "url(http" not in html
    value = small_coverage.values["p7.train_any.copy"].scaled(100)
    assert written(value, "%") in html
    assert "not measured" in html


def numbers_in(text: str) -> set[float]:
    found = re.findall(r"(?<![\w.#])(?:\d{1,3}(?: \d{3})+|\d*\.?\d+)", text)
    return {float(item.replace(" ", "")) for item in found}


def test_the_page_marks_late_rules_and_shows_notes(shown_page: str) -> None:
    claims = load_claims()
    assert len({claim.late for claim in claims}) == 2
    for claim in claims:
        assert (f"{claim.id} †" in shown_page) == claim.late, claim.id
        assert escape(claim.note) in shown_page


FIXED_IN_REASONS = {
    0.5: "p_mix",
    0.7: "p_mix",
    27: "identity queries of the released sampler, per cent",
    100: "a ceiling, per cent",
    200: "facts",
    2000: "pairs of a fit",
}


def test_reasons_hold_no_measured_number() -> None:
    """They are shown beside every model; a number there would be one model's, and come from no result."""
    for claim in load_claims():
        own = numbers_in(f"{claim.text} {claim.published}")
        allowed = own | set(range(10)) | FIXED_IN_REASONS.keys()
        assert numbers_in(claim.why or "") <= allowed, claim.id


def test_every_claim_that_differs_has_a_reason() -> None:
    store = Store(None, ROOT / "results")
    judged = [item for claim in load_claims() for item in store.judge(claim)]
    assert not [item.claim.id for item in judged if item.verdict == "differs" and not item.claim.why]


@pytest.fixture
def committed_page(tmp_path: Path, undrawn: None) -> str:
    """The page that `icalgebra report` builds from the committed results, with empty drawings."""
    with pytest.raises(SystemExit) as ended:
        main(["report", "--results", str(ROOT / "results"), "--out", str(tmp_path)])
    assert ended.value.code == 0
    return (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown_page() -> str:
    """The committed page; a test below checks that its text is that of the committed results."""
    return (ROOT / "docs" / "report.html").read_text(encoding="utf-8")


def test_the_page_of_the_committed_results(shown_page: str) -> None:
    """Every section with a result is there with its findings, in less than 4 MB, and nothing is loaded from outside."""
    assert len(shown_page.encode()) < 4_000_000
    assert not re.search(r"(?:src|href)=\"(?!#|data:|explorer\.html\")", shown_page.replace('xlink:href="#', ""))
    for path in result_paths(ROOT / "results", EXPERIMENTS):
        assert f'id="{path.stem}"' in shown_page
    ceiling = read_result(ROOT / "results" / "full" / "data" / "ceiling.json").values["p7.holdout.ceiling"]
    assert written(ceiling.scaled(100), "%") in shown_page[shown_page.index('id="findings"') :]
    rows = re.findall(r"<tr>.*?</tr>", shown_page, re.DOTALL)
    assert not [row for row in rows if row.count(ABSENT) > row.count('class="n"') // 2], "no model was measured"
    assert "needs measurements that this model does not have" not in shown_page


def test_no_two_parts_of_the_page_have_one_name_and_every_drawing_has_words(shown_page: str) -> None:
    """An id that also occurs in a folded section would leave a drawing elsewhere without its parts."""
    names = re.findall(r'\bid="([^"]+)"', shown_page)
    assert len(names) == len(set(names)) > 100
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', shown_page)) <= set(names)
    drawings = re.findall(r"<svg[^>]*>", shown_page)
    labels = re.findall(r'<svg role="img" aria-label="([^"]+)"', shown_page)
    assert len(labels) == len(set(labels)) == len(drawings)
    assert not any(" None " in label for label in labels)
    assert not re.search(r"<figure>\s*<svg", shown_page)  # but in a box that scrolls on a narrow screen


def words_of(page: str) -> str:
    """Without the drawings, which may differ from one version of matplotlib to the next, and the link to the explorer,
    which is there where its page lies beside."""
    return re.sub(r"<svg.*?</svg>", "", page.replace('<a href="explorer.html">Explorer</a>', ""), flags=re.S)


def test_the_committed_page_is_that_of_the_committed_results(committed_page: str, shown_page: str) -> None:
    assert words_of(committed_page) == words_of(shown_page), "rebuild it: icalgebra report --out docs"
    assert "needs measurements that this model does not have" not in committed_page  # no plain lists of values
    assert committed_page.count("<svg") == shown_page.count("<svg")


def test_a_report_without_results_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["report", "--results", str(tmp_path / "nowhere")])
    assert ended.value.code == 2
    assert "icalgebra reproduce" in capsys.readouterr().err


def test_numbers_have_no_sign_where_they_are_nothing() -> None:
    assert written(Estimate(-0.04, -0.2, 0.04, 10), "%", with_interval=True).startswith("0.0\N{NO-BREAK SPACE}% ")
    assert "[−0.2, 0.0]" in written(Estimate(-0.04, -0.2, 0.04, 10), "%")
    assert "[" not in written(Estimate(0.5, 0.5, 0.5, 1), "%")  # a single observation says nothing of its spread
    assert "[0.5, 0.5]" in written(Estimate(0.5, 0.5, 0.5, 9), "%")


def test_a_compact_drawing_keeps_its_words_and_its_turns() -> None:
    drawing = (
        '<svg><style>*{stroke-linejoin: round; stroke-linecap: butt}</style><metadata>who</metadata><g id="line2d_12"/>'
        '<g>\n <g clip-path="url(#a)">\n  <text transform="rotate(-0 1 2)">at 1.23456 s</text></g>\n</g>'
        '<path d="M 1.234567 20.000001 \nL 30.04 20.0 \nL 31.04 20.0 \nL 32.04 20.0 \nL 40.123456 9.87654 \nz\n" '
        'style="stroke: #000000; fill: none"/></svg>'
    )
    kept = (
        "<svg><style>*{stroke-linejoin: round; stroke-linecap: butt}text{font-family: sans-serif}</style>"
        '<g clip-path="url(#a)"><text>at 1.23456 s</text></g>'
        '<path d="M1.23 20l28.81 0 2 0 8.06-10.12z" style="stroke:#000000;fill:none"/></svg>'
    )
    assert compact(drawing) == kept


def test_neighbouring_bars_of_one_colour_become_one_path() -> None:
    bars = "".join(
        f'<path d="M {x} 20 L {x + 1} 20 L {x + 1} {top} L {x} {top} z" style="fill: {colour}"/>'
        for x, top, colour in ((1, 19, "#111111"), (2, 18, "#111111"), (3, 20, "#111111"), (4, 19, "#222222"))
    )
    seen_through = bars.replace('#111111"', '#111111; opacity: 0.5"')
    assert compact(bars) == (
        '<path d="M1 20l1 0 0-1-1 0zM2 20l1 0 0-2-1 0z" style="fill:#111111"/>'
        '<path d="M4 20l1 0 0-1-1 0z" style="fill:#222222"/>'
    )
    assert compact(seen_through).count("<path") == 4


def test_a_style_that_occurs_often_is_written_once() -> None:
    text = """<text style="font-size: 9px; font-family: 'A', sans-serif">x</text>"""
    once, often = (compact(f"<svg><style>*{{stroke-linecap: butt}}</style>{text * n}</svg>") for n in (1, 5))
    assert '<text style="font-size:9px">x</text>' in once
    (name,) = set(re.findall('class="([^"]+)"', often))
    assert often.count(f'<text class="{name}">x</text>') == 5
    assert f".{name}{{font-size:9px}}</style>" in often


@given(st.lists(st.tuples(*[st.integers(-99999, 99999)] * 2), min_size=2, max_size=20))
def test_a_compact_path_ends_every_step_where_it_did(places: list[tuple[int, int]]) -> None:
    written = [f"{x / 100:g} {y / 100:g}" for x, y in places]
    path = re.search('d="(.*)"', compact(f'<path d="M {" L ".join(written)} "/>'))
    assert path is not None
    steps = np.array([float(n) for n in re.findall(r"-?[\d.]+", path[1])]).reshape(-1, 2).cumsum(0)
    shown = np.array([[float(n) for n in place.split()] for place in written])
    flat = (shown[1:-1, 1] == shown[:-2, 1]) & (shown[1:-1, 1] == shown[2:, 1])  # points that need not be written
    assert {tuple(place) for place in steps.round(2)} >= {tuple(place) for place in shown[1:-1][~flat]}
    assert np.allclose(steps[[0, -1]], shown[[0, -1]], atol=0.006)


def test_fresh_results_come_before_committed_ones(tmp_path: Path, small_coverage: Result) -> None:
    for folder, seed in (("committed", 5), ("fresh", 6)):
        provenance = {"seconds": 1.0, "machine": "m", "commit": None}
        write_result(tmp_path / folder, Result(**{**vars(small_coverage), "seed": seed, "provenance": provenance}))
    html = build_report(tmp_path, tmp_path / "fresh", tmp_path / "committed").read_text()
    assert "seed 6" in html
    assert "seed 5" not in html


def with_parts(**parts) -> Result:
    plain = Result("coverage", "quick", "data", 0, {}, "command", {"x": Estimate(0.5, 0.4, 0.6, 9)})
    return replace(plain, **parts)


def test_settings_come_back_as_they_were_and_measurements_rounded(tmp_path: Path) -> None:
    settings = {"lr": 1.5e-5, "training": {"muon_lr": 2.5e-6}, "eval_facts": (4,)}
    details = {"runs": [{"config": settings, "recipe": settings, "loss": [1.23456789]}]}
    back = read_result(write_result(tmp_path, with_parts(config=settings, details=details)))
    unrounded = {**settings, "eval_facts": [4]}
    assert back.config == unrounded
    assert back.details == {"runs": [{"config": unrounded, "recipe": unrounded, "loss": [1.23457]}]}


def test_a_value_that_is_not_a_number_affects_no_other(tmp_path: Path) -> None:
    nan, infinity = float("nan"), float("inf")
    values = {"no": Estimate(nan, 0.0, 1.0, 0), "one": Estimate(0.5, nan, nan, 1)}
    curves = {"c": Curve([1, 2], [0.1, nan], [0.0, nan], [0.2, infinity], [5, 0])}
    details = {"far": infinity, "some": [1.0, np.float32(nan)]}
    path = write_result(tmp_path, with_parts(values=values, curves=curves, details=details))
    back = read_result(path)
    assert back.details == {"far": None, "some": [1.0, None]}
    assert list(back.values) == ["one"], "a value that is not a number was not measured"
    assert back.values["one"].value == 0.5
    assert np.isnan([back.values["one"].low, back.curves["c"].y[1], back.curves["c"].high[1]]).all()
    written = json.loads(path.read_text())
    assert {**back.to_dict(), "values": written["values"]} == written


@pytest.mark.parametrize(
    "change, told",
    [
        ({"values": []}, "values must be an object of fields, not []"),
        ({"values": {"x": 3}}, "values.x must be an object of fields, not 3"),
        ({"values": {"x": {"value": "1", "low": 0, "high": 1, "n": 1}}}, "values.x.value must be a number, not '1'"),
        ({"curves": 3}, "curves must be an object of fields, not 3"),
        ({"curves": {"c": []}}, "curves.c must be an object of fields, not []"),
        ({"curves": {"c": {"y": [], "low": [], "high": [], "n": []}}}, "curves.c.x is missing"),
        ({"z": 1}, "unknown field 'z'"),
        ({"model": "../other"}, "model must be the name of a file or folder, not '../other'"),
        ({"model": "other"}, "it was moved or renamed"),
        ({"tier": "fast"}, "tier must be one of full, quick, not 'fast'"),
    ],
)
def test_a_malformed_result_gives_a_one_line_error(tmp_path: Path, change: dict, told: str) -> None:
    path = write_result(tmp_path, with_parts())
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError) as caught:
        read_checked(path)
    assert str(path) in message_of(caught.value)
    assert told in message_of(caught.value)


def test_committed_results_are_what_would_be_written(tmp_path: Path) -> None:
    for name in ("fast/speedrun", "small/training", "mixing/mixing"):
        path = ROOT / "results" / "full" / f"{name}.json"
        assert write_result(tmp_path, read_result(path)).read_bytes() == path.read_bytes()


def test_what_this_run_wrote_wins_then_the_newest(tmp_path: Path, small_coverage: Result) -> None:
    fresh = tmp_path / "fresh"
    for tier, time in (("full", "2026-01-02T00:00:00+00:00"), ("quick", "2026-01-01T00:00:00+00:00")):
        provenance = {"seconds": 1.0, "machine": "m", "commit": None, "time": time}
        path = write_result(fresh, stamped(small_coverage, tier=tier, provenance=provenance))
    newest, written = Store(fresh, None, []).get("coverage"), Store(fresh, None, [path]).get("coverage")
    assert newest is not None
    assert written is not None
    assert (newest.result.tier, newest.origin) == ("full", "an earlier run")
    assert (written.result.tier, written.origin) == ("quick", "this run")
    assert "this run, quick tier" in build_report(tmp_path, fresh, None, [path]).read_text()


def test_foreign_json_is_ignored_and_a_damaged_result_is_an_error(tmp_path: Path, small_coverage: Result) -> None:
    write_result(tmp_path, stamped(small_coverage))
    for place in ("a/b/c.json", "quick/data/notes.json", "mine/data/coverage.json"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("[1, 2]")
    assert [path.stem for path in result_paths(tmp_path, EXPERIMENTS)] == ["coverage"]
    (tmp_path / "quick" / "data" / "ceiling.json").write_text("[1, 2]")
    with pytest.raises(InputError, match=r"ceiling\.json"):
        Store(None, tmp_path)


def test_of_two_tiers_the_full_one_counts_but_another_models_does_not(tmp_path: Path, small_coverage: Result) -> None:
    stamped = replace(small_coverage, provenance={"seconds": 1.0, "machine": "m", "commit": None}, model_hash="one")
    write_result(tmp_path / "fresh", stamped)
    for same, judged_models in (
        (True, ["this run, quick tier", "committed, full tier"]),
        (False, ["this run, quick tier"]),
    ):
        folder = tmp_path / f"committed_{same}"
        write_result(folder, replace(stamped, tier="full", model_hash="one" if same else "other"))
        (claim,) = (item for item in load_claims() if item.id == "C1.copy_p7")
        judged = Store(tmp_path / "fresh", folder).judge(claim)
        assert [item.origin for item in judged] == judged_models
        assert [item.counts for item in judged] == ([False, True] if same else [True])


def test_runs_that_differ_in_their_seed_share_one_table(tmp_path: Path, undrawn: None) -> None:
    """They get no verdicts and no figures of their own."""
    shipped = read_result(ROOT / "results" / "full" / "small" / "heads.json")
    for model in ("small", "small-seed1"):
        write_result(tmp_path / "results", replace(shipped, model=model))
    html = build_report(tmp_path, None, tmp_path / "results").read_text()
    assert html.count("Are roles stable?") == html.count("<td>small-seed1</td>") == 1
    assert html.count("<svg") == 2
    write_result(tmp_path / "alone", shipped)
    assert "Are roles stable?" not in build_report(tmp_path, None, tmp_path / "alone").read_text()


def stamped(result: Result, **changes: object) -> Result:
    return replace(result, **{"provenance": {"seconds": 1.0, "machine": "m", "commit": None}, **changes})


def test_results_of_this_run_are_shown_and_judged_whatever_their_name(tmp_path: Path, undrawn: None) -> None:
    shipped = read_result(ROOT / "results" / "full" / "small" / "closure.json")
    write_result(tmp_path / "fresh", stamped(shipped, model="my-seed0", model_hash="mine"))
    html = build_report(tmp_path, tmp_path / "fresh", ROOT / "results").read_text()
    assert html.count("model <code>my-seed0</code>") == 1
    assert html.count("model <code>sprint-seed0</code>") == 0  # committed: only in tables of several models
    (claim,) = (item for item in load_claims() if item.id == "L1.top1")
    judged = Store(tmp_path / "fresh", ROOT / "results").judge(claim)
    assert [(item.model, item.origin) for item in judged if item.model == "my-seed0"] == [
        ("my-seed0", "this run, full tier")
    ]


OTHER = World(("C3", "C4"), n_variables=8).to_dict()


@pytest.mark.parametrize(
    "config, judged",
    [
        ({"world": World().to_dict()}, True),
        ({"world": {**World().to_dict(), "structures": sorted(PAPER_STRUCTURES)}}, True),
        ({"training": PRESETS["fast"].to_dict()}, True),
        ({"world": OTHER}, False),
        ({"world": {**World().to_dict(), "p_mix": 0.3}}, False),
        ({"world": {"structures": list(PAPER_STRUCTURES)}}, True),  # a sweep does not say what it varies
        ({"world": {"structures": [["C3"], ["C4"]]}}, False),
        ({"training": PRESETS["tiny"].to_dict()}, False),
        ({}, True),  # data
    ],
)
def test_a_model_of_another_world_is_not_judged(tmp_path: Path, config: dict, judged: bool) -> None:
    """Whatever its name; and it comes last, even if it is called small."""
    shipped = read_result(ROOT / "results" / "full" / "small" / "closure.json")
    for model, settings in (("tiny", {"world": World().to_dict()}), ("small", config)):
        write_result(tmp_path, replace(shipped, model=model, config=settings))
    store = Store(None, tmp_path)
    (claim,) = (item for item in load_claims() if item.id == "L1.top1")
    assert [item.model for item in store.judge(claim)] == (["small", "tiny"] if judged else ["tiny"])
    assert store.models("closure") == (["small", "tiny"] if judged else ["tiny", "small"])
    assert Evidence(store.for_findings()).models("closure") == (["small", "tiny"] if judged else ["tiny"])


def test_the_text_explains_where_a_verdict_says_little(tmp_path: Path, undrawn: None) -> None:
    """A false fact that misleads no model, one head for both sides, a subspace that fails everywhere."""
    for model, name in (("small", "identity"), ("fast", "cancellation"), ("fast", "subspaces")):
        write_result(tmp_path / "results", read_result(ROOT / "results" / "full" / model / f"{name}.json"))
    html = build_report(tmp_path, None, tmp_path / "results").read_text()
    for words in ("little for steering by", "is the answer head of both sides", "closure and cancellation mostly fail"):
        assert words in " ".join(html.split()), words


@pytest.mark.parametrize("named", [False, True])
def test_a_copying_head_that_the_effect_does_not_see_is_named(named: bool, tmp_path: Path, undrawn: None) -> None:
    """Head 0.1 most often has the answer as its top logit; in the second case another head has the largest effect."""
    shipped = read_result(ROOT / "results" / "full" / "small" / "copying.json")
    layers, heads = np.shape(shipped.details["effects"]["copy"])
    decode, effects = np.zeros((2, layers, heads))
    decode[0, 1], effects[0, 1] = 0.97, 0.031
    details = {
        **shipped.details,
        "head": "2.1" if named else "0.1",
        "decode": {**shipped.details["decode"], "cyclic.copy": decode.tolist()},
        "effects": {**shipped.details["effects"], "copy": effects.tolist()},
    }
    # Results that say how the copying head was chosen need no other name for it.
    earlier = {key: value for key, value in shipped.config.items() if key != "chosen_by"}
    write_result(tmp_path / "results", replace(shipped, details=details, config=earlier))
    html = " ".join(build_report(tmp_path, None, tmp_path / "results").read_text().split())
    assert ("0.1 decodes the copied answer most often (97.0" in html) == named
    assert ("with an effect of 0.031, presumably because other paths" in html) == named


def test_the_findings_count_every_run(tmp_path: Path, undrawn: None) -> None:
    """Also runs without a section of their own, but not those that lack the value."""
    heads, copying = (
        read_result(ROOT / "results" / "full" / "small" / f"{name}.json") for name in ("heads", "copying")
    )
    write_result(tmp_path, copying)
    for model, effect in (("small", 0.6), ("x-seed0", 0.1), ("x-seed1", 0.7)):
        write_result(tmp_path, replace(heads, model=model, values={"role.copy": Estimate(effect, 0.0, 1.0, 9)}))
    write_result(tmp_path, replace(heads, model="x-seed2", values={}))
    found = Evidence(Store(None, tmp_path)).over_runs("heads", "role.copy")
    assert [estimate.value for estimate in found] == [0.6, 0.1, 0.7]
    html = " ".join(build_report(tmp_path / "page", None, ROOT / "results").read_text().split())
    runs = len(list((ROOT / "results" / "full").glob("*/heads.json")))
    assert f"in {runs} runs of " in html


def test_reproduce_command_writes_results_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "--only", "coverage", "--out", str(tmp_path), "--alone", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    assert Path(printed["report"]).read_text().startswith("<!doctype html>")
    assert read_result(tmp_path / "results" / "quick" / "data" / "coverage.json").values


def test_an_experiment_that_cannot_run_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, undrawn: None
) -> None:
    def refused(**_: object) -> Result:
        raise InputError("this world has none")

    asked = {"coverage": replace(EXPERIMENTS["coverage"], quick={"n": 60}), "ceiling": EXPERIMENTS["ceiling"]}
    monkeypatch.setattr("icalgebra.cli.reproduce.EXPERIMENTS", asked)
    monkeypatch.setitem(EXPERIMENTS, "coverage", asked["coverage"])
    monkeypatch.setattr("icalgebra.experiments.ceiling.measure.run", refused)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "--out", str(tmp_path), "--alone", "--json", "--workers", "1"])
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["left_out"] == {"ceiling": "this world has none"}
    assert "2/2 ceiling: left out: this world has none\n" in printed.err
    assert "this run, quick tier" in (tmp_path / "report.html").read_text()
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "--only", "ceiling", "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("icalgebra: this world has none\n")


def test_an_unknown_experiment_suggests(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "--only", "coverge"])
    assert ended.value.code == 2
    assert "did you mean 'coverage'" in capsys.readouterr().err
