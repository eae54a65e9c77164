"""Dynamics: from run folders and from the script to the page; known histories give the known order."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers import ROOT, with_sizes
from icalgebra.cli import main
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments import load_claims
from icalgebra.experiments.dynamics.measure import run, summarised
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.emergence import SKILLS, published_pairs
from icalgebra.experiments.shared.loaded_model import Runs
from icalgebra.experiments.shared.training_history import TrainingHistory, load_training_history, training_history
from icalgebra.oracle.loss_floor import slot_floors
from icalgebra.report.page import build_report
from icalgebra.results import Result, read_result, write_result
from icalgebra.train import TrainConfig, train

CONFIG = TrainConfig(
    structures=("C3", "C4"), n_variables=8, n_layers=2, n_heads=2, d_model=16, n_facts=12, batch_size=8, steps=12,
    warmup=2, log_every=2, eval_every=0, eval_points=6, eval_n=16, eval_facts=(), checkpoint_every=0, log_checkpoints=4,
)  # fmt: skip
ONSETS = {
    "structural": 5, "closure_top_k": 20, "copy": 60, "commute": 90, "identity": 300, "cancel": 320, "associate": 900,
}  # fmt: skip
STEPS = sorted({round(1.13**i) for i in range(8, 66)})


def known_history(onsets: dict[str, int], seed: int = 0, plateau: float = 0.5) -> TrainingHistory:
    """A history whose skills appear at known steps; identity has a plateau from closure's onset to its own."""
    config = CONFIG.with_changes(seed=seed, eval_n=256)
    values = {skill: [float(step >= at) for step in STEPS] for skill, at in onsets.items()}
    if "identity" in onsets:
        waiting = [plateau * (step >= onsets["closure_top_k"]) for step in STEPS]
        values["identity"] = [max(*pair) for pair in zip(waiting, values["identity"])]
    losses = {f"loss/{slot}": [2.0] * len(STEPS) for slot in ("left", "right", "answer")}
    return TrainingHistory(config, STEPS, {**values, "holdout": values["copy"], **losses}, [[1, 2.0], [9, 1.0]], {})


