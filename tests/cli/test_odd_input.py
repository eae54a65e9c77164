"""Whatever is typed: one line of at most 300 characters, and paths of any bytes and signs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import exit_code, python_arguments

LONG = "x" * 5000


@pytest.mark.parametrize(
    "arguments",
    [
        [LONG],
        ["sample", "--distribution", LONG],
        ["sample", "--structures", LONG],
        ["sample", "--structures", "C" + "9" * 5000],
        ["sample", "--structures", f"Quasigroup(8,{'1' * 5000})"],
        ["sample", "--structures", f"SmallGroup({'1' * 5000},1)"],
        ["sample", "--structures", "x".join(["C999"] * 400)],
        ["sample", "--structures", "x".join(["C1"] * 400)],
        ["sample", "--n", LONG],
        ["sample", "--table", "no\nsuch\nfile"],
        ["sample", f"--{LONG}"],
        ["oracle", LONG],
        ["oracle", ",ab=c\n,d"],
        ["ask", LONG, ",ab="],
        ["eval", "\udcff"],
        ["train", "--config", "/" + LONG],
        ["report", "--results", LONG],
    ],
    ids=lambda arguments: " ".join(arguments)[:40].encode("ascii", "replace").decode(),
)
def test_an_error_is_one_line_of_at_most_300_characters(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(*arguments) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.endswith("\n")
    assert len(told) <= 300


WORLD_ARGUMENTS = """
import icalgebra
from icalgebra import InputError, World, sample, batches, SequenceDataset, structure
wrong = [
    (World, dict(structures=5)), (World, dict(structures=[5])), (World, dict(n_variables="16")),
    (World, dict(p_mix="x")), (World, dict(p_mix=None)), (World, dict(d2=1)), (World, dict(reserved=5)),
    (World, dict(mixture_rule=3)), (sample, dict(name=5)), (sample, dict(n="3")), (sample, dict(n=2.5)),
    (sample, dict(n_facts="x")), (sample, dict(seed="x")), (sample, dict(world="C3")), (sample, dict(stream=5)),
    (sample, dict(start="x")), (SequenceDataset, dict(batch_size="x")), (structure, dict(name=["C3"])),
]
for call, arguments in wrong:
    (name,) = arguments
    try:
        call(**arguments)
    except InputError as error:
        assert name.rstrip("s") in str(error) or "distribution" in str(error), error
    else:
        raise AssertionError((call, arguments))
"""


def test_a_wrong_type_in_python_names_the_argument() -> None:
    # In a process of its own: here annotations are checked by beartype, which would come first.
    done = subprocess.run(python_arguments(WORLD_ARGUMENTS), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


ODD_NAMES = [b"bad\xff", b"[bold]x[/]", b"[/nothing]", b"new\nline", b"'; touch owned; '", b"<script>", "é²".encode()]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_path_of_any_bytes_is_written_and_printed(tmp_path: Path, name: bytes) -> None:
    """In a process of its own, whose output is strict UTF-8."""
    out = os.path.join(os.fsencode(tmp_path), name)
    arguments = [sys.executable, "-m", "icalgebra", "sample", "--n", "2", "--facts", "3", "--format", "npz", "--out"]
    done = subprocess.run(
        [*map(os.fsencode, arguments), out], capture_output=True, env={**os.environ, "LANG": "C.UTF-8"}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    with open(out, "rb") as stream:
        assert np.load(stream)["tokens"].shape == (2, 15)


def test_arrays_to_a_device_are_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("sample", "--format", "npz", "--out", os.devnull) == 2
    assert "writes to a file" in capsys.readouterr().err
