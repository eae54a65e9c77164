"""scripts/full_tier.py refuses a mistyped name before the first stage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers import ROOT


@pytest.mark.parametrize(
    "given, words",
    [
        (["--only", "circiuts"], "did you mean 'circuits'?"),
        (["--set", "identity.n=3"], "unknown setting of identity 'n'"),
        (["--train", "adamw256.stps=3"], "did you mean 'steps'?"),
    ],
)
def test_a_mistyped_name_is_refused_at_once(given: list[str], words: str, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "full_tier.py"), str(tmp_path / "out"), "small", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
