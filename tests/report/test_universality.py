"""Task or recipe: every word of the rule at its edges, and a table whose numbers are those of the result files."""

import json
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact as reference
from scipy.stats import t

from helpers import ROOT
from icalgebra.claims import IN_HUNDREDTHS, VERDICTS
from icalgebra.experiments import EXPERIMENTS, claim, load_claims
from icalgebra.experiments.shared.readings import written
from icalgebra.language.world import World
from icalgebra.report.page import build_report, template_environment
from icalgebra.report.seeds_figure import MOST, draw, seeds_figure, strips
from icalgebra.report.store import Judged, Store, Stored
from icalgebra.report.universality import (
    EXPERIMENTS_INSIDE,
    QUESTIONS,
    SOURCES,
    WORDS,
    Cell,
    Row,
    Source,
    Tally,
    Universality,
    is_inside,
    read_universality,
    tally,
    word,
)
from icalgebra.report.verdicts import count_classes, judge_all
from icalgebra.results import Curve, Result, read_result, write_result
from icalgebra.statistics import Estimate, fisher_exact, mean_of_runs
from icalgebra.train import preset
from icalgebra.verdicts import Decision

RESULTS = ROOT / "results"


# --- the rule -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "adamw, muon, seeds, expected",
    [
        ((1, 1), (5, 5), [], "belongs to the task"),
        ((5, 5), (1, 1), [], "belongs to the task"),
        ((1, 1), (4, 4), [], "open"),  # five models
        ((0, 0), (6, 6), [], "open"),  # one recipe alone
        ((6, 6), (0, 0), [], "open"),
        ((9, 10), (9, 10), [(9, 10)], "belongs to the task"),  # nine tenths are enough
        ((8, 9), (9, 10), [(8, 9)], "differs from seed to seed"),  # and less is not
        ((9, 10), (8, 9), [(8, 9)], "differs from seed to seed"),
        ((9, 10), (8, 9), [], "open"),  # no set of seeds differs
        ((4, 4), (0, 4), [], "belongs to the recipe"),  # p = .029
        ((0, 4), (4, 4), [], "belongs to the recipe"),
        ((3, 3), (0, 12), [], "open"),  # p = .002, but three models
        ((12, 12), (0, 3), [], "open"),
        ((4, 4), (1, 4), [], "open"),  # p = .143
        ((4, 4), (5, 12), [], "open"),  # p = .088
        ((4, 4), (3, 12), [(3, 12)], "belongs to the recipe"),  # p = .019: asked before the seeds
        ((10, 10), (15, 20), [], "open"),  # p = .14
        ((20, 20), (15, 20), [], "belongs to the recipe"),  # p = .047
        ((20, 20), (91, 100), [(91, 100)], "belongs to the task"),
        ((0, 0), (0, 4), [(0, 4)], "not seen"),
        ((0, 2), (0, 2), [], "not seen"),
        ((0, 1), (0, 2), [], "open"),
        ((0, 4), (0, 4), [], "not seen"),
        ((0, 0), (1, 2), [(1, 2)], "differs from seed to seed"),
        ((0, 0), (1, 2), [(1, 1), (0, 1)], "open"),  # between sets of runs, not within one
        ((0, 0), (1, 4), [(1, 1), (0, 3)], "open"),
        ((0, 0), (0, 0), [(0, 0)], "open"),
    ],
)
def test_the_word(adamw: tuple, muon: tuple, seeds: list, expected: str) -> None:
    assert word(Tally(*adamw), Tally(*muon), [Tally(*found) for found in seeds]) == expected


@given(st.integers(0, 14), st.integers(0, 14), st.data())
def test_fishers_test_is_scipys(n: int, other_n: int, data: st.DataObject) -> None:
    hits, other = data.draw(st.integers(0, n)), data.draw(st.integers(0, other_n))
    expected = reference([[hits, n - hits], [other, other_n - other]]).pvalue if n and other_n else 1.0
    assert fisher_exact(hits, n, other, other_n) == pytest.approx(expected)


def test_the_interval_over_runs_is_students() -> None:
    values = [0.1, 0.4, 0.35, 0.9]
    found = mean_of_runs(values)
    low, high = t.interval(0.95, 3, loc=np.mean(values), scale=np.std(values, ddof=1) / 2)
    assert (found.value, found.low, found.high, found.n) == pytest.approx((np.mean(values), low, high, 4))
    one = mean_of_runs([0.3])
    assert (one.value, one.n) == (0.3, 1)
    assert np.isnan([one.low, one.high]).all()


