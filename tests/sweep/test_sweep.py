"""Sweeps: descriptions, and what must not depend on interruptions, deaths or the kind of worker."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import ROOT, exit_code, message_of
from icalgebra.atomic_files import write_json
from icalgebra.errors import InputError
from icalgebra.plotting import published
from icalgebra.sweep import Entry, LocalWorkers, load_sweep, run_sweep, sweep_table, write_manifest
from icalgebra.sweep.local import PROCESSES
from icalgebra.sweep.outcome import finished, steps_to
from icalgebra.sweep.table import adopt_table, write_table
from icalgebra.sweep.task import held, run_entry
from icalgebra.train import TrainConfig
from sweep_helpers import COURSE, FOUR, Killer, described, first_checkpoint, four_runs, rows, typed, under_way, wait_for

# --- descriptions ---------------------------------------------------------------------------------------------------


def test_a_description_becomes_one_frozen_config_per_line(tmp_path: Path) -> None:
    runs = [{"d_model": 8, "seeds": [5]}, {"p_mix": 0.3}]
    entries = load_sweep(described(tmp_path, {**FOUR, "fixed": {"steps": 7}, "runs": runs}))
    assert [(e.config.p_mix, e.config.d_model, e.config.seed) for e in entries] == [
        (0.3, 16, 0), (0.3, 16, 1), (0.7, 16, 0), (0.7, 16, 1), (0.7, 8, 5),
    ]  # fmt: skip
    assert {entry.config.steps for entry in entries} == {7}
    assert entries[0].name == "p_mix=0.3 d_model=16 seed=0"
    assert load_sweep(write_manifest(tmp_path, entries)) == entries


def test_an_id_depends_on_the_config_alone(tmp_path: Path) -> None:
    described(tmp_path, FOUR)
    (tmp_path / "other.toml").write_text('config = "base.json"\nseeds = [1]\n[[runs]]\np_mix = 0.3\n')
    (alone,) = load_sweep(tmp_path / "other.toml")
    assert alone.id == four_runs(tmp_path)[1].id
    assert alone.name == "the only run"


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"grids": {}}, "unknown key 'grids'; did you mean 'grid'?"),
        ({"fixed": {"n_layer": 2}}, "unknown config field 'n_layer'; did you mean 'n_layers'?"),
        ({"grid": {"d_modle": [2]}}, "did you mean 'd_model'?"),
        ({"grid": {"self": [1]}}, "unknown config field 'self'"),
        ({"grid": {"d_model": 2}}, "grid.d_model must be a list, not 2"),
        ({"grid": {"d_model": [2.5]}}, "d_model must be a whole number, not 2.5"),
        ({"runs": [3]}, "runs[0] must be an object of fields, not 3"),
        ({"runs": [{"seed": 3}]}, "give seeds = [0, 1, …] instead of seed"),
        ({"seeds": []}, "seeds must be a list of integers"),
        ({"preset": "tiny"}, "name either a preset or a config file"),
        ({"evaluate": {"x": {"d_model": 2}}}, "unknown evaluation field 'd_model'"),
        ({"grid": {"p_mix": []}}, "describes no runs"),
    ],
)
def test_mistakes_are_reported_with_the_file_and_the_fix(tmp_path: Path, changes: dict, told: str) -> None:
    path = described(tmp_path, {**FOUR, **changes})
    with pytest.raises(InputError) as caught:
        load_sweep(path)
    assert str(path) in message_of(caught.value)
    assert told in message_of(caught.value)


def test_a_manifest_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path, four_runs(tmp_path))
    manifest.write_text(manifest.read_text().replace('"steps": 40', '"steps": 41', 1))
    with pytest.raises(InputError, match="line 1: its config was changed"):
        load_sweep(manifest)


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"config": 3}, "a config must be an object of fields, not 3"),
        ({"evaluate": 3}, "evaluate must be a table of tables of fields, not 3"),
        ({"evaluate": {"p7": 3}}, "evaluate must be a table of tables of fields"),
    ],
)
def test_a_manifest_with_a_wrong_value_is_refused(tmp_path: Path, changes: dict, told: str) -> None:
    (tmp_path / "manifest.jsonl").write_text(json.dumps({**four_runs(tmp_path)[0].to_dict(), **changes}))
    with pytest.raises(InputError, match=f"line 1: {told}"):
        load_sweep(tmp_path / "manifest.jsonl")


@pytest.mark.parametrize("table", ["[]", '{"sweep": "x"}', '{"sweep": "x", "runs": [1]}', "[" * 100_000])
def test_a_file_that_is_not_a_table_is_reported(tmp_path: Path, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = described(tmp_path, FOUR)
    (tmp_path / "table.json").write_text(table)
    assert exit_code("sweep", str(file), "--out", str(tmp_path), "--collect") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_committed_descriptions_are_the_papers_sweeps() -> None:
    architecture = [entry.config for entry in load_sweep(ROOT / "sweeps/architecture.toml")]
    settings = [(c.n_layers, c.n_heads, c.d_model) for c in architecture]
    assert set(settings) == {tuple(row[:3]) for row in published()["table_1"]["rows"]}
    assert {s: settings.count(s) for s in settings if settings.count(s) > 1} == {(4, 8, 128): 3, (4, 8, 256): 3}
    mixing = load_sweep(ROOT / "sweeps/mixing.toml")
    assert [entry.config.p_mix for entry in mixing] == [0.0, 0.3, 0.5, 0.7, 1.0]
    assert all(entry.evaluation_configs["p7"].p_mix == 0.7 for entry in mixing)


# --- running --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that was never interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    assert swept(described(folder, FOUR), folder / "out") == 0
    return folder / "out"


def swept(file: Path, out: Path, *options: str) -> int:
    return exit_code(*arguments(file, out), *options)


def arguments(file: Path, out: Path) -> list[str]:
    return ["sweep", str(file), "--out", str(out), "--workers", "2", "--device", "cpu"]


def test_table_and_figure_come_out(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = rows(whole)
    assert [row["varies"] for row in table] == [{"p_mix": p, "seed": seed} for p in (0.3, 0.7) for seed in (0, 1)]
    for row in table:
        assert (row["done"], row["step"], row["logits"]) == (True, COURSE.steps, "fp32")
        for values in (row["final"], row["evaluations"]["stop"]):
            share = values["holdout"]
            assert share["low"] <= share["value"] <= share["high"]
            assert share["n"] == COURSE.eval_n
    assert all(row["name"] in (whole / "curves.svg").read_text() for row in table)
    assert exit_code("sweep", str(whole / "manifest.jsonl"), "--out", str(whole), "--collect", "--json") == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)["runs"]] == [row["id"] for row in table]


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_and_resumed_sweep_ends_in_the_same_table(
    whole: Path, tmp_path: Path, blow: signal.Signals
) -> None:
    file, out = described(tmp_path, FOUR), tmp_path / "out"
    sweep = PROCESSES.Process(target=typed, args=(arguments(file, out),))
    sweep.start()
    wait_for(lambda: under_way(out))
    os.kill(sweep.pid, blow)
    sweep.join(60)
    assert sweep.exitcode == (130 if blow == signal.SIGINT else -blow)
    assert (out / "table.json").exists() == (blow == signal.SIGINT)
    broken_off = {run: first_checkpoint(run).stat().st_ino for run in under_way(out)}
    assert broken_off
    assert swept(file, out) == 0
    assert rows(out) == rows(whole)
    assert {run: first_checkpoint(run).stat().st_ino for run in broken_off} == broken_off


def test_a_killed_worker_is_tried_again_from_its_checkpoint(whole: Path, tmp_path: Path) -> None:
    entries, killer = four_runs(tmp_path), Killer(tmp_path)
    status = run_sweep(entries, tmp_path, LocalWorkers(2, ["cpu"]))
    killer.check(status)
    assert same_as(whole, sweep_table(entries, tmp_path))


def same_as(whole: Path, table: list[dict]) -> bool:
    return [{key: value for key, value in row.items() if key != "clock"} for row in table] == rows(whole)


def test_ctrl_c_during_the_servers_imports_leaves_no_traceback() -> None:
    program = (
        "import os, signal\n"
        "from multiprocessing import forkserver\n"
        "from icalgebra.processes import PROCESSES, start_server\n"
        # A shell starts background commands with SIGINT ignored, and the tests may run in one.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "start_server(['icalgebra.sweep.task'])\n"
        "os.kill(forkserver._forkserver._forkserver_pid, signal.SIGINT)\n"
        "process = PROCESSES.Process(target=print); process.start(); process.join()\n"
        "assert process.exitcode == 0 and signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert told.stderr == ""


def test_a_run_that_keeps_dying_is_given_up_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    diverging = {"lr": 1e38, "muon_lr": 1e30, "weight_decay": 0.0}
    file = described(tmp_path, {"config": "base.json", "runs": [diverging, {"steps": 2}]})
    assert swept(file, tmp_path / "out", "--retries", "1") == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "1 of the runs failed after all retries; lr=1e+38" in told
    failed, done = rows(tmp_path / "out")
    assert [failed["done"], done["done"]] == [False, True]
    assert "the loss is" in failed["failed"]  # the run's own reason, in the table and in the error
    assert failed["failed"] in told
    assert "failed" not in done
    log = load_sweep(file)[0].folder(tmp_path / "out") / "log.txt"
    assert log.read_text().count("at step") == 2


def test_a_run_has_one_writer_and_is_not_done_twice(whole: Path) -> None:
    entry = load_sweep(whole / "manifest.jsonl")[0]
    folder = entry.folder(whole)
    written = (folder / "done.json").stat().st_ino
    second = threading.Thread(target=run_entry, args=(entry, folder, "cpu"))
    with held(folder):
        second.start()
        second.join(0.3)
        assert second.is_alive()
    second.join(10)
    assert not second.is_alive()
    assert (folder / "done.json").stat().st_ino == written


def test_a_half_written_or_foreign_done_file_counts_for_nothing(whole: Path, tmp_path: Path) -> None:
    one, other = load_sweep(whole / "manifest.jsonl")[:2]
    text = (one.folder(whole) / "done.json").read_text()
    for content in (text[:-9], "[]", (other.folder(whole) / "done.json").read_text()):
        (tmp_path / "done.json").write_text(content)
        assert finished(one, tmp_path) is None
    (tmp_path / "done.json").write_text(text)
    assert finished(one, tmp_path) is not None


def test_a_table_alone_is_enough_to_continue_elsewhere(whole: Path, tmp_path: Path) -> None:
    file, out = described(tmp_path, FOUR), tmp_path / "out"
    table = json.loads((whole / "table.json").read_text())
    for row in table["runs"][2:]:
        row["done"] = False
    write_json(out / "table.json", table)
    assert swept(file, out, "--only", "p_mix=0.7", "seed=0") == 0
    assert [row["done"] for row in rows(out)] == [True, True, True, False]
    assert swept(file, out) == 0
    assert rows(out) == rows(whole)
    trained = [path.parent.name for path in out.glob("runs/*/metrics.jsonl")]
    assert sorted(trained) == sorted(row["id"] for row in table["runs"][2:])
    assert all(row["name"] in (out / "curves.svg").read_text() for row in rows(out))


def test_a_task_of_an_array_goes_on_from_a_table_too(whole: Path, tmp_path: Path) -> None:
    file, out = described(tmp_path, FOUR), tmp_path / "out"
    write_json(out / "table.json", json.loads((whole / "table.json").read_text()))
    assert swept(file, out, "--task", "1") == 0
    assert not list(out.glob("runs/*/metrics.jsonl"))


def test_a_table_of_other_evaluations_or_configs_is_not_taken_over(whole: Path, tmp_path: Path) -> None:
    entries = four_runs(tmp_path)
    write_json(tmp_path / "table.json", json.loads((whole / "table.json").read_text()))
    changed = [replace(entries[0], evaluate={}), Entry(COURSE.with_changes(steps=3), FOUR["evaluate"]), entries[1]]
    adopt_table(changed, tmp_path)
    assert [finished(entry, entry.folder(tmp_path)) is not None for entry in changed] == [False, False, True]


@pytest.mark.parametrize(("change", "taken_over"), [({}, True), ({"clip": 2.0}, False), ({"not_a_field": 1}, False)])
def test_a_table_of_another_version(whole: Path, tmp_path: Path, change: dict, taken_over: bool) -> None:
    """A field it had not yet has its default; a changed default, or a field that is gone, makes it another run."""
    (entry, *_) = four_runs(tmp_path)
    table = json.loads((whole / "table.json").read_text())
    (row,) = (row for row in table["runs"] if row["id"] == entry.id)
    row["config"] = {key: value for key, value in row["config"].items() if key != "tracker"} | change
    write_json(tmp_path / "table.json", table)
    adopt_table([entry], tmp_path)
    assert (finished(entry, entry.folder(tmp_path)) is not None) == taken_over


FORMER = {"mixture_rule": "draw", "log_checkpoints": "ladder", "keep_checkpoints": "keep"}


def with_former_names(values: dict) -> dict:
    return {FORMER.get(name, name): value for name, value in values.items()}


def test_a_sweep_goes_on_from_a_table_with_former_names(whole: Path, tmp_path: Path) -> None:
    """Neither its description nor its table knows that fields were renamed; the new table does."""
    description = {**FOUR, "evaluate": {"stop": {"draw": "stop"}}, "fixed": {"ladder": 2}}
    file, out = described(tmp_path, description), tmp_path / "out"
    write_json(tmp_path / "base.json", with_former_names(COURSE.to_dict()))
    table = json.loads((whole / "table.json").read_text())
    for row in table["runs"]:
        row["config"], row["evaluate"] = with_former_names(row["config"]), {"stop": {"draw": "stop"}}
    table["runs"][3]["done"] = False
    write_json(out / "table.json", table)
    assert swept(file, out) == 0
    assert [path.parent.name for path in out.glob("runs/*/metrics.jsonl")] == [table["runs"][3]["id"]]
    assert rows(out) == rows(whole)


def test_ids_do_not_change_with_the_names_of_fields(tmp_path: Path) -> None:
    changed = COURSE.with_changes(mixture_rule="stop", keep_checkpoints=1, log_checkpoints=3)
    usual = TrainConfig().to_dict()
    first = {FORMER.get(key, key): value for key, value in changed.to_dict().items() if value != usual[key]}
    digest = hashlib.sha256(json.dumps(first, sort_keys=True).encode()).hexdigest()
    assert Entry(changed, {}).id == digest[:12]
    line = {"id": digest[:12], "name": "", "config": with_former_names(changed.to_dict()), "evaluate": {}}
    assert Entry.from_dict(line).config == changed


@pytest.mark.parametrize("name", ["mixing", "architecture"])
def test_the_committed_tables_are_those_of_their_descriptions(name: str, tmp_path: Path) -> None:
    entries = load_sweep(ROOT / f"sweeps/{name}.toml")
    write_json(tmp_path / "table.json", json.loads((ROOT / f"sweeps/{name}/table.json").read_text()))
    adopt_table(entries, tmp_path)
    assert all(row["done"] for row in sweep_table(entries, tmp_path))


def test_the_table_grows_with_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that is killed without a word leaves the table of what was done before."""
    written: list[int] = []

    def counting(name: str, entries: list, out: Path) -> dict:
        table = write_table(name, entries, out)
        written.append(sum(row["done"] for row in table["runs"]))
        return table

    monkeypatch.setattr("icalgebra.cli.sweep.write_table", counting)
    runs = [{"steps": 2}, {"steps": 3}, {"steps": 4}]
    file = described(tmp_path, {"config": "base.json", "runs": runs})
    assert exit_code("sweep", str(file), "--out", str(tmp_path / "out"), "--device", "cpu") == 0
    assert written == [1, 2, 3, 3]


