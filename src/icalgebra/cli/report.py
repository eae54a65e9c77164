"""`icalgebra report`: the page from existing results; nothing is measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from icalgebra.cli.common import MaybePath
from icalgebra.errors import InputError
from icalgebra.results import TIERS, committed_results


@dataclass(frozen=True)
class Report:
    """Write the page from the results in a folder, by default the committed ones."""

    results: MaybePath = None
    """A folder of results, <tier>/<model>/<experiment>.json; by default the committed ones of the package."""
    out: Path = Path("build/page")
    """Where report.html goes."""
    json: bool = False
    """Print the path of the page as JSON."""

    def run(self) -> None:
        from icalgebra.report.page import build_report

        results = committed_results() if self.results is None else self.results
        if results is None or not results.is_dir():
            missing = f"no folder {results}" if results else "this installation has no committed results"
            raise InputError(f"{missing}; give --results FOLDER, or measure with icalgebra reproduce")
        if not any(path for tier in TIERS for path in results.glob(f"{tier}/*/*.json")):
            raise InputError(f"{results} holds no results ({'|'.join(TIERS)}/<model>/<experiment>.json)")
        page = build_report(self.out, None, results)
        print(json.dumps({"report": str(page)}) if self.json else f"report: {page}")
