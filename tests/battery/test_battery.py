"""The battery's short form. Left out here, because each takes longer than a test may: signals and two sweeps at once
(the tests of sweeps have one of each), mounted disks, memory, the wheel in bare environments, ranks, Ray."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from battery import damage, kills, real_parts
from battery.tally import Tally
from helpers import ROOT

FUZZ = """
import sys
from pathlib import Path
from random import Random
from battery import fuzz
from battery.tally import Tally
tally = Tally()
fuzz.run(tally, 3000, Random(0), Path(sys.argv[1]))
print(tally.tried)
if tally.lost:
    sys.exit("; ".join(tally.lost[:5]))
"""
SHORT = {
    "damaged run folders": (damage.run_folders, 120),
    "damaged files of sweeps": (damage.sweep_files, 120),
    "damaged results": (damage.results, 60),
    "kills of a run": (lambda tally, count, rng, folder: kills.training(tally, count, 1, rng, folder), 2),
}


@pytest.mark.parametrize("name", SHORT)
def test_nothing_is_lost(name: str, tmp_path: Path) -> None:
    part, count = SHORT[name]
    tally = Tally()
    part(tally, count, Random(0), tmp_path)
    assert tally.tried >= count
    assert tally.lost == []


def test_malformed_input_is_refused_in_one_line(tmp_path: Path) -> None:
    """In a process of its own: here annotations are checked at run time, and would refuse wrong types before we do."""
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 3000


def test_a_loss_is_counted() -> None:
    tally = Tally()
    with tally.trial("sound"):
        pass
    with tally.trial("broken"):
        raise KeyError("x")
    assert (tally.tried, tally.survived, len(tally.lost)) == (2, 1, 1)
    assert "KeyError" in tally.lost[0]


def test_tensorboard_holds_every_number(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed; pip install 'icalgebra[trackers]'")
    real_parts.tensorboard_holds_metrics(tmp_path / "run")
