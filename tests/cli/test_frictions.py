"""Everyday frictions: notices, estimates, aliases, one cache, results that travel, progress in pipes."""

import json
import os
import pty
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from helpers import ROOT, exit_code, message_of, python_arguments
from icalgebra import InputError, Structure, World, sample, structure
from icalgebra.cli.estimates import in_words, training_flops
from icalgebra.cli.main import COMMANDS
from icalgebra.results import committed_results, read_result, result_paths
from icalgebra.train import TrainConfig, preset
from icalgebra.train.presets import PRESETS

# --- compiling ------------------------------------------------------------------------------------------------------

COMPILES = "import numpy as np; from icalgebra.randomness import mix; mix(np.uint64(1)); mix(1)"


def test_people_are_told_once_that_kernels_are_compiled(tmp_path):
    reader, writer = pty.openpty()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(python_arguments(COMPILES), stderr=writer, env=environment)
    os.close(writer)
    assert process.wait(timeout=300) == 0
    said = os.read(reader, 10_000).decode()
    os.close(reader)
    assert said.split("\r\n") == ["icalgebra: compiling once, about 20 s", ""]


def test_pipes_and_other_peoples_kernels_get_no_notice(capsys, monkeypatch):
    from icalgebra import compilation, randomness

    ours, theirs = (
        SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=f)}) for f in (randomness.stream_key, len)
    )
    compilation._Notice().on_start(ours)
    monkeypatch.setattr(compilation, "_someone_is_watching", lambda: True)
    compilation._Notice().on_start(theirs)
    assert capsys.readouterr().err == ""
    compilation._Notice().on_start(ours)
    assert capsys.readouterr().err == f"{compilation.NOTICE}\n"


def test_make_and_the_activated_command_line_share_one_cache():
    assert "NUMBA_CACHE_DIR" not in (ROOT / "Makefile").read_text()


# --- training without a GPU -----------------------------------------------------------------------------------------


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize(
    "arguments",
    [("train", "paper", "--out", "run"), ("speedrun", "fast"), ("sweep", "sweeps/mixing.toml", "--out", "s")],
)
def test_gpu_work_is_refused_with_an_estimate(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    arguments = [str(ROOT / word) if word.endswith(".toml") else word for word in arguments]
    assert exit_code(*arguments) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line]
    assert "about " in line
    assert "--device cpu" in line
    assert not Path("run").exists()


def test_what_a_cpu_can_do_is_not_refused(monkeypatch):
    from icalgebra.cli.estimates import check_time_without_gpu

    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("icalgebra.cli.estimates.matmul_rate", lambda: 50e9)  # a slow machine
    check_time_without_gpu([preset("tiny")], None, "tiny")
    check_time_without_gpu([preset("paper")], "cpu", "paper")
    check_time_without_gpu([preset("small").with_changes(steps=10)], None, "small")
    with pytest.raises(InputError, match="days"):
        check_time_without_gpu([preset("small")], None, "small")
    assert training_flops(preset("tiny")) < min(training_flops(preset(name)) for name in PRESETS if name != "tiny")
    assert [in_words(s) for s in (600, 3 * 3600, 5 * 86400, 1e9)] == ["10 minutes", "3 hours", "5 days", "32 years"]


# --- structures and worlds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "name"),
    [("Z6", "C6"), ("V4", "C2xC2"), ("K4", "C2xC2"), ("S3", "D3"), ("Z2xZ2", "C2xC2"), ("S3xZ2", "D3xC2")],
)
def test_groups_have_their_other_names(other, name):
    assert structure(other) == structure(name)
    assert sample("train", 3, 5, world=World(other)).texts() == sample("train", 3, 5, world=World(name)).texts()


@pytest.mark.parametrize("name", ["S4", "A5", "S5", "A6"])
def test_large_permutation_groups_say_what_the_catalogue_holds(name):
    with pytest.raises(InputError, match="all 42 groups of order up to 16") as caught:
        structure(name)
    assert "--table" in message_of(caught.value)
    assert structure("A4").order == 12


def test_one_structure_once_is_easy_to_say():
    world = World.only("D4")
    assert {row.structures for row in sample("holdout", 50, 10, world=world)} == {("D4",)}
    assert World.only("C3", "C4").mixtures() == {(0, 1): 1.0}
    assert World.only("D4", n_variables=8).n_variables == 8
    assert {row.structures for row in sample("holdout", 50, 10, world=World("D4"))} == {("D4",), ("D4", "D4")}


def test_a_training_config_takes_structures():
    mine = Structure.from_table("mine", np.array([[0, 1], [1, 0]]))
    config = TrainConfig(structures=(mine, "C3"), n_variables=8)
    assert config.structures == ("mine[0 1|1 0]", "C3")
    assert config.world.pool[0] == mine
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert preset("tiny").with_changes(structures=mine).world.pool == (mine,)


# --- results outside the clone, progress and files in pipes ---------------------------------------------------------


def test_committed_results_are_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert committed_results() == ROOT / "results"
    assert len([read_result(path) for path in result_paths(committed_results(), {"heads"})]) > 1


def test_interp_and_bench_say_what_they_do_and_wrote(capsys, tmp_path, monkeypatch):
    committed = read_result(result_paths(ROOT / "results", {"heads"})[0])
    out = tmp_path / "found"
    monkeypatch.setattr("icalgebra.cli.interp.run_experiment", lambda *arguments: committed)
    assert exit_code("interp", "heads", "--out", out) == 0
    captured = capsys.readouterr()
    written = {str(path) for path in out.iterdir()}
    assert {line.removeprefix("wrote ") for line in captured.out.splitlines() if line.startswith("wrote ")} == written
    assert f"{out}/heads.json" in written
    assert "(small, quick tier) …" in captured.err
    assert "done in" in captured.err
    monkeypatch.setattr("icalgebra.cli.bench.BENCHMARKS", {"one": lambda seed: {"rate": 2.0, "unit": "x"}})
    assert exit_code("bench", "--out", tmp_path / "bench.json") == 0
    captured = capsys.readouterr()
    assert "1/1 one …" in captured.err
    assert f"wrote {tmp_path}/bench.json" in captured.out
    assert json.loads((tmp_path / "bench.json").read_text())["one"]["rate"] == 2.0


# --- start-up ---------------------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy():
    """`icalgebra --help` starts in about .2 s because of this; `make check` machines are too busy to time it."""
    code = "import sys; from icalgebra.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "assert not {'torch', 'numba', 'numpy', 'matplotlib', 'jinja2', 'sklearn'} & set(sys.modules), 'heavy'"
    done = subprocess.run(python_arguments(code), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in COMMANDS)
