"""Draw the README's picture from the committed results: python scripts/picture.py."""

from __future__ import annotations

from pathlib import Path

from icalgebra.atomic_files import write_text
from icalgebra.experiments.reasoning.figures import by_facts
from icalgebra.plotting import svg
from icalgebra.results import read_result

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    result = read_result(ROOT / "results/full/small/reasoning.json")
    write_text(ROOT / "docs/coverage.svg", f'<?xml version="1.0" encoding="utf-8"?>\n{svg(by_facts(result))}')
