"""Write tests/data/golden.json anew: only after a change of the streams that is meant, and said in LOG.md."""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from helpers import golden_now  # noqa: E402

(TESTS / "data" / "golden.json").write_text(json.dumps(golden_now(), indent=1) + "\n")
