"""When something goes wrong: one clear line, and the previous checkpoint is intact and used."""

from __future__ import annotations

import json
import pickle
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from helpers import exit_code
from icalgebra import load_model
from icalgebra.errors import InputError, RunError
from icalgebra.experiments.shared.loaded_model import load_with_config
from icalgebra.model.checkpoints import find_checkpoint, read_checkpoint, write_checkpoint
from icalgebra.train import train
from icalgebra.train.metrics import read_metrics
from icalgebra.train.optimisers import Optimisers
from icalgebra.train.run import RunFolder
from training_helpers import MICRO, checkpoint_names, records, same_weights


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("finished") / "run"
    train(MICRO, run, device="cpu")
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A finished run with checkpoints at steps 4 and 6 at least, to be damaged."""
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("name", ["model.safetensors", "trainer.safetensors", "manifest.json"])
@pytest.mark.parametrize("damage", [truncate, flip_a_bit, empty, Path.unlink])
def test_a_damaged_checkpoint_is_reported_and_the_one_before_it_used(
    run: Path, finished: Path, name: str, damage: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    damage(run / "checkpoints/step_000006" / name)
    with pytest.raises(InputError, match="step_000006"):
        load_model(run / "checkpoints/step_000006")
    resumed = train(resume=run, device="cpu")
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "step_000006" in told
    assert "step_000004" in told
    assert same_weights(resumed.model, load_model(finished))
    assert records(run) == records(finished)


def test_a_foreign_checkpoint_is_not_used(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(MICRO.with_changes(seed=9, steps=9), tmp_path / "other", device="cpu")
    shutil.copytree(tmp_path / "other/checkpoints/step_000009", run / "checkpoints/step_000009")
    assert train(resume=run, device="cpu").step == MICRO.steps
    assert "belongs to another run" in capsys.readouterr().err


def test_a_checkpoint_from_before_a_field_was_added_is_the_runs_own(run: Path) -> None:
    found = read_checkpoint(run / "checkpoints/step_000006")
    older = {name: value for name, value in found.config.items() if name != "tracker"}
    write_checkpoint(found.path, found.model(), config=older, trainer=found.trainer, step=6, score=found.score)
    newest, complaints = RunFolder.open(run).newest()
    assert complaints == []
    assert newest is not None
    assert newest.step == 6


def test_a_manifest_of_another_kind_is_reported_and_does_not_stop_training(run: Path) -> None:
    damaged = run / "checkpoints/step_000004"
    for content in ("[]", "[" * 100_000):
        (damaged / "manifest.json").write_text(content)
        with pytest.raises(InputError, match="it is not a manifest"):
            load_model(damaged)
    (damaged / "manifest.json").write_text("[]")
    RunFolder.open(run).save(7, load_model(run), Optimisers(load_model(run), MICRO), score=None)
    assert "step_000007" in checkpoint_names(run)


def test_checkpoints_go_by_their_number(run: Path) -> None:
    last = read_checkpoint(run / "checkpoints/step_000006")
    for step in (1_000_000, 999_999):
        write_checkpoint(run / f"checkpoints/step_{step}", last.model(), config=last.config, trainer={}, step=step)
    shutil.copytree(last.path, run / "checkpoints/step_notes")
    assert find_checkpoint(run).path.name == "step_1000000"
    folder = RunFolder.open(run)
    folder.save(1000001, load_model(run), Optimisers(load_model(run), MICRO), score=None)
    assert {"step_1000000", "step_1000001"} <= set(checkpoint_names(run))
    assert "step_999999" not in checkpoint_names(run)


def test_without_an_intact_checkpoint_training_does_not_resume(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (run / "checkpoints").iterdir():
        empty(folder / "model.safetensors")
    assert exit_code("train", "--resume", str(run)) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "no intact checkpoint is left" in told


def test_pickles_are_refused_with_the_reason(run: Path, tmp_path: Path) -> None:
    torch.save({"w": torch.ones(2)}, tmp_path / "model.pt")
    with pytest.raises(InputError, match="can run any code"):
        load_model(tmp_path / "model.pt")
    shutil.copy(tmp_path / "model.pt", tmp_path / "renamed.safetensors")
    (tmp_path / "plain.safetensors").write_bytes(pickle.dumps({"w": 1}, protocol=4))
    for name in ("renamed", "plain"):
        with pytest.raises(InputError, match="a pickle or an archive"):
            load_model(tmp_path / f"{name}.safetensors")


def test_a_full_disk_ends_in_one_line_and_the_run_resumes_later(tmp_path: Path, finished: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_the_disk(record: dict, model: torch.nn.Module) -> None:
        if record["step"] == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))

    try:
        with pytest.raises(RunError, match=r"cannot write .*step_000004: File too large"):
            train(MICRO, tmp_path / "run", device="cpu", callback=fill_the_disk)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert checkpoint_names(tmp_path / "run") == ["step_000002"]
    assert read_checkpoint(tmp_path / "run/checkpoints/step_000002").step == 2
    assert same_weights(train(resume=tmp_path / "run", device="cpu").model, load_model(finished))


def test_a_loss_that_is_not_finite_ends_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--d-model", "16", "--facts", "8", "--batch-size", "4", "--eval-n", "4", "--eval-facts", "4"]
    course = ["--steps", "9", "--warmup", "3", "--log-every", "1", "--checkpoint-every", "1"]
    course += ["--lr", "1e38", "--muon-lr", "1e30"]
    arguments = ["tiny", "--out", str(tmp_path / "run"), *small, *course]
    assert exit_code("train", *arguments, "--device", "cpu") == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "at step" in told
    for folder in (tmp_path / "run/checkpoints").iterdir():
        assert all(weight.isfinite().all() for weight in read_checkpoint(folder).weights.values())


def test_run_folders_are_not_overwritten_and_must_be_there(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already holds a run"):
        train(MICRO, run, device="cpu")
    with pytest.raises(InputError, match="not a run folder"):
        train(resume=tmp_path / "nothing", device="cpu")


def test_a_half_written_last_line_of_metrics_is_forgotten(run: Path, finished: Path) -> None:
    with open(run / "metrics.jsonl", "a") as stream:
        stream.write('{"kind": "train", "st')
    assert load_with_config(run).metrics == read_metrics(finished / "metrics.jsonl")
    train(resume=run, device="cpu")
    assert records(run) == records(finished)


def test_a_tracker_sees_every_record_and_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    ended: list[bool] = []
    session = SimpleNamespace(log=lambda values, step: seen.append(step), finish=lambda: ended.append(True))
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=lambda **_: session))
    train(MICRO.with_changes(tracker="wandb"), tmp_path / "run", device="cpu")
    assert seen == [record["step"] for record in records(tmp_path / "run")]
    assert ended == [True]
    monkeypatch.setitem(sys.modules, "trackio", None)
    with pytest.raises(InputError, match="pip install trackio"):
        train(MICRO.with_changes(tracker="trackio"), tmp_path / "other", device="cpu")
    assert not (tmp_path / "other").exists()  # nothing is in the way of the next try


# --- metrics.jsonl ----------------------------------------------------------------------------------------------------


def lines_of(run: Path) -> list[bytes]:
    return (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)


DAMAGED_LINES = {
    "truncated": lambda line: line[:-9] + b"\n",
    "zeroed": lambda line: b"\0" * (len(line) - 1) + b"\n",
    "a flipped bit in a number": lambda line: line.replace(b'"loss": ', b'"loss": 1'),
    "a flipped bit in the checksum": lambda line: line.replace(b"crc32", b"crc33"),
    "null": lambda line: b'{"kind": "train", "step": null}\n',
    "not text": lambda line: b"\xff\xfe" + line,
    "a deep nest": lambda line: b"[" * 100_000 + b"\n",
    "a list": lambda line: b"[]\n",
    "empty": lambda line: b"\n",
}


@pytest.mark.parametrize("damage", DAMAGED_LINES)
def test_a_damaged_line_of_metrics_is_told_by_its_number_and_the_run_goes_on(
    run: Path, finished: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = lines_of(run)
    lines[1] = DAMAGED_LINES[damage](lines[1])
    (run / "metrics.jsonl").write_bytes(b"".join(lines))
    assert len(load_with_config(run).metrics) == len(lines) - 1
    told = capsys.readouterr().err
    assert "metrics.jsonl: line 2 is damaged" in told
    shutil.rmtree(run / "checkpoints/step_000006")
    train(resume=run, device="cpu")
    assert "metrics.jsonl: line 2 is damaged" in capsys.readouterr().err
    expected = records(finished)
    assert records(run) == expected[:1] + expected[2:]
    assert load_with_config(run).metrics  # the rewritten file is sound
    assert capsys.readouterr().err == ""


def test_lines_cut_off_metrics_are_missed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = lines_of(run)[:3]
    (run / "metrics.jsonl").write_bytes(b"".join(kept))
    load_with_config(run)
    assert "of the 8 records up to step 6 are lost" in capsys.readouterr().err
    train(resume=run, device="cpu")
    assert "are lost; the others are used" in capsys.readouterr().err


def test_lines_that_were_moved_or_copied_are_damage(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *others = lines_of(run)
    (run / "metrics.jsonl").write_bytes(b"".join([second, first, first, *others]))
    load_with_config(run)
    assert "lines 2, 3 are damaged" in capsys.readouterr().err


def test_metrics_of_an_earlier_version_have_no_checksums(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in lines_of(run)]
    for line in lines:
        del line["clock"]["crc32"]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(load_with_config(run).metrics) == len(lines)
    assert capsys.readouterr().err == ""


# --- which checkpoint is which ----------------------------------------------------------------------------------------


def test_exchanged_checkpoints_are_noticed(run: Path) -> None:
    four, six, aside = (run / "checkpoints" / name for name in ("step_000004", "step_000006", "aside"))
    four.rename(aside)
    six.rename(four)
    aside.rename(six)
    for folder, step in ((four, 6), (six, 4)):
        with pytest.raises(InputError, match=f"holds step {step}: it was renamed or exchanged"):
            load_model(folder)
    assert exit_code("eval", str(run), "--n", "8") == 2


def test_a_checkpoint_of_another_run_is_not_evaluated(run: Path, tmp_path: Path) -> None:
    train(MICRO.with_changes(seed=9), tmp_path / "other", device="cpu")
    shutil.rmtree(run / "checkpoints")
    shutil.copytree(tmp_path / "other/checkpoints", run / "checkpoints")
    with pytest.raises(InputError, match="belongs to another run"):
        load_model(run)


@pytest.mark.parametrize("command", [["eval", "--n", "8"], ["ask", ",ab=c,bc="]])
def test_falling_back_to_an_older_checkpoint_is_told(
    run: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    flip_a_bit(run / "checkpoints/step_000006/model.safetensors")
    name, *options = command
    assert exit_code(name, str(run), *options) == 0
    told = capsys.readouterr().err
    assert "step_000006/model.safetensors is damaged" in told
    assert "using step_000004" in told


def test_folders_that_only_look_like_checkpoints_are_left_alone(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("step_²", "step_6", "step_0000006", "step_", "step_٠٠٠٠٠٧", "step_-00001"):
        (run / "checkpoints" / name).mkdir()
    assert find_checkpoint(run).step == 6
    assert train(resume=run, device="cpu").step == MICRO.steps
    assert capsys.readouterr().err == ""
