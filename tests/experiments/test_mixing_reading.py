"""What the section on mixing says, and what its figures draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from icalgebra.experiments.mixing.figures import SHOWN, skills, through_training
from icalgebra.experiments.mixing.reading import Answer, Reading, read
from icalgebra.experiments.shared.readings import Values
from icalgebra.results import read_result
from icalgebra.statistics import Estimate

RESULT = read_result(Path(__file__).parents[2] / "results/full/mixing/mixing.json")
RUNS = RESULT.details["runs"]


def reading(values: dict[str, Estimate] | None = None, without: tuple[str, ...] = (), **details: Any) -> Reading:
    kept = {key: value for key, value in RESULT.values.items() if key not in without}
    return read(Values(replace(RESULT, values=kept | (values or {}), details=RESULT.details | details)))


def around(value: float, half: float = 0.01) -> Estimate:
    return Estimate(value, value - half, value + half, 18)


def test_what_is_quoted_is_what_was_measured() -> None:
    found, values = reading(), RESULT.values
    assert [row.p_mix for row in found.rows] == ["0", "0.3", "0.5", "0.7", "1"]
    row = found.rows[1]
    assert [row.loss.estimate, row.floor.estimate, row.regret.estimate, row.own_holdout.estimate] == [
        values[f"p0.3.{name}"] for name in ("loss", "floor", "regret", "own.holdout")
    ]
    assert (row.steps_to_50.plain, row.steps_to_90.plain) == ("1500", "1900")
    assert not found.rows[0].steps_to_50
    assert found.losses is not None
    assert found.losses.regret_1.estimate == values["p1.regret"]
    assert (found.n_runs, found.steps, found.batch_size, found.width) == (5, 3600, 64, 256)
    assert not reading(without=("p0.p7.holdout",)).rows[0].common_holdout


@pytest.mark.parametrize(
    "loss_1, regret_1, cause",
    [
        (1.03, 0.17, "nearer to its floor"),
        (1.03, 0.19, "the world"),
        (1.03, 0.21, "the world"),
        (1.03, 0.23, "partly the model"),
        (1.01, 0.17, None),
        (0.97, 0.23, None),
    ],
)
def test_a_higher_loss_is_the_worlds_unless_the_model_is_farther_above_its_floor(loss_1, regret_1, cause) -> None:
    values = {
        "p0.loss": around(1.0),
        "p1.loss": around(loss_1),
        "p0.regret": around(0.2),
        "p1.regret": around(regret_1),
    }
    found = reading(values).losses
    assert found is not None
    assert found.cause == cause


def test_predicates_that_were_not_measured_are_not_compared() -> None:
    found = reading()
    assert found.losses is not None
    assert found.losses.rises == Answer(compared=True, holds=False)
    assert found.zero_slowest == Answer(compared=True, holds=True)
    less = reading(without=("zero_is_slowest", "loss_rises_with_mixing", "one_over_zero"))
    assert less.zero_slowest == Answer(compared=False, holds=False)
    assert less.losses is not None
    assert less.losses.rises == Answer(compared=False, holds=False)
    assert not less.one_over_zero
    assert reading(without=("p0.loss",), measured=["1"]).losses is None


def test_a_model_without_mixing_that_never_learns_is_named() -> None:
    assert (reading().zero_never_learns, reading().one_run_at_zero) == (True, True)
    assert not reading(never_90=["0.3"]).zero_never_learns
    assert not reading(runs=[*RUNS, RUNS[0]]).one_run_at_zero


@pytest.mark.parametrize("n, several", [(1, False), (2, True)])
def test_one_run_is_not_several(n: int, several: bool) -> None:
    assert reading(runs=RUNS[:n]).several_runs == several


def test_losses_are_drawn_with_their_floors() -> None:
    losses, accuracies = through_training(RESULT).axes
    runs, floors = losses.lines[:5], losses.lines[5:]
    for line, floor, p in zip(runs, floors, RESULT.details["measured"], strict=True):
        assert line.get_label() == f"p_mix {p}"
        assert set(floor.get_ydata()) == {RESULT.values[f"p{p}.floor"].value}
        assert floor.get_color() == line.get_color()
    assert list(runs[0].get_ydata()) == [loss for _, loss in RUNS[0]["loss"]]
    assert list(accuracies.lines[1].get_ydata()) == [100 * y for y in RUNS[1]["holdout"]["y"]]


def test_every_skill_is_drawn_in_both_worlds() -> None:
    panels = skills(RESULT).axes
    assert [panel.get_title() for panel in panels] == ["hold-out", *SHOWN[1:]]
    for panel, skill in zip(panels, SHOWN, strict=True):
        for drawn, where in zip(panel.containers, ("own", "p7"), strict=True):
            expected = [100 * RESULT.values[f"p{p}.{where}.{skill}"].value for p in RESULT.details["measured"]]
            assert list(drawn.lines[0].get_ydata()) == pytest.approx(expected)
            assert list(drawn.lines[0].get_xdata()) == [0, 0.3, 0.5, 0.7, 1]
