"""Accuracy of predictors, the evaluations of a run, and the commands that show them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import icalgebra
from icalgebra.cli import main
from icalgebra.errors import InputError
from icalgebra.language.vocabulary import LEFT
from icalgebra.model.accuracy import accuracy, by_slice, hits, query_structures, strictly_best
from icalgebra.model.closure import closure_sets, seen_members, top_1, top_k
from icalgebra.model.prefix_accuracy import logits_at_every_fact
from icalgebra.model.transformer import Transformer
from icalgebra.processes import free_memory
from icalgebra.train import TrainConfig, train
from icalgebra.train.evaluation import Evaluations, measure_training_tokens
from training_helpers import MICRO, records

WORLD = MICRO.world


def copier(tokens: np.ndarray) -> np.ndarray:
    """Answers from an earlier fact with the same pair, or not at all."""
    answers = np.zeros((len(tokens), WORLD.n_variables))
    for row, prompt in enumerate(tokens):
        facts = prompt[:-4].reshape(-1, 5)
        same = (facts[:, 1] == prompt[-3]) & (facts[:, 2] == prompt[-2])
        answers[row, facts[same, 4]] = 1.0
    return answers


def test_ties_and_empty_rows_are_wrong() -> None:
    scores = np.array([[0.1, 0.9, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    assert strictly_best(scores, np.array([1, 0, 2, 1])).tolist() == [True, False, False, False]


@pytest.mark.parametrize("kind", [bool, int, np.uint8, np.float16])
def test_a_predictor_may_return_one_hot_rows_of_any_type(kind: type) -> None:
    expected = accuracy(copier, "train", 50, 12, world=WORLD)
    assert expected.value > 0
    assert accuracy(lambda tokens: copier(tokens).astype(kind), "train", 50, 12, world=WORLD) == expected


def test_a_predictor_may_return_tensors_that_need_gradients() -> None:
    model = Transformer(MICRO.model)

    def own(tokens: np.ndarray) -> torch.Tensor:
        return model(tokens)[:, -1, : WORLD.n_variables]

    expected = accuracy(icalgebra.as_predictor(model), "train", 50, 12, world=WORLD)
    assert accuracy(own, "train", 50, 12, world=WORLD) == expected
    assert accuracy(lambda tokens: own(tokens).bfloat16(), "train", 4, 12, world=WORLD).n == 4
    with pytest.raises(InputError, match="complex128"):
        accuracy(lambda tokens: copier(tokens) + 0j, "train", 4, 12, world=WORLD)


def test_a_copier_answers_copy_and_nothing_held_out() -> None:
    assert accuracy(copier, "copy", 200, 12, world=WORLD).value == 1.0
    assert accuracy(copier, "holdout", 200, 12, world=WORLD).value == 0.0
    few, many = (accuracy(copier, "train", 200, k, world=WORLD).value for k in (2, 30))
    assert few < many


def test_slices_divide_the_rows() -> None:
    sequences = icalgebra.sample("copy", 300, 12, world=WORLD)
    hit = hits(copier, sequences)
    parts = by_slice(hit, query_structures(sequences))
    assert set(parts) == {"C3", "C4"}
    assert sum(part.n for part in parts.values()) == 300


def test_a_model_is_a_predictor_whatever_the_batch() -> None:
    model = Transformer(MICRO.model)
    prompts = icalgebra.sample("train", 10, 6, world=WORLD).prompts
    one, other = (icalgebra.as_predictor(model, batch)(prompts) for batch in (3, 256))
    assert one.shape == (10, 6)
    assert np.allclose(one, other, atol=1e-6)
    assert np.allclose(one.sum(1), 1.0, atol=1e-5)
    assert icalgebra.as_predictor(model)(prompts[:0]).shape == (0, 6)


def test_closure_asks_for_exactly_the_members_seen_so_far() -> None:
    sequences = icalgebra.sample("train", 200, 8, world=WORLD)
    members = seen_members(sequences)[:, -1]
    assert (seen_members(sequences) == closure_sets(sequences)["seen"]).all()
    logits = np.full((200, WORLD.vocabulary.size), -1.0)
    logits[:, : WORLD.n_variables] += 2.0 * members
    variables = logits[:, : WORLD.n_variables]
    assert top_k(logits, members).all()
    assert top_1(logits, members).all()
    logits[:, -1] = 5.0  # a ',' competes only where its logit is given
    assert not top_k(logits, members).any()
    assert not top_1(logits, members).any()
    assert top_k(variables, members).all()
    assert top_1(variables, members).all()
    groups = sequences.groups_of_variables()
    for row, facts in enumerate(sequences.facts):
        left = facts[-1, 0]
        seen = {*facts[:-1].ravel().tolist(), int(left)}
        assert set(np.flatnonzero(members[row])) == {v for v in seen if groups[row, v] == groups[row, left]}


def test_the_evaluation_of_training_has_the_closure_of_the_experiment_but_for_the_other_tokens() -> None:
    """One definition: the logits of ',' and '=' of a random model are pushed down, so that they never win."""
    model, sequences = Transformer(MICRO.model, seed=5).eval(), icalgebra.sample("train", 60, 8, 3, WORLD)
    model.embed.weight.data[WORLD.n_variables :] = 0.0
    model.ln_final.b.data += 30 * model.embed.weight.data[: WORLD.n_variables].sum(0)
    logits, seen = logits_at_every_fact(model, sequences.tokens, LEFT)[:, -1], seen_members(sequences)[:, -1]
    measured = measure_training_tokens(model, sequences)
    assert measured["closure_top_1"].value == top_1(logits, seen).mean()
    assert measured["closure_top_k"].value == top_k(logits, seen).mean()
    assert 0 < measured["closure_top_1"].value < 1


def test_evaluations_name_everything_and_skip_what_a_world_has_no_sequences_for() -> None:
    measured = Evaluations(WORLD, 8, 8, (4,))(Transformer(MICRO.model))
    assert {"holdout", "holdout_reserved_identity", "holdout_unshuffled", "holdout/4"} <= set(measured)
    assert {"copy", "commute", "identity", "cancel", "associate", "structural"} <= set(measured)
    assert {"closure_top_k", "closure_top_1", "loss/comma", "loss/answer"} <= set(measured)
    too_short = Evaluations(WORLD, 2, 8)(Transformer(MICRO.model))
    assert "cancel" not in too_short
    assert "copy" in too_short


def test_evaluations_that_do_not_fit_together_are_refused_before_any_is_sampled() -> None:
    n = free_memory() // (5 * 100)  # one evaluation would just fit
    with pytest.raises(InputError, match="in all evaluations do not fit in the memory that is free"):
        Evaluations(WORLD, 100, n)


def test_eval_prints_a_table_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    final = train(MICRO, tmp_path / "run", device="cpu").final
    arguments = ["eval", str(tmp_path / "run"), "--n", str(MICRO.eval_n), "--seed", str(MICRO.seed), "--device", "cpu"]
    with pytest.raises(SystemExit, match="0"):
        main([*arguments, "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["step"] == MICRO.steps
    assert shown["evaluations"]["holdout"]["value"] == final["holdout"]
    assert shown["evaluations"]["holdout"]["n"] == MICRO.eval_n
    with pytest.raises(SystemExit, match="0"):
        main(arguments)
    assert "closure_top_k" in capsys.readouterr().out


def test_train_takes_every_field_and_a_config_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(MICRO.to_dict()))
    arguments = ["train", "--config", str(tmp_path / "config.json"), "--steps", "2", "--eval-facts", "3", "5", "--json"]
    with pytest.raises(SystemExit, match="0"):
        main([*arguments, "--structures", "C3", "--out", str(tmp_path / "run"), "--device", "cpu"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["step"] == 2
    assert shown["holdout/3"] == records(tmp_path / "run")[-1]["holdout/3"]
    assert json.loads((tmp_path / "run/config.json").read_text())["structures"] == ["C3"]


def test_a_model_is_trained_on_a_table_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(MICRO.to_dict()))
    (tmp_path / "klein.csv").write_text("*,e,a,b,c\ne,e,a,b,c\na,a,e,c,b\nb,b,c,e,a\nc,c,b,a,e\n")
    arguments = ["train", "--config", str(tmp_path / "config.json"), "--steps", "2", "--out", str(tmp_path / "run")]
    with pytest.raises(SystemExit, match="0"):
        main([*arguments, "--structures", "C3,C2", "--table", str(tmp_path / "klein.csv"), "--device", "cpu"])
    assert "klein: a group of 4 elements, identity 0" in capsys.readouterr().err
    klein = TrainConfig.load(tmp_path / "run" / "config.json").world.pool[-1]
    assert (klein.name, klein.table.tolist()) == ("klein", icalgebra.structure("C2xC2").table.tolist())
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step_000002")
    (tmp_path / "klein.csv").unlink()  # the run folder needs no other file
    assert train(resume=tmp_path / "run", device="cpu").step == 2


def test_who_interrupts_a_run_is_told_how_to_go_on(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text(json.dumps(MICRO.to_dict()))
    run = tmp_path / "run"

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("icalgebra.train.loop.Trainer._report", pressed)  # in the first step
        with pytest.raises(SystemExit, match="130"):
            main(["train", "--config", str(tmp_path / "config.json"), "--out", str(run), "--device", "cpu"])
    assert f"icalgebra train --resume {run}" in capsys.readouterr().err
    assert train(resume=run, device="cpu").step == MICRO.steps


PREDICTORS = {
    "a mechanism": lambda: icalgebra.solver("cancel"),
    "the oracle": lambda: icalgebra.oracle_predictor(icalgebra.World()),
    "a model": lambda: icalgebra.as_predictor(icalgebra.load_model("small")),
}


@pytest.mark.parametrize("predictor", PREDICTORS.values(), ids=PREDICTORS)
def test_predictors_take_the_same_rows_and_refuse_the_same(predictor) -> None:
    predict, prompts = predictor(), icalgebra.sample("holdout", 2, 10).prompts
    both = predict(prompts)
    assert np.array_equal(predict(prompts.tolist()), both)  # lists
    assert np.allclose(predict(prompts[0]), both[:1], atol=1e-6)  # one row
    for wrong in (prompts[:, :-1], prompts.astype(float), prompts[None], []):
        with pytest.raises(icalgebra.InputError):
            predict(wrong)


def test_accuracy_says_what_is_not_a_predictor() -> None:
    model = icalgebra.load_model("small")
    with pytest.raises(icalgebra.InputError, match="as_predictor"):
        accuracy(model, n=2, n_facts=5)  # type: ignore[arg-type]
    with pytest.raises(icalgebra.InputError, match=r"returned \[2, 3\]"):
        accuracy(lambda prompts: np.ones((len(prompts), 3)), n=2, n_facts=5)
    with pytest.raises(icalgebra.InputError, match="NaN"):
        accuracy(lambda prompts: np.full((len(prompts), 16), np.nan), n=2, n_facts=5)
    with pytest.raises(icalgebra.InputError, match="at least 1 sequence"):
        icalgebra.as_predictor(model, -1)
    with pytest.raises(icalgebra.InputError, match="device 'xpu'"):
        icalgebra.load_model("small", "xpu")


@pytest.mark.parametrize("world", [icalgebra.World(n_variables=20), icalgebra.World(("C3",), n_variables=6)])
def test_a_model_refuses_tokens_of_another_alphabet(world: icalgebra.World) -> None:
    with pytest.raises(icalgebra.InputError, match="another alphabet: with 16 variables"):
        accuracy(icalgebra.as_predictor(icalgebra.load_model("small")), n=2, n_facts=5, world=world)


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["train"], "name a preset"),
        (["train", "tyni", "--out", "x"], "did you mean 'tiny'"),
        (["train", "tiny"], "--out RUN"),
        (["train", "tiny", "--out", "x", "--device", "gpu"], "unknown device"),
        (["train", "tiny", "--resume", "x"], "uses the saved config"),
        (["train", "tiny", "--out", "x", "--d-model", "7"], "even number of dimensions"),
        (["train", "tiny", "--out", "x", "--device", "meta"], "torch cannot use the device 'meta'"),
        # one matrix is larger than the address space: refused even where the system overcommits memory
        (["train", "tiny", "--out", "x", "--d-model", "6000000", "--device", "cpu"], "not enough memory"),
        (["speedrun", "tiny", "--timed-steps", "10"], "--timed-steps must be at least 20"),
        (["speedrun", "tiny", "--n", "0"], "--n must be at least 1"),
        (["speedrun", "tiny", "--steps", "0"], "steps is too small: 0"),
        (["eval", "nothing"], "no model 'nothing'"),
    ],
)
def test_bad_requests_end_in_one_line(
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert reason in told
