"""`icalgebra ask`: every predictor's answer side by side, with and without a model."""

import io
import json

import pytest

from icalgebra.cli.main import main

EQUATION_6 = ",pf=p,ee=n,pf=p,pf=p,ae=f,pp=e,pf=p,pn=f,pp=e,pe="


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["ask", *arguments])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def test_mechanisms_and_oracle_without_a_model(capsys) -> None:
    code, out, _ = ask(capsys, EQUATION_6, "--json")
    answer = json.loads(out)
    assert code == 0
    assert "model" not in answer
    assert list(answer["mechanisms"]["cancel"]) == ["a"]
    assert answer["oracle"] == {"query": "holdout", "kind": "entailed", "posterior": {"a": 1.0}}


def test_the_shipped_model_is_asked_too(capsys) -> None:
    _, out, _ = ask(capsys, "small", EQUATION_6, "--json")
    probabilities = json.loads(out)["model"]
    assert next(iter(probabilities)) == "a"
    assert sum(probabilities.values()) == pytest.approx(1.0, abs=1e-4)


def test_a_copyable_query_is_judged_as_a_training_query(capsys) -> None:
    _, out, _ = ask(capsys, ",bc=d,bc=", "--json")
    assert json.loads(out)["oracle"]["query"] == "train"
    assert json.loads(out)["oracle"]["posterior"] == {"d": 1.0}


def test_lines_from_standard_input(capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(",bc=d,cb=\n,bc=d,bd=\n"))
    code, out, _ = ask(capsys, "none", "--json")
    assert code == 0
    assert len(out.splitlines()) == 2


def test_the_answer_may_be_a_question_mark(capsys) -> None:
    plain, marked = (ask(capsys, EQUATION_6 + end, "--json")[1] for end in ("", "?"))
    assert marked == plain


def test_no_line_is_answered_before_all_are_read(capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(",bc=d,cb=\n,bc=d,b=\n"))
    code, out, err = ask(capsys, "none", "--json")
    assert (code, out) == (2, "")
    assert "line 2" in err


def test_an_impossible_context_says_why(capsys) -> None:
    _, out, _ = ask(capsys, ",ab=b,ac=", "--json")
    oracle = json.loads(out)["oracle"]
    assert oracle["kind"] == "impossible"
    assert "reserved" in oracle["why"]


def test_the_default_output_is_a_table(capsys) -> None:
    _, out, _ = ask(capsys, EQUATION_6)
    assert "cancel" in out
    assert "entailed" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("small", ",ab"),
        ("smal", ",ab="),
        (",ab=c",),
        ("none", ",ab=", "--file", "x"),
        (",ab=", "--file", "x"),
        ("small", ",ab=", "--device", "meta"),
        ("small", ",ab=", "--structures", "Q8"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments) -> None:
    code, out, err = ask(capsys, *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_why_gives_the_proof_and_what_the_model_rests_on(capsys) -> None:
    identity = ",cl=p,dc=c,jp=l,en=e,bb=n,pj=l,dp="
    _, out, _ = ask(capsys, "small", identity, "--why", "--json")
    answer = json.loads(out)
    assert (answer["proof"]["rung"], answer["proof"]["answer"], answer["proof"]["premises"]) == ("chain", "p", [1])
    assert answer["proof"]["words"][0] == "1. d is the identity: it leaves another unchanged: dc=c"
    assert [item["index"] for item in answer["reliance"]["facts"]] != list(range(6))  # by how much each is missed
    assert sorted(item["index"] for item in answer["reliance"]["facts"]) == list(range(6))
    _, out, _ = ask(capsys, identity, "--why")
    assert "Proof (chain, depth 1):" in out
    assert "rests" not in out  # no model
    _, out, _ = ask(capsys, ",ab=c,de=", "--why")
    assert "No proof" in out


def test_a_world_that_is_not_of_groups_has_answers_without_proofs(capsys, tmp_path) -> None:
    (tmp_path / "minus.csv").write_text("0,2,1\n1,0,2\n2,1,0\n")  # x − y in C3, a quasigroup
    options = ("--table", str(tmp_path / "minus.csv"), "--variables", "4", "--json")
    with pytest.raises(SystemExit) as ended:
        main(["oracle", ",bb=c,dd=", *options, "--proof"])
    answer = json.loads(capsys.readouterr().out)
    assert (ended.value.code, answer["kind"], answer["posterior"]) == (0, "entailed", {"c": 1.0})
    assert "proof" not in answer
    code, out, _ = ask(capsys, ",bb=c,dd=", *options, "--why")
    answer = json.loads(out)
    assert (code, answer["oracle"]["posterior"], answer["proof"]) == (0, {"c": 1.0}, None)
