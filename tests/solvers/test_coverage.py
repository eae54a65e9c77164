"""Coverage: by definition, against an independent program, on users' sequences; bad input is reported in one line."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icalgebra import World, sample
from icalgebra.cli.main import main
from icalgebra.errors import InputError
from icalgebra.language.parsing import read_sequences
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.solvers import MECHANISMS
from icalgebra.solvers.coverage import coverage
from icalgebra.solvers.reference import SOLVERS, read


def first_to_solve(text: str, commute_any: bool) -> int:
    context, query, answer = read(text)
    for place, name in enumerate(MECHANISMS):
        answers = SOLVERS[name](context, query)
        if set(answers) == {answer} or (commute_any and name == "commute" and answers):
            return place
    return -1


@pytest.mark.parametrize("commute_any", [False, True])
def test_coverage_is_the_first_mechanism_that_is_right(commute_any: bool) -> None:
    sequences = sample("train", 150, 24, seed=0, world=World(structures=("D3", "D4", "C4")))
    measured = coverage(sequences.tokens, "every", commute_any=commute_any).solved_by
    for row, text in enumerate(sequences.texts()):
        facts = text[1:].split(",")
        expected = [first_to_solve("," + ",".join(facts[: j + 1]), commute_any) for j in range(24)]
        assert measured[row].tolist() == expected


def test_auc_is_the_mean_over_one_to_k_minus_one_facts_and_parts_add_up() -> None:
    measured = coverage(sample("train", 300, 60, seed=1).tokens, "every")
    by_hand = np.mean([(measured.solved_by[:, j] == 0).mean() for j in range(1, 60)])
    assert measured.auc("copy").value == pytest.approx(by_hand)
    assert sum(measured.auc(name).value for name in MECHANISMS) == pytest.approx(measured.auc("total").value)


# An independent program's figures (percent, averaged over all 200 positions, so ours are scaled by 199/200), and a
# tolerance of about four standard errors of both.
INDEPENDENT = [
    ("train", 0.5, True, True, [67.9, 12.2, 4.2, 2.4, 3.8]),
    ("train", 0.5, True, False, [67.9, 10.0, 4.2, 3.2, 4.8]),
    ("train", 0.7, False, True, [62.8, 13.8, 4.9, 2.8, 4.5]),
    ("train", 0.7, False, False, [62.8, 11.3, 4.9, 3.6, 5.6]),
    ("holdout", 0.5, True, False, [0, 0, 29.2, 38.7, 17.2]),
    ("holdout", 0.7, False, False, [0, 0, 27.4, 34.5, 20.3]),
]


@pytest.mark.parametrize("distribution, p_mix, d2, commute_any, expected", INDEPENDENT)
def test_coverage_agrees_with_an_independent_program(distribution, p_mix, d2, commute_any, expected) -> None:
    world = World(p_mix=p_mix, d2=d2)
    tokens = sample(distribution, 4000, 200, seed=0, world=world).tokens
    measured = coverage(tokens, "every" if distribution == "train" else "last", commute_any=commute_any)
    tolerance = 1.0 if distribution == "train" else 3.0
    for name, value in zip(MECHANISMS, expected, strict=True):
        assert 99.5 * measured.auc(name).value == pytest.approx(value, abs=tolerance), name


def run_cli(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def test_command_prints_json_in_percent(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_cli(capsys, "coverage", "--n", "50", "--facts", "30", "--commute-any", "--json")
    summary = json.loads(out)
    assert code == 0
    assert list(summary["auc"]) == [*MECHANISMS, "total"]
    assert list(summary["at_context_facts"]) == ["5", "10", "25", "29"]  # the whole context last
    assert 0 < summary["auc"]["copy"] < summary["auc"]["total"] <= 100


def test_command_reads_own_sequences_of_different_lengths(capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(",ab=c,ab=c\n\nab=c,ba=c,ab=c\n"))
    code, out, _ = run_cli(capsys, "coverage", "--file", "-", "--json")
    summary = json.loads(out)
    assert code == 0
    # first line: its one query is a copy; second: a commutative copy, then a copy
    assert summary["auc"]["copy"] == pytest.approx(75.0)
    assert summary["auc"]["commute"] == pytest.approx(25.0)
    assert summary["n"] == 2
    assert (summary["facts"], summary["shorter"]) == (3, 1)


BAD_LINES = [
    (",ab=c,de", "line 1, column 9"),
    (",ab=c\n,aq=c,ab=c", "line 2, column 3"),
    (",ab=c,de=f,ab=d", "fact 1 (ab=c) and fact 3 (ab=d) contradict"),
    (",ab=c,de=", "line 1: the last fact has no answer"),
    ("", "no sequence in"),
    (",ab=c", "at least 2 facts"),
    (",ab=c,ab=c\n\n,ab=c", "line 3: coverage needs at least 2 facts"),
]


@pytest.mark.parametrize("text, message", BAD_LINES)
def test_bad_lines_end_in_one_line(capsys, monkeypatch, text: str, message: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    code, out, err = run_cli(capsys, "coverage", "--file", "-")
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_bytes_that_are_not_text_end_in_one_line(capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff,ab=c"), encoding="utf-8"))
    assert run_cli(capsys, "coverage", "--file", "-") == (2, "", "icalgebra: standard input is not text\n")


ALMOST_SEQUENCES = st.one_of(
    st.text(alphabet=",=abcdefq +\n", max_size=40),
    st.lists(st.text(alphabet="abcd", min_size=3, max_size=3), max_size=8).map(
        lambda facts: "".join(f",{x}{y}={z}" for x, y, z in facts)
    ),
    st.text(max_size=20),
)


@settings(max_examples=10_000, deadline=None)
@given(ALMOST_SEQUENCES)
def test_no_input_crashes(text: str) -> None:
    """Either the text is parsed, and coverage runs on its tokens, or InputError says why not."""
    try:
        rows = read_sequences(enumerate(text.splitlines(), start=1), Vocabulary(16))
    except InputError:
        return
    for row in rows:
        solved = coverage(row[None], "every").solved_by
        assert solved.shape == (1, len(row) // 5)