def judged(verdict: str, value: float = 0.0, model: str = "m", claim_id: str = "L1.top1") -> Judged:
    ours = Estimate(value, value, value, 9)
    return Judged(claim(claim_id), model, ours, Decision(verdict), "committed, full tier")  # type: ignore[arg-type]


def test_which_verdicts_count() -> None:
    found = {verdict: tally([judged(verdict)]) for verdict in VERDICTS}
    shows, not_shown, neither = Tally(1, 1), Tally(0, 1), Tally(0, 0)
    assert found == {
        "reproduced": shows, "stronger here": shows, "differs": not_shown,
        "undecided": neither, "not comparable": neither, "not measured": neither,
    }  # fmt: skip
    assert tally([judged(verdict) for verdict in VERDICTS]) == Tally(2, 3)


def test_the_models_of_a_source() -> None:
    seeds, single = Source("sprint", "Muon", seeds=True), Source("small", "Muon")
    measured = ["small", "small-seed1", "sprint", "sprint-seed10", "sprint-seed2", "sprint-earlier-seed0",
                "sprint-seed1x", "my-sprint-seed0"]  # fmt: skip
    assert seeds.models(measured) == ["sprint-seed2", "sprint-seed10"]
    assert seeds.models(["sprint", "small"]) == ["sprint"]  # a result about the whole set, where it is all there is
    assert single.models(measured) == ["small"]
    assert seeds.models([]) == single.models([]) == []


def test_each_recipe_has_its_models() -> None:
    names = {recipe: [s.name for s in SOURCES if s.recipe == recipe] for recipe in ("AdamW", "Muon")}
    assert names == {"AdamW": ["published", "adamw256"], "Muon": ["sprint", "small", "fast"]}
    assert [source.name for source in SOURCES if source.seeds] == ["adamw256", "sprint"]


# --- rows -----------------------------------------------------------------------------------------------------------


def row(**shows: str) -> Row:
    """A row from a word per source: y shows it, n does not, u is undecided; a letter per model."""
    verdicts = {"y": "reproduced", "n": "differs", "u": "undecided"}
    cells = [
        Cell(source, tuple(judged(verdicts[letter]) for letter in shows.get(source.name, ""))) for source in SOURCES
    ]
    return Row(claim("L1.top1"), tuple(cells))


@pytest.mark.parametrize(
    "shows, expected, lack",
    [
        ({"published": "y", "sprint": "yyyy", "small": "y"}, "belongs to the task", None),
        ({"published": "u", "sprint": "yyyy", "small": "yy"}, "open", "one recipe"),  # undecided does not count
        ({"published": "y", "fast": "y"}, "open", "few models"),
        ({"small": "u"}, "open", "no model"),
        ({}, "open", "no model"),
        ({"published": "y", "adamw256": "yyy", "sprint": "nnnn"}, "belongs to the recipe", None),
        ({"adamw256": "yyy", "sprint": "nnnnnnnn"}, "open", "few models"),
        ({"adamw256": "yyyn", "sprint": "yynn"}, "differs from seed to seed", "no clear difference"),
        ({"sprint": "yn"}, "differs from seed to seed", "one recipe"),
        ({"sprint": "y", "small": "n"}, "open", "one recipe"),  # two sources, not two seeds
        ({"sprint": "nnnn"}, "not seen", "one recipe"),
        ({"published": "n", "sprint": "nnn"}, "not seen", "few models"),
        ({"adamw256": "nnnn", "sprint": "nnnn"}, "not seen", None),
    ],
)
def test_a_row(shows: dict[str, str], expected: str, lack: str | None) -> None:
    found = row(**shows)
    assert (found.word, found.lack) == (expected, lack)
    letters = "".join(shows.values())
    assert found.n_uncounted == letters.count("u")
    assert sum(tallied.n_show for tallied in found.recipes.values()) == letters.count("y")


def test_a_yes_or_no_is_counted_instead_of_averaged() -> None:
    seeds = Source("sprint", "Muon", seeds=True)
    cell = Cell(seeds, tuple(judged("reproduced", value, claim_id="K2.slot") for value in (1.0, 0.0, 1.0)))
    assert cell.mean == "yes in 2 of 3"


