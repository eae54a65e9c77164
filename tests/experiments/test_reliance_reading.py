"""Which proofs an answer clearly rests on, by the section on reliance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers import ROOT
from icalgebra.experiments.reliance.figures import by_size
from icalgebra.experiments.reliance.reading import Reading, read
from icalgebra.experiments.shared.readings import Values
from icalgebra.results import read_result
from icalgebra.statistics import Estimate

SMALL = read_result(ROOT / "results/full/small/reliance.json")


def read_with(**changes: Estimate) -> Reading:
    changed = {key.replace("__", "."): value for key, value in changes.items()}
    return read(Values(replace(SMALL, values=SMALL.values | changed)))


@pytest.mark.parametrize(("low", "needed"), [(0.36, ["a longer proof"]), (0.34, [])])
def test_a_proof_is_needed_where_the_intervals_are_apart(low: float, needed: list[str]) -> None:
    """Where a mechanism has the answer they are not."""
    apart = {
        "proof__beyond__breaks": Estimate(0.5, low, 0.7, 36),
        "proof__beyond__control": Estimate(0.2, 0.1, 0.35, 36),
    }
    assert read_with(**apart).needed == needed
    assert read_with(**apart).some_not_needed
    both = {key.replace("beyond", "known"): value for key, value in apart.items()} | apart
    assert read_with(**both).some_not_needed == (not needed)


def test_the_widest_interval_is_that_of_a_bar() -> None:
    assert read_with(holdout__20__used__copy=Estimate(0.0, 0.0, 0.6, 3)).widest.value == 0.6


def test_bars_name_their_number_of_answers() -> None:
    labels = [label.get_text() for label in by_size(SMALL).axes[1].get_xticklabels()]
    assert labels == [f"{k} (n = {SMALL.values[f'holdout.{k}.used.none'].n})" for k in (20, 40)]
