"""The numbers that the page shows for five sequences equal those of ask, oracle and explain."""

import json

import pytest
from test_api import TEXTS, VARIABLES
from test_browser import Watched, shares, type_text

from helpers import exit_code
from icalgebra import explain

LEAST = 0.005  # a smaller probability has no bar


def command(capsys, *words: str) -> dict:
    assert exit_code(*words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def check_bars(shown: dict[str, float], expected: dict[str, float]) -> None:
    """Every bar has the expected number, and the likeliest variable has a bar."""
    assert {name: expected[name] for name in shown} == pytest.approx(shown, abs=2e-6)
    top = max(expected, key=lambda name: expected[name])
    assert top in shown or expected[top] < LEAST


def check_answers(page, asked: dict) -> None:
    check_bars(shares(page, "#model-bars"), asked["model"])
    kind = asked["oracle"]["kind"]
    assert page.text_content("#kind") == kind
    if kind in ("entailed", "guess"):
        check_bars(shares(page, "#oracle-bars"), asked["oracle"]["posterior"])
    decided = {name: sorted(answers) for name, answers in asked["mechanisms"].items() if answers}
    shown = page.locator("[data-mechanism]").evaluate_all("nodes => nodes.map((node) => node.dataset.mechanism)")
    assert set(shown) == set(decided)
    for name, answers in decided.items():
        found = page.locator(f"[data-mechanism='{name}'] b").all_text_contents()
        assert sorted(found) == answers


def values(page) -> dict[str, float]:
    found = page.locator("#head-map [data-part]")
    pairs = found.evaluate_all("nodes => nodes.map((node) => [node.dataset.part, Number(node.dataset.value)])")
    return dict(pairs)


def check_inside(watched, text: str) -> None:
    expected = explain("small", text)
    page, parts = watched.page, (*expected.heads, *expected.mlps)
    whole = shares(page, "#model-bars")[expected.answer]
    page.check("input[name='view'][value='ablation']")
    assert {part.name: part.without - whole for part in parts} == pytest.approx(values(page), abs=4e-4)
    page.check("input[name='view'][value='direct']")
    assert {part.name: part.direct for part in parts} == pytest.approx(values(page), abs=2e-3)


def test_the_page_shows_the_numbers_of_five_sequences(browser, address, capsys):
    assert len(set(TEXTS)) == 5
    watched = Watched(browser, address)
    watched.open()
    for text in TEXTS:
        type_text(watched, text)
        assert watched.page.text_content(".fact.query") == text.split(",")[-1] + "?"
        asked = command(capsys, "ask", "small", text)
        check_answers(watched.page, {**asked, "model": {v: asked["model"].get(v, 0.0) for v in VARIABLES}})
        check_inside(watched, text)
    assert watched.wrong == []
    watched.page.close()
