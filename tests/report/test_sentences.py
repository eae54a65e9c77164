"""Sentences about several models, and what the page needs to be used without a mouse."""

import re

import pytest

from helpers import ROOT
from icalgebra.experiments import claim
from icalgebra.experiments.shared.readings import (
    Models,
    Number,
    OfModel,
    Stated,
    component_name,
    listed,
    published_text,
)
from icalgebra.report.page import reachable_tables
from icalgebra.statistics import Estimate

TEMPLATES = sorted((ROOT / "src" / "icalgebra").rglob("*.jinja"))


@pytest.mark.parametrize(
    "names, words", [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_names_are_listed_as_in_a_sentence(names: list[str], words: str) -> None:
    assert listed(names) == words


def test_a_verb_agrees_with_the_models_named_before_it() -> None:
    models = Models(
        [OfModel("small", {"falls": True}), OfModel("fast", {"falls": True}), OfModel("x", {"falls": False})]
    )
    assert models.where("falls") == "<code>small</code> and <code>fast</code>"
    assert models.verb("falls", "falls", "fall") == "fall"
    assert models.verb("falls", "falls", "fall", False) == "falls"


def test_components_have_names() -> None:
    assert [component_name(place) for place in ("3.7", "mlp 3")] == ["head 3.7", "the MLP of layer 3"]


def test_a_table_that_scrolls_can_be_reached_with_the_keyboard() -> None:
    page = reachable_tables('<div class="scroll"><table></table></div>')
    assert re.fullmatch('<div class="scroll" role="group" tabindex="0" aria-label="[^"]+"><table></table></div>', page)
    for path in TEMPLATES:
        text = path.read_text(encoding="utf-8")
        opened = re.findall(r"<table[^>]*>", text)
        assert len(opened) == text.count('<div class="scroll"><table') + text.count('<div class="scroll">\n<table') + (
            text.count('<table class="ledger">')
        ), path


def test_negative_numbers_have_one_minus_sign() -> None:
    number = Number(Estimate(-0.17, -0.2, 0.1, 20), "")
    assert (number.plain, number.bounds) == ("−0.17", "[−0.20, 0.10]")
    assert Number.exact(-0.001, "").plain == "0.00"
    assert published_text(claim("L4.cos_cancellation")) == "−0.17"
    assert published_text(claim("L2.with_identity")) == "97.5\N{NO-BREAK SPACE}%"
    assert published_text(claim("L3.other_place_c")) == "fails"


def test_no_row_is_labelled_by_the_row_above() -> None:
    """A label says what its row holds; 'the same' and 'its' need another row."""
    for path in TEMPLATES:
        for label in re.findall(r"models\.(?:brief|row)\(\"([^\"]*)\", ", path.read_text(encoding="utf-8")):
            assert not re.match("(?:its|their|the same|highest|lowest|embedded|and)\\b", label), label


def test_no_head_of_a_column_is_empty() -> None:
    for path in TEMPLATES:
        assert not re.search(r"<th[^>]*></th>", path.read_text(encoding="utf-8")), path
    assert "<th></th>" not in Models([OfModel("small", {})]).header()


def test_a_brief_row_has_plain_numbers_and_their_intervals_in_titles() -> None:
    share = Number(Estimate(0.5, 0.4, 0.6, 20))
    small, fast = OfModel("small", {"x": share, "heads": ["1.2", "3.0"]}), OfModel("fast", {"x": None, "heads": []})
    models = Models([small, fast])
    row = models.brief("a share", "x", paper=Stated(40.0, "%"))
    shown = '50.0\N{NO-BREAK SPACE}% <small class="no-hover">[40.0, 60.0]</small>'
    assert f'<td class="n" title="50.0 % [40.0, 60.0], n = 20">{shown}</td>' in row
    assert row.count("<td") == 4  # label, two models, paper
    assert '<td class="n">–</td>' in row
    assert row.endswith('<td class="n">40\N{NO-BREAK SPACE}%</td></tr>')
    assert "1.2, 3.0" in models.brief("heads", "heads")
    assert models.brief("heads", "heads").count("<td") == 3  # without the paper's column
    assert models.brief_header(paper=True).count("<th") == models.brief_header().count("<th") + 1
