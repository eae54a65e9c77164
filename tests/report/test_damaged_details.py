"""Details that are damaged deep inside are told by file and field when the result is read, not by a traceback later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers import ROOT
from icalgebra.errors import InputError
from icalgebra.experiments import read_checked

FULL = ROOT / "results" / "full"


def written(folder: Path, committed: str, details: dict[str, Any]) -> Path:
    """A committed result with other details, where results of its kind lie."""
    plain = json.loads((FULL / committed).read_text())
    path = folder / "results" / "full" / committed
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**plain, "details": {**plain["details"], **details}}))
    return path


def test_an_example_without_its_sequence(tmp_path: Path) -> None:
    (first, *others) = json.loads((FULL / "small/reasoning.json").read_text())["details"]["examples"]
    del first["text"]
    path = written(tmp_path, "small/reasoning.json", {"examples": [first, *others]})
    with pytest.raises(InputError, match="text"):
        read_checked(path)


@pytest.mark.parametrize("wrong", ["", "half"])
def test_a_p_mix_that_is_no_number(tmp_path: Path, wrong: str) -> None:
    path = written(tmp_path, "mixing/mixing.json", {"measured": ["0", wrong]})
    with pytest.raises(InputError, match="must be a number as text"):
        read_checked(path)