def test_steps_to_a_target_are_those_of_the_first_evaluation_there() -> None:
    records = [{"step": step, "holdout": value} for step, value in [(10, 0.5), (20, 0.95), (30, 0.8), (40, 0.97)]]
    assert steps_to(0.9, [{"step": 5, "loss": 1.0}, *records]) == 20
    assert steps_to(0.99, records) is None


@pytest.mark.parametrize(
    "options, told",
    [
        (["--workers", "0"], "--workers must be at least 1"),
        (["--ray", "--collect"], "--ray and --collect cannot be combined"),
        (["--task", "4"], "--task must be between 0 and 3"),
        (["--only", "p_mix=0.4"], "no run is called p_mix=0.4; the first is p_mix=0.3 seed=0"),
        (["--only", "seed=0", "--collect"], "--only and --collect cannot be combined"),
        (["--device", "cqu"], "unknown device"),
    ],
)
def test_wrong_options_end_in_one_line(
    tmp_path: Path, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("sweep", str(described(tmp_path, FOUR)), "--out", str(tmp_path / "out"), *options) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert told in said


# --- Slurm and Ray --------------------------------------------------------------------------------------------------


def test_the_slurm_array_runs_one_line_of_the_manifest_per_task(whole: Path, tmp_path: Path) -> None:
    script, out = tmp_path / "array.sh", tmp_path / "out"
    assert swept(described(tmp_path, FOUR), out, "--slurm", str(script), "--retries", "3") == 0
    assert not (out / "runs").exists()
    text = script.read_text()
    assert "#SBATCH --array=0-3%2\n" in text
    assert "gpu" not in text
    assert "--retries 3 --device cpu --task" in text
    subprocess.run(["bash", "-n", str(script)], check=True)
    subprocess.run(["bash", str(script)], check=True, env={**os.environ, "SLURM_ARRAY_TASK_ID": "1"})
    entries = load_sweep(out / "manifest.jsonl")
    assert [finished(entry, entry.folder(out)) is not None for entry in entries] == [False, True, False, False]
    assert sweep_table(entries, out)[1]["final"] == rows(whole)[1]["final"]


def test_the_slurm_array_asks_for_a_gpu_by_default(tmp_path: Path) -> None:
    script = tmp_path / "array.sh"
    assert exit_code("sweep", str(described(tmp_path, FOUR)), "--out", str(tmp_path), "--slurm", str(script)) == 0
    assert "#SBATCH --array=0-3\n" in script.read_text()
    assert "#SBATCH --gpus-per-task=1\n" in script.read_text()


def test_a_cluster_that_does_not_answer_is_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert swept(described(tmp_path, FOUR), tmp_path / "out", "--ray") == 2
    assert capsys.readouterr().err == "icalgebra: no Ray cluster answers at RAY_ADDRESS=127.0.0.1:1\n"


def test_a_ray_worker_killed_in_the_middle_costs_no_run_and_counts_none_twice(whole: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    from icalgebra.sweep.cluster import RayWorkers

    entries, killer = four_runs(tmp_path), Killer(tmp_path)
    status = run_sweep(entries, tmp_path, RayWorkers(2, "cpu"))
    killer.check(status)
    assert same_as(whole, sweep_table(entries, tmp_path))
