"""The ids contract, and text <-> ids with errors that say where."""

import re
from string import ascii_lowercase, ascii_uppercase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icalgebra.algebra.structures import MAX_ORDER
from icalgebra.errors import InputError
from icalgebra.language.vocabulary import MAX_VARIABLES, Vocabulary, facts_of

SIXTEEN = Vocabulary()
sizes = st.integers(1, 52)


@st.composite
def texts(draw):
    n_variables = draw(sizes)
    letter = st.sampled_from((ascii_lowercase + ascii_uppercase)[:n_variables])
    facts = draw(st.lists(st.tuples(letter, letter, letter), min_size=1, max_size=6))
    return Vocabulary(n_variables), "".join(f",{x}{y}={z}" for x, y, z in facts)


def test_ids_of_the_default_alphabet_are_the_contract():
    assert SIXTEEN.encode(",ab=p").tolist() == [17, 0, 1, 16, 15]
    assert (SIXTEEN.size, SIXTEEN.equals, SIXTEEN.comma) == (18, 16, 17)


@given(sizes)
def test_variables_come_first_then_equals_then_comma(n):
    vocabulary = Vocabulary(n)
    last = vocabulary.variables[-1]
    assert vocabulary.encode(f",{last}a={last}").tolist() == [n + 1, n - 1, 0, n, n - 1]
    assert len(set(vocabulary.variables)) == n


@given(texts())
def test_text_to_ids_and_back_is_the_same_text(case):
    vocabulary, text = case
    ids = vocabulary.encode(text)
    assert ids.dtype == np.uint8
    assert len(ids) == len(text)
    assert vocabulary.decode(ids[None]) == [text] == vocabulary.decode(ids)


@given(texts())
def test_facts_of_reads_left_right_and_answer(case):
    vocabulary, text = case
    letters = [[vocabulary.variables[v] for v in fact] for fact in facts_of(vocabulary.encode(text)[None])[0]]
    assert letters == [[fact[0], fact[1], fact[3]] for fact in text[1:].split(",")]


@given(texts())
def test_leading_comma_and_surrounding_space_are_optional(case):
    vocabulary, text = case
    assert np.array_equal(vocabulary.encode(f"  {text[1:]} \n"), vocabulary.encode(text))


@given(texts())
def test_the_last_answer_may_be_missing(case):
    vocabulary, text = case
    assert np.array_equal(vocabulary.encode(text[:-1]), vocabulary.encode(text)[:-1])


def test_rows_decode_one_by_one():
    rows = np.stack([SIXTEEN.encode(",ab=c,dd=e"), SIXTEEN.encode(",pa=a,bb=p")])
    assert SIXTEEN.decode(rows) == [",ab=c,dd=e", ",pa=a,bb=p"]
    assert SIXTEEN.decode(rows[:0]) == []


@given(texts(), st.data())
def test_a_wrong_character_is_named_with_line_and_column(case, data):
    vocabulary, text = case
    place = data.draw(st.integers(0, len(text) - 1))
    indent = data.draw(st.integers(0, 3))
    broken = " " * indent + text[:place] + "?" + text[place + 1 :]
    comma_is_gone = place == 0  # then a comma is added in front, and the '?' stands in the left slot
    with pytest.raises(InputError, match=re.escape(f"line 7, column {indent + place + 1}:")) as caught:
        vocabulary.encode(broken, line=7)
    assert "'?'" in str(caught.value)
    assert ("variable" in str(caught.value)) == (comma_is_gone or place % 5 in (1, 2, 4))


@pytest.mark.parametrize(
    "text, column, needs",
    [
        (",ab=c,", 7, "variable"),
        (",ab=c,d", 8, "variable"),
        (",ab=c,de", 9, "'='"),
        ("ab=c,d", 7, "variable"),
        (",", 2, "variable"),
        (",ab=cd", 6, "','"),
        (",aq=c", 3, "variable"),
    ],
)
def test_incomplete_or_foreign_text_says_what_is_needed_where(text, column, needs):
    with pytest.raises(InputError, match=f"line 1, column {column}: .*{needs}"):
        SIXTEEN.encode(text)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_text_is_an_error(text):
    with pytest.raises(InputError, match="line 3: empty"):
        SIXTEEN.encode(text, line=3)


@pytest.mark.parametrize("n", [0, -1, 53])
def test_an_alphabet_has_between_one_and_52_variables(n):
    with pytest.raises(InputError, match="between 1 and 52"):
        Vocabulary(n)


def test_the_largest_structure_fills_the_alphabet() -> None:
    assert MAX_ORDER == MAX_VARIABLES