def test_every_question_has_its_rows() -> None:
    inside = [item for item in load_claims() if is_inside(item)]
    assert {item.experiment for item in inside} == {*EXPERIMENTS_INSIDE, "dynamics"} - {"heads"}  # heads has no claims
    assert set(EXPERIMENTS_INSIDE) <= set(EXPERIMENTS)
    assert {item.row for item in inside if item.experiment == "dynamics"} == {"P1"}
    assert {name for names in QUESTIONS.values() for name in names} <= {item.id for item in inside}


# --- from results ---------------------------------------------------------------------------------------------------

Read = Callable[..., Universality | None]


def result(model: str, value: float, experiment: str = "closure", key: str = "top1", **more: object) -> Result:
    """L1.top1 asks for 99.5 % or more."""
    return Result(experiment, "full", model, 0, more, "command", {key: Estimate(value, value, value, 9)})


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(results: Iterable[Result]) -> Universality | None:
        for item in results:
            write_result(tmp_path, item)
        return read_universality(Store(None, tmp_path), load_claims())

    return read


def of(found: Universality | None, name: str = "L1.top1") -> Row:
    assert found is not None
    (only,) = (item for item in found.rows if item.claim.id == name)
    return only


def test_from_result_files_to_the_word(read: Read) -> None:
    seeds = [result(f"adamw256-seed{i}", value) for i, value in enumerate((1.0, 0.999, 0.2, 0.997))]
    found = read([*seeds, result("published", 1.0), result("fast", 0.3), result("sprint-seed0", 1.0)])
    top1 = of(found)
    assert [cell.source.name for cell in top1.cells] == ["published", "adamw256", "sprint", "fast"]  # no empty column
    published, adamw, sprint, fast = top1.cells
    assert published.single is not None
    assert (published.single.ours, published.single.verdict) == (Estimate(100.0, 100.0, 100.0, 9), "reproduced")
    assert adamw.single is None
    assert (adamw.tally, adamw.n) == (Tally(3, 4), 4)
    whole = mean_of_runs([100.0, 99.9, 20.0, 99.7])
    assert whole.high > 100
    assert adamw.mean == written(replace(whole, high=100.0), "%")  # a share is at most 100 %
    assert adamw.spread == "20.0 to 100.0\N{NO-BREAK SPACE}%"
    assert sprint.spread == ""
    assert top1.spread == adamw.spread  # of all seeds
    assert sprint.mean == "100.0\N{NO-BREAK SPACE}%"  # one run has no interval
    assert fast.single is not None
    assert fast.single.verdict == "differs"
    assert top1.recipes == {"AdamW": Tally(4, 5), "Muon": Tally(1, 2)}
    assert top1.word == "differs from seed to seed"
    assert of(found, "K2.slot").recipes == {}
    assert found is not None
    assert {item.word: item.n for item in found.counts} == {
        **dict.fromkeys(WORDS, 0), "differs from seed to seed": 1, "open": found.n_rows - 1,
    }  # fmt: skip


def test_what_the_page_says_about_a_set_of_seeds(read: Read) -> None:
    recipe = preset("sprint").to_dict()
    runs = [
        replace(
            result(f"sprint-seed{i}", 1.0, "dynamics", "order_as_published"),
            config={"training": recipe},
            curves={"holdout": Curve([1, 5600], *([0.1, end],) * 3, n=[256, 256])},
        )
        for i, end in enumerate((0.99, 0.96, 1.0))
    ]
    found = read(runs)
    assert found is not None
    (only,) = found.sets
    assert (only.name, only.n, only.optimiser) == ("sprint", 3, "Muon")
    assert (only.rate.value, only.steps.value) == (recipe["muon_lr"], recipe["steps"])
    assert only.holdout == "96.0 to 100.0\N{NO-BREAK SPACE}%"
    assert found.n_seeds == 3


def test_every_seed_has_its_point_in_the_figure(committed: Universality) -> None:
    (panel,) = draw(strips(committed.rows)).axes
    drawn = sorted(float(x) for line in panel.lines for x in line.get_xdata() if line.get_linestyle() == "None")
    expected = []
    for strip in strips(committed.rows):
        per = 100 if strip.row.claim.unit == "%" else 1
        expected += [item.ours.value / per for cell in strip.row.cells for item in cell.judged if item.ours]
        if not isinstance(strip.row.claim.published, str):
            expected.append(strip.row.claim.number / per)
    assert drawn == pytest.approx(sorted(expected))
    assert max(drawn) < MOST
    assert seeds_figure([]) is None