def judged(*histories: TrainingHistory) -> Result:
    return summarised(histories, "known", "quick", 0, {}, "command")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two seeds, trained."""
    out = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        train(CONFIG.with_changes(seed=seed), out / f"seed{seed}", device="cpu")
    return [out / f"seed{seed}" for seed in (0, 1)]


@pytest.fixture(scope="module")
def result(folders: list[Path]) -> Result:
    return run(tier="quick", seed=0, runs=Runs(tuple(map(str, folders))), n=4, n_facts=200)


def test_the_published_order_of_known_histories_is_recognised() -> None:
    values = judged(known_history(ONSETS), known_history({**ONSETS, "copy": 65}, seed=1)).values
    for key in ("order_as_published", "associate_last", "same_order_in_all_seeds", "order_agreement"):
        assert values[key].value == 1, key
    assert values["identity_plateau"].value == pytest.approx(0.5)
    assert values["identity_in_band"].value == pytest.approx(1.0)
    assert values["rest.identity"].value > 10 > values["rest.copy"].value == 1
    assert values["dip.identity"].value == values["early_peak.identity"].value == pytest.approx(0.5)
    for skill, at in ONSETS.items():
        assert values[f"onset.{skill}"].low * 0.99 <= at <= values[f"onset.{skill}"].high * 1.01


def test_another_order_is_not_taken_for_the_published_one() -> None:
    swapped = {**ONSETS, "copy": 90, "commute": 30}
    values = judged(known_history(swapped)).values
    assert values["order_as_published"].value == 0
    assert values["associate_last"].value == 1
    assert values["pairs_reversed"].value == pytest.approx(1 / len(published_pairs(SKILLS)))
    assert "same_order_in_all_seeds" not in values
    values = judged(known_history(ONSETS), known_history(swapped, seed=1)).values
    assert values["same_order_in_all_seeds"].value == 0
    assert judged(known_history({**ONSETS, "associate": 200})).values["associate_last"].value == 0


def test_identity_rises_with_cancel_where_neither_is_significantly_first() -> None:
    together = {**ONSETS, "cancel": ONSETS["identity"]}
    assert judged(known_history(together)).values["identity_with_cancel"].value == 1
    apart = {**ONSETS, "cancel": 2 * ONSETS["identity"]}
    assert judged(known_history(together), known_history(apart, seed=1)).values["identity_with_cancel"].value == 0


def test_what_identity_loses_before_it_is_learned_is_its_dip() -> None:
    history = known_history(ONSETS)
    lost = [0.25 if 30 <= step < 40 else share for step, share in zip(STEPS, history.values["identity"])]
    values = judged(replace(history, values={**history.values, "identity": lost})).values
    assert values["early_peak.identity"].value == pytest.approx(0.5)
    assert values["dip.identity"].value == pytest.approx(0.25)
    assert values["onset.identity"].low <= ONSETS["identity"] <= values["onset.identity"].high


def test_nothing_learned_is_no_order() -> None:
    values = judged(known_history(dict.fromkeys(ONSETS, 10**6), plateau=0.0)).values
    assert (values["order_as_published"].value, values["associate_last"].value) == (0, 0)
    assert not any(key.startswith("onset.") for key in values)
    assert values["identity_plateau"].value == 0


def test_claims_find_their_values(result: Result) -> None:
    for claim in load_claims():
        if claim.experiment == "dynamics":
            assert claim.measure(result) is not None, claim.id
    for key, estimate in result.values.items():
        assert estimate.low <= estimate.value <= estimate.high, key


def test_floors_are_those_of_the_sequences_evaluated(folders: list[Path], result: Result) -> None:
    rows = [sample("train", 16, 12, seed, CONFIG.world, stream="eval/train").tokens for seed in (0, 1)]
    floors = slot_floors(np.concatenate(rows), CONFIG.world).mean(axis=(0, 1))
    last = [history["values"]["loss/answer"][-1] for history in result.details["runs"]]
    assert [result.values[f"floor.{slot}"].value for slot in ("left", "right", "answer")] == pytest.approx(floors)
    assert result.values["regret.answer"].value == pytest.approx(np.mean(last) - floors[2])
    tokens = floors.sum() * 12 / (12 * 5 - 1)
    assert result.values["floor.token"].value == pytest.approx(tokens)


def test_roles_are_scored_at_the_log_spaced_checkpoints(folders: list[Path]) -> None:
    history = load_training_history(folders[0], 4, 12, 0, "cpu")
    assert history.steps == sorted(CONFIG.evaluation_steps)
    assert history.roles["copy"].own.x == sorted(CONFIG.log_checkpoint_steps)
    assert history.roles["copy"].heads[-1] == history.roles["copy"].head
    assert history.roles["copy"].best.y[-1] == history.roles["copy"].own.y[-1]
    assert all(best >= own for own, best in zip(history.roles["copy"].own.y, history.roles["copy"].best.y))
    assert TrainingHistory.from_dict(json.loads(json.dumps(history.to_dict()))) == history


def test_a_damaged_checkpoint_is_told_of_and_left_out(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the working directory: "." is not a shipped model."""
    first, *rest = sorted(CONFIG.log_checkpoint_steps)
    shutil.copytree(folders[0], tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    Path(f"checkpoints/step_{first:06d}/manifest.json").unlink()
    Path("checkpoints/step_notes").mkdir()
    history = load_training_history(".", 2, 12, 0, "cpu")
    assert history.roles["copy"].own.x == rest
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert f"step_{first:06d}" in printed


def test_the_same_seed_gives_the_same_result(folders: list[Path], result: Result) -> None:
    again = run(tier="quick", seed=0, runs=Runs(tuple(map(str, folders))), n=4, n_facts=200)
    assert again.to_dict() == result.to_dict()


def test_the_page_has_words_for_whatever_comes(tmp_path: Path, result: Result) -> None:
    """Real runs with roles; runs without roles that learned nothing, in a world without floors."""
    nothing = judged(known_history(dict.fromkeys(ONSETS, 10**6)))
    nothing = Result(**{**vars(nothing), "values": {k: v for k, v in nothing.values.items() if "floor" not in k}})
    for found, n_figures, said in (
        (result, 3, "takes that role on at step|no head's effect"),
        (nothing, 2, "not by the end<"),
    ):
        out = tmp_path / found.model
        stamped = Result(**{**vars(found), "provenance": {"seconds": 1.0, "machine": "m", "commit": None}})
        write_result(out / "results", stamped)
        html = build_report(out, out / "results", None).read_text()
        assert html.count("<svg") == n_figures
        assert re.search(said, html)


def test_only_runs_that_differ_in_their_seed_are_compared() -> None:
    one, other = known_history(ONSETS), known_history(ONSETS, seed=1)
    with pytest.raises(InputError, match="different settings"):
        judged(one, replace(other, config=other.config.with_changes(p_mix=0.1)))
    with pytest.raises(InputError, match="same steps"):
        judged(one, replace(other, steps=[*other.steps[:-1], 10**5]))


def test_what_is_no_run_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run folder"):
        load_training_history(tmp_path, 4, 12, 0, "cpu")
    with pytest.raises(InputError, match="not been evaluated"):
        training_history(CONFIG, [{"kind": "train", "step": 1, "loss": 1.0}], {})
    with pytest.raises(InputError, match="give --runs"):
        run_experiment("dynamics", "quick")


def test_the_command_reads_run_folders(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_sizes(monkeypatch, "dynamics", {"n": 4, "n_facts": 12})
    options = ["--out", str(tmp_path), "--device", "cpu", "--alone", "--json"]
    arguments = ["reproduce", "--only", "dynamics", *options, "--runs"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, *map(str, folders)])
    assert ended.value.code == 0
    assert read_result(tmp_path / "results/quick/seed0/dynamics.json").values["came.copy"].n == 2
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "--only", "coverage", "--out", str(tmp_path), "--runs", "x"])
    assert ended.value.code == 2
    assert "coverage does not use --runs" in capsys.readouterr().err


def test_the_script_goes_on_with_the_seeds_it_has_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    script = importlib.import_module("dynamics")
    sizes = ["--steps", "4", "--points", "3", "--n", "8", "--roles", "2", "--role-n", "3", "--device", "cpu"]

    def said(*seeds: str) -> str:
        monkeypatch.setattr(sys, "argv", ["dynamics.py", "tiny", str(tmp_path), *sizes, "--seeds", *seeds])
        script.main()
        return capsys.readouterr().out

    assert "seed 0" in said("0")
    path = tmp_path / "full/tiny/dynamics.json"
    alone = read_result(path)
    both = said("0", "1")
    assert "seed 0" not in both
    assert "seed 1" in both
    found = read_result(path)
    assert found.config["seeds"] == [0, 1]
    assert found.details["runs"][0] == alone.details["runs"][0]
    assert found.details["runs"][0]["roles"]["copy"]["own"]["x"] == [2, 4]
