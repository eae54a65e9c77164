"""What the section on the five distributions decides and quotes, and what its figure draws."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from icalgebra.claims import published
from icalgebra.experiments.distributions.figures import TITLES, by_distribution
from icalgebra.experiments.distributions.reading import Reading, read
from icalgebra.experiments.shared.readings import Values
from icalgebra.results import read_result
from icalgebra.statistics import Estimate

RESULT = read_result(Path(__file__).parents[2] / "results/full/small/distributions.json")
READING = read(Values(RESULT))
TABLE = published()["table_2"]


def with_associate_ceiling(value: float) -> Reading:
    ceiling = Estimate(value, value - 0.01, 1.0, 400)
    return read(Values(replace(RESULT, values={**RESULT.values, "ceiling.associate.k50": ceiling})))


def test_associate_is_certain_only_at_a_perfect_ceiling() -> None:
    assert with_associate_ceiling(1.0).associate_certain
    assert not with_associate_ceiling(0.9975).associate_certain


def test_shorter_sequences_lack_large_k() -> None:
    short = {key: value for key, value in RESULT.values.items() if key.endswith((".k5", ".k10", ".k25"))}
    reading = read(Values(replace(RESULT, values=short)))
    assert not reading.at_fifty["copy"].ours
    assert not reading.cancel.pure
    assert not reading.associate_certain
    assert reading.associate_at_five.ours


def test_quotes_at_fifty_facts_with_the_published_table() -> None:
    place = TABLE["facts"].index(50)
    assert list(READING.at_fifty) == ["copy", "commute", "identity", "cancel", "associate"]
    for name, accuracy in READING.at_fifty.items():
        assert accuracy.ours.estimate == RESULT.values[f"{name}.k50"]
        assert accuracy.published.value == TABLE[name][place]


@pytest.mark.parametrize("name", ["cancel", "associate"])
def test_quotes_pure_and_embedded(name: str) -> None:
    repeated = getattr(READING, name)
    assert repeated.pure.estimate == RESULT.values[f"{name}.k200"]
    assert repeated.embedded.estimate == RESULT.values[f"{name}_embedded.k200"]
    assert repeated.published.value == TABLE[name][TABLE["facts"].index(200)]


def test_quotes_both_published_maxima_of_associate() -> None:
    assert READING.associate_at_five.published.value == 65
    assert READING.associate_at_twenty_five.published.value == 66
    assert READING.associate_at_five.ours.estimate == RESULT.values["associate.k5"]
    assert READING.associate_at_twenty_five.ours.estimate == RESULT.values["associate.k25"]


def test_the_figure_draws_ceiling_model_and_published_table() -> None:
    *panels, empty = by_distribution(RESULT).axes
    for panel, (name, title) in zip(panels, TITLES.items(), strict=True):
        assert panel.get_title() == title
        for line, what in zip(panel.lines, ("ceiling", "model")):
            assert list(line.get_xdata()) == RESULT.curves[f"{what}.{name}"].x
            assert line.get_ydata() == pytest.approx([100 * y for y in RESULT.curves[f"{what}.{name}"].y])
        assert [list(line.get_ydata()) for line in panel.lines[2:]] == ([TABLE[name]] if name in TABLE else [])
    assert not empty.lines
