"""`icalgebra bench`: how fast the parts are on this machine."""

from __future__ import annotations

import json
import resource
from dataclasses import dataclass
from typing import Any

from icalgebra.atomic_files import write_json
from icalgebra.cli.benchmarks import BENCHMARKS
from icalgebra.cli.common import MaybePath, MaybeText, announced
from icalgebra.errors import unknown


@dataclass(frozen=True)
class Bench:
    """Time the parts of the package in one process: rates are the best of several repeats, ratios come from one run."""

    only: MaybeText = None
    """One benchmark by name."""
    seed: int = 0
    out: MaybePath = None
    """Also write the JSON to this file."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        if self.only is not None and self.only not in BENCHMARKS:
            raise unknown("benchmark", self.only, BENCHMARKS)
        names = [self.only] if self.only else list(BENCHMARKS)
        results: dict[str, Any] = {name: BENCHMARKS[name](self.seed) for name in announced(names)}
        results["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if self.out is not None:
            write_json(self.out, results)
        if self.json:
            print(json.dumps(results))
            return
        for name, value in results.items():
            if isinstance(value, dict):
                detail = ", ".join(f"{key} {amount:,.4g}" for key, amount in value.items() if key != "unit")
                print(f"{name:24} {detail}  {value.get('unit', '')}")
            else:
                print(f"{name:24} {value:,.0f}")
        if self.out is not None:
            print(f"wrote {self.out}")
