"""Templates contain text, loops and plain ifs: every number and every decision comes from Python."""

import re
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from helpers import ROOT

PACKAGE = ROOT / "src" / "icalgebra"
TEMPLATES = sorted(PACKAGE.rglob("*.jinja"))
FILTERS = {"join", "capitalize", "length", "selectattr", "list", "number"}
ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow, nodes.Neg)
PARSER = Environment(trim_blocks=True)

# Digits allowed in the text: names, places in the paper, settings that define what is meant.
NAMES = re.compile(
    r"\b(?:[CDQ]\d+|SmallGroup\([\d,]+\)|H200|sha256)\b"
    r"|\b(?:Figures?|Tables?|Sections?|Eqs?\.|Listings?) \d+[a-h]?(?:(?:,| and|–) \d*[a-h]?)*"
    r"|p_mix(?: =)? (?:0|1|\.\d)|\b95 %|\bpython scripts/\S+|seed0|&#\d+;|\b(?:bf16|fp32|8 bits|v1)\b"
    r"|k − 1|k = \d+(?:, \d+ …)?|\b\d+ facts"
)
# Numbers in fixed prose, each with its meaning. A published number is never one of them: it comes from its claim.
FIXED = {
    "accuracy_by_facts": {"199"},  # facts of context in the longest sequence
    "templates": {"1", "16", "18", "200", "001"},  # 1 − p_mix, "1 … k − 1", the alphabet, the released schedule
}


def problems(source: str) -> list[str]:
    """What a template does that belongs in reading.py."""
    tree = PARSER.parse(source)
    found = [type(node).__name__ for kind in (*ARITHMETIC, nodes.Compare) for node in tree.find_all(kind)]
    found += [f"{node.value!r}" for node in tree.find_all(nodes.Const) if type(node.value) in (int, float)]
    found += [node.name for node in tree.find_all(nodes.Filter) if node.name not in FILTERS]
    return found


def digits(source: str) -> set[str]:
    """Numbers typed into the text."""
    text = re.sub(r"<style>.*?</style>", "", source, flags=re.DOTALL)
    words = re.sub(r"<[^>]*>", " ", re.sub(r"\{\{.*?\}\}|\{%.*?%\}", " ", text, flags=re.DOTALL))
    return set(re.findall(r"\d*\.?\d+", NAMES.sub(" ", words)))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_template_decides_nothing(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_number_is_typed_into_a_template(path: Path) -> None:
    assert digits(path.read_text(encoding="utf-8")) <= FIXED.get(path.parent.name, set())


@pytest.mark.parametrize(
    "source, wrong",
    [
        ("{% if r.share > 0.2 %}x{% endif %}", ["Compare", "0.2"]),
        ("{{ 100 * r.share }}", ["Mul", "100"]),
        ('{% if r.kind == "a" %}x{% endif %}', ["Compare"]),
        ("{{ r.all | max }}", ["max"]),
        ("{% for x in r.rows %}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}", []),
        ('{{ {"one": "head", "two": "heads"}[r.kind] }}', []),
    ],
)
def test_what_belongs_in_a_reading_is_detected(source: str, wrong: list[str]) -> None:
    assert problems(source) == wrong


def test_typed_numbers_are_detected() -> None:
    assert digits("in {{ r.share }} of copies, where 67.9 % is published (Figure 3a, p_mix .7, C10)") == {"67.9"}
