"""Sequences, pairs, posteriors and results as notebooks show them: indexing, short text, and HTML without surprises."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import icalgebra
from icalgebra import InputError, Sequence, Structure, World, classify_queries, counterfactual_pairs, sample
from icalgebra.algebra.structures import structure
from icalgebra.markup import PALETTE
from icalgebra.results import Curve, Result
from icalgebra.statistics import Estimate

ATTACK = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
ROWS = sample("holdout", n=12, n_facts=9, seed=2)


class Tags(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def test_rows_slices_and_loops():
    assert isinstance(ROWS[0], Sequence)
    assert [row.text for row in ROWS] == ROWS.texts()
    assert str(ROWS[-1]) == ROWS.texts()[-1]
    assert ROWS[np.int64(3)].text == ROWS.texts()[3]
    assert ROWS[2:5].texts() == ROWS.texts()[2:5]
    assert ROWS[2:5].start == 2
    assert len(list(ROWS[20:])) == 0
    with pytest.raises(IndexError, match="these are 12 sequences"):
        ROWS[12]
    for wrong in (slice(0, 4, 2), "a", [1, 2]):
        with pytest.raises(InputError, match=r"s\[2:5\]"):
            ROWS[wrong]


def test_a_row_knows_its_structures_and_assignment():
    for row, record in zip(ROWS, ROWS.records()):
        assert list(row.structures) == record["structures"]
        assert "".join(row.assignment) == record["assignment"]
        assert row.text == f"{row.prompt}{row.answer}"
        assert row.prompt.endswith(f",{row.query}=")
        for fact in row.facts:  # the tables say the same as the text
            (place,) = [i for i, letters in enumerate(row.assignment) if fact[0] in letters]
            letters, table = row.assignment[place], row.drawn[place].table
            assert letters[table[letters.index(fact[0]), letters.index(fact[1])]] == fact[3]


def test_pairs_and_posteriors_are_indexed_too():
    pairs = counterfactual_pairs("closure", n=3)
    assert [pair.source.text for pair in pairs] == pairs.source.texts()
    assert pairs[1].target == World().vocabulary.variables[pairs.targets[1]]
    assert len(pairs[1:]) == 2
    found = classify_queries(ROWS.prompts, ROWS.world)
    for row, one in zip(found.probabilities, found):
        assert one.probabilities == {"abcdefghijklmnop"[i]: p for i, p in enumerate(row) if p}
        assert list(one.probabilities.values()) == sorted(one.probabilities.values(), reverse=True)
    assert found[:2].kinds.tolist() == found.kinds[:2].tolist()


def test_representations_are_one_short_line():
    result = Result("x", "full", "small", 0, {}, "icalgebra x", {"a": Estimate(0.5, 0.4, 0.6, 10)})
    long = sample("train", n=1, n_facts=200)
    values = (ROWS, ROWS[0], long, long[0], counterfactual_pairs("closure", n=3), result,
              classify_queries(ROWS.prompts, ROWS.world), classify_queries(ROWS.prompts, ROWS.world)[0])  # fmt: skip
    for value in values:
        assert len(repr(value)) <= 120
        assert "\n" not in repr(value)


def test_html_shows_the_facts_and_the_partial_table():
    (row,) = sample("train", n=1, n_facts=6, seed=0, world=World("D4", p_mix=0.0))
    html = row._repr_html_()
    text = re.sub(r"<[^>]*>", " ", html)
    assert all(fact in text for fact in row.facts)
    assert html.count("<tr>") == 9
    cells = re.findall(r"<td[^>]*>([a-p])</td>", html)
    query, context = row.facts[-1], row.facts[:-1]
    assert sorted(cells) == sorted(
        answer for pair, answer in {f[:2]: f[3] for f in context}.items() if pair != query[:2]
    )
    assert f"{row.answer}?" in text
    assert PALETTE[0] in html


def test_nothing_a_user_names_becomes_active():
    evil = Structure.from_table(ATTACK, structure("C3").table)
    world = World((evil,), p_mix=0.0)
    rows = sample("train", n=2, n_facts=5, world=world)
    result = Result(
        ATTACK,
        ATTACK,
        ATTACK,
        0,
        {},
        ATTACK,
        {ATTACK: Estimate(0.5, 0.4, 0.6, 10)},
        {ATTACK: Curve([], [], [], [], [])},
    )
    shown = [
        rows,
        rows[0],
        counterfactual_pairs("closure", 2, world=world),
        result,
        classify_queries(rows.prompts, world, "train"),
    ]
    for value in shown:
        html = value._repr_html_()
        seen = Tags(html)
        assert not {"script", "img", "svg", "iframe", "style", "link"} & set(seen.tags)
        assert set(seen.attributes) <= {"style", "title"}
        ElementTree.fromstring(f"<div>{html}</div>")  # well-formed
    assert "alert(1)" in rows._repr_html_()  # it is shown as text


def test_a_figure_of_attention_in_one_call(tmp_path):
    model, rows = icalgebra.load_model("small"), sample("copy", n=2, n_facts=12)
    drawn = icalgebra.attention_figure(model, rows[0], "2.1", (3, 5))
    assert drawn == icalgebra.attention_figure(model, rows[0].prompt, (2, 1), "3.5")
    ElementTree.fromstring(drawn)
    drawn.save(tmp_path / "attention.svg")
    assert (tmp_path / "attention.svg").read_text() == drawn == drawn._repr_svg_()
    assert "head 3.5" in drawn
    for wrong, said in ((rows, "one sequence, not 2"), (rows[0].text, "must lack its answer")):
        with pytest.raises(InputError, match=said):
            icalgebra.attention_figure(model, wrong, "2.1")
    with pytest.raises(InputError, match="name the heads"):
        icalgebra.attention_figure(model, rows[0])
