"""Rewrite tests/data/golden.json: only after an intended change of the random streams, recorded in LOG.md."""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from helpers import golden_now  # noqa: E402

(TESTS / "data" / "golden.json").write_text(json.dumps(golden_now(), indent=1) + "\n")