def test_models_of_other_worlds_and_other_names_do_not_count(read: Read) -> None:
    other = World(("C3", "C4"), n_variables=8).to_dict()
    assert (
        read([result("published", 1.0, world=other), result("tiny", 1.0), result("sprint-earlier-seed0", 1.0)]) is None
    )
    assert of(read([result("small", 1.0)])).recipes == {"Muon": Tally(1, 1)}


def test_the_order_of_skills_may_come_from_a_whole_set(read: Read) -> None:
    results = [result(name, 1.0, "dynamics", "order_as_published") for name in ("adamw256", "sprint", "small")]
    results = [replace(item, config={}) for item in results]
    order = of(read(results), "P1.order")
    assert order.recipes == {"AdamW": Tally(1, 1), "Muon": Tally(2, 2)}
    assert order.word == "open"


def test_what_the_answer_to_a_question_says(read: Read) -> None:
    models = ["published", *(f"sprint-seed{i}" for i in range(5))]
    found = read([result(name, 1.0, "cancellation", "attention.left") for name in models])
    assert found is not None
    answers = {answer.question: answer for answer in found.answers}
    assert list(answers) == list(QUESTIONS)
    assert answers["order"].says == "open"
    left, right = answers["cancellation heads"].rows
    assert (left.word, right.word) == ("not seen", "open")  # 100 % is not within 10 of 74.4 %
    assert answers["cancellation heads"].says == "claims differ"


# --- the page -------------------------------------------------------------------------------------------------------


def words(found: Universality | None, store: Store) -> str:
    classes = count_classes(judge_all(store, load_claims()))
    figure = seeds_figure(found.rows) if found else None
    page = SimpleNamespace(universality=found, classes=classes, seeds_figure=figure)
    html = template_environment().get_template("universality.html.jinja").render(page=page)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


@pytest.fixture(scope="module")
def store() -> Store:
    return Store(None, RESULTS)


@pytest.fixture(scope="module")
def committed(store: Store) -> Universality:
    found = read_universality(store, load_claims())
    assert found is not None
    return found


def test_every_cell_holds_the_number_of_its_file(committed: Universality, store: Store) -> None:
    text, n_checked = words(committed, store), 0
    for found in committed.rows:
        for cell in found.cells:
            numbers = [number_in_file(found, item.model) for item in cell.judged]
            assert [item.ours.value for item in cell.judged if item.ours] == pytest.approx(numbers)
            if cell.judged:
                shown = cell.single.shown if cell.single else cell.mean
                assert " ".join(unescape(re.sub(r"<[^>]+>", " ", shown)).split()) in text
                n_checked += 1
            if cell.judged and not cell.single and found.claim.rule != "holds":
                expected = mean_of_runs(numbers)
                if found.claim.unit == "%":
                    expected = replace(expected, low=max(expected.low, 0.0), high=min(expected.high, 100.0))
                assert cell.mean == written(expected, found.claim.unit)
    assert n_checked > 100


def number_in_file(found: Row, model: str) -> float:
    plain = json.loads((RESULTS / "full" / model / f"{found.claim.experiment}.json").read_text())
    return plain["values"][found.claim.value]["value"] * (100 if found.claim.unit in IN_HUNDREDTHS else 1)


def test_every_word_is_counted_once(committed: Universality) -> None:
    assert sum(item.n for item in committed.counts) == committed.n_rows == len(committed.rows)
    assert all(len(found.cells) == len(committed.sources) for found in committed.rows)


NAMES = {"published": "published", "adamw256": "adamw256-seed0", "sprint": "sprint-seed3",
         "small": "small", "fast": "fast"}  # fmt: skip


@pytest.mark.parametrize(
    "names",
    [["published"], ["adamw256"], ["sprint", "small"], ["published", "small"], ["adamw256", "sprint"], [*NAMES]],
)
def test_any_subset_of_models_reads_well(read: Read, names: list[str], tmp_path: Path) -> None:
    found = read([result(NAMES[name], 1.0) for name in names])
    assert found is not None
    text = words(found, Store(None, tmp_path))
    recipes = {source.recipe for source in SOURCES if source.name in names}
    assert [source.name for source in found.sources] == [source.name for source in SOURCES if source.name in names]
    assert ("No model trained with" in text) == (len(recipes) == 1)
    for recipe in {"AdamW", "Muon"} - recipes:
        assert f"No model trained with {recipe} was looked at yet" in text
    assert ("have the same architecture" in text) == ({"adamw256", "sprint"} <= set(names))
    assert "at least 6 models count" in text
    assert "at least 90 % of those of each recipe" in text
    assert "at least 4 models of each count" in text
    assert "p < .05" in text


