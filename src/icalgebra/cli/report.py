"""`icalgebra report`: the page from existing results; nothing is measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from icalgebra.errors import InputError
from icalgebra.results import TIERS


@dataclass(frozen=True)
class Report:
    """Write the page from the results in a folder, by default the committed ones."""

    results: Path = Path("results")
    """A folder of results: <tier>/<model>/<experiment>.json."""
    out: Path = Path("build/page")
    """Where report.html goes."""
    json: bool = False
    """Print the path of the page as JSON."""

    def run(self) -> None:
        from icalgebra.report.page import build_report

        if not self.results.is_dir():
            raise InputError(f"no folder {self.results}; give --results FOLDER, or measure with icalgebra reproduce")
        if not any(path for tier in TIERS for path in self.results.glob(f"{tier}/*/*.json")):
            raise InputError(f"{self.results} holds no results ({'|'.join(TIERS)}/<model>/<experiment>.json)")
        page = build_report(self.out, None, self.results)
        print(json.dumps({"report": str(page)}) if self.json else f"report: {page}")
