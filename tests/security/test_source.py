"""The source: nothing that runs what it reads. Names cannot lead out of their folders, and scripts are quoted."""

from __future__ import annotations

import ast
import shlex
import subprocess
from pathlib import Path

import pytest

from helpers import ROOT, exit_code, message_of
from icalgebra.errors import InputError
from icalgebra.experiments.shared.loaded_model import name_of
from icalgebra.model.checkpoints import is_shipped
from icalgebra.results import result_path
from icalgebra.sweep.slurm import slurm_script

SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").glob("*.py")])
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "yaml", "joblib"}
CALLS = {"eval", "exec", "os.system", "os.popen", "torch.load", "torch.hub.load", "pickle.loads", "marshal.loads",
         "subprocess.getoutput", "joblib.load", "yaml.load", "compile"}  # fmt: skip


def unsafe(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found += [f"import {name}" for name in names if name.split(".")[0] in MODULES]
        if isinstance(node, ast.Call):
            only_tensors = any(
                (word.arg, ast.unparse(word.value)) == ("weights_only", "True") for word in node.keywords
            )
            found += [ast.unparse(node.func)] if ast.unparse(node.func) in CALLS and not only_tensors else []
            for keyword in node.keywords:
                if (keyword.arg, ast.unparse(keyword.value)) in [("shell", "True"), ("allow_pickle", "True")]:
                    found.append(f"{keyword.arg}=True")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_runs_what_it_reads(path: Path) -> None:
    assert unsafe(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from pickle import loads", "eval('1')", "f(shell=True)", "np.load(p, allow_pickle=True)",
     "torch.load(p)", "import os\nos.system('x')", "exec(code)"],
)  # fmt: skip
def test_the_walk_sees_what_is_unsafe(source: str) -> None:
    assert unsafe(source)


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "/etc/passwd", "", ".", "a\\b", "a\0b"])
def test_a_name_cannot_leave_its_folder(name: str, tmp_path: Path) -> None:
    for place in (("full", name, "copying"), ("full", "small", name), (name, "small", "copying")):
        with pytest.raises(InputError, match="must be the name of a file or folder") as caught:
            result_path(tmp_path, *place)
        message_of(caught.value)
    assert not is_shipped(name)


def test_a_models_name_is_a_name_whatever_its_path() -> None:
    for source in ("/a/b/run", "../../run", "./run/", "run/../run"):
        assert name_of(source) == "run"


@pytest.mark.parametrize("odd", ["$(touch owned)", "`touch owned`", "'; touch owned; '", '"x', "a b", "%a", "-rf", "é"])
def test_paths_and_devices_in_a_slurm_script_are_words_of_their_own(tmp_path: Path, odd: str) -> None:
    """bash reads the script's last line as the words it was made of, and runs nothing else."""
    folder = tmp_path / odd
    folder.mkdir()
    try:
        script = slurm_script(folder / "manifest.jsonl", 3, f"cuda{odd}", 2, None)
    except InputError as error:
        assert "choose a folder" in str(error)  # noqa: PT017 (some paths are refused)
        script = slurm_script(tmp_path / "manifest.jsonl", 3, f"cuda{odd}", 2, None)
    words = shlex.split(script.splitlines()[-1])
    assert f"cuda{odd}" in words
    shown = script.splitlines()[-1].replace("exec ", "printf '%s\\n' ")
    done = subprocess.run(["bash", "-c", shown], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"cuda{odd}" in done.stdout.splitlines()
    assert not (tmp_path / "owned").exists()
    for line in script.splitlines():
        assert not line.startswith("#SBATCH") or odd not in line or odd in ("-rf", "é", "%a")


def test_only_loopback_is_listened_on() -> None:
    """An address that other machines reach would have to stand somewhere in the source."""
    for path in SOURCES:
        assert "0.0.0.0" not in path.read_text(encoding="utf-8"), path


def test_an_unknown_model_is_refused_without_a_look_outside(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("eval", "../../../etc/passwd") == 2
    assert capsys.readouterr().err.count("\n") == 1