def test_while_all_is_open_two_sentences_are_seen_and_the_rest_is_folded(read: Read, tmp_path: Path) -> None:
    found = read([result("published", 1.0), result("small", 1.0)])
    assert found is not None
    assert found.all_open
    assert found.n_open == found.n_rows
    seen, folded = words(found, Store(None, tmp_path)).split("The rule, the questions and all claims by model")
    assert seen.rstrip().endswith("is open, since rerun (AdamW) and small (Muon) are too few to tell.")
    assert "at least 6 models count" in folded
    seeds = read([result(f"sprint-seed{i}", x, "cancellation", "attention.left") for i, x in enumerate((0.744, 0.1))])
    assert seeds is not None
    assert not seeds.all_open
    seen, folded = words(seeds, Store(None, tmp_path)).split("The rule, and all claims by model")
    assert "1 differs from seed to seed" in seen
    assert "at least 6 models count" in folded


def test_without_these_models_the_page_says_nothing(read: Read, tmp_path: Path) -> None:
    assert words(read([]), Store(None, tmp_path)) == ""


def test_the_page_says_what_remains_open(read: Read, tmp_path: Path) -> None:
    """The left head in one of two seeds, the right one measured in one of them alone."""
    one, other = (result(f"sprint-seed{i}", x, "cancellation", "attention.left") for i, x in enumerate((0.744, 0.1)))
    found = read([replace(one, values={**one.values, "attention.right": Estimate(0.571, 0.571, 0.571, 9)}), other])
    text = words(found, Store(None, tmp_path))
    reason = "no AdamW model counts."
    told = "head: differs from seed to seed (Muon 1 of 2); seeds 10.0 to 74.4 %; whether the recipe matters is open"
    assert f"{told}: {reason}" in text
    assert f"the right-cancellation head: open (Muon 1 of 1); {reason}" in text
    assert "Do skills appear in the published order? Open." in text


# --- the rest of the page -------------------------------------------------------------------------------------------

# The table of seeds, and on the first screen their ticks and what is said of them.
OF_SEEDS = re.compile(
    r'<h2 id="universality">.*?</details>\n|<path d="[^"]*" class="seed"/>| Seeds: [^<]*? in \d+ of \d+\.'
    r'|; seeds differ(?=</a>)| <a href="#universality">Seeds differ</a>:.*? of \d+\.| · <span class="seed">.*?(?=</p>)'
    r"|(?:For all|Of) \d+ claims about .*?(?=Intervals)",
    re.DOTALL,
)


def test_seeds_change_nothing_else_on_the_page(tmp_path: Path, undrawn: None) -> None:
    """Neither verdicts, nor counts, nor sections; heads, whose table of runs shows them, has a test of its own."""
    shutil.copytree(RESULTS, tmp_path / "results")
    before = build_report(tmp_path / "before", None, tmp_path / "results").read_text()
    for path in (RESULTS / "full" / "small").glob("*.json"):
        if path.stem != "heads":
            for model in ("adamw256-seed0", "adamw256-seed1", "sprint-seed0", "adamw256"):
                write_result(tmp_path / "results", replace(read_result(path), model=model, model_hash=model))
    after = build_report(tmp_path / "after", None, tmp_path / "results").read_text()
    assert "adamw256" in after
    assert OF_SEEDS.search(before)
    assert OF_SEEDS.sub("", after) == OF_SEEDS.sub("", before)


@pytest.mark.parametrize(
    "model, own",
    [("sprint-seed0", False), ("adamw256-seed12", False), ("adamw256", False), ("published", True), ("small", True),
     ("fast", True), ("sprint", True)],
)  # fmt: skip
def test_which_committed_results_have_a_section_of_their_own(model: str, own: bool) -> None:
    assert Stored(result(model, 1.0), "committed").has_own_section == own
    assert Stored(result(model, 1.0), "this run").has_own_section


def test_seeds_alone_make_no_section(tmp_path: Path, undrawn: None) -> None:
    shipped = read_result(RESULTS / "full" / "small" / "closure.json")
    write_result(tmp_path / "results", replace(shipped, model="adamw256-seed0"))
    html = build_report(tmp_path, None, tmp_path / "results").read_text()
    assert '<h2 id="universality">' in html
    assert '<h2 id="closure">' not in html
    assert "(<code>closure</code>)" in html  # among those without results
