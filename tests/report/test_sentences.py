"""Sentences about several models, and what the page needs to be used without a mouse."""

import re

import pytest

from helpers import ROOT
from icalgebra.experiments.shared.readings import Models, OfModel, component_name, listed
from icalgebra.report.page import reachable_tables

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


def test_no_head_of_a_column_is_empty() -> None:
    for path in TEMPLATES:
        assert not re.search(r"<th[^>]*></th>", path.read_text(encoding="utf-8")), path
    assert "<th></th>" not in Models([OfModel("small", {})]).header()
