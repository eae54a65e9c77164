"""What the section on training says, and what its figures draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from icalgebra.experiments.shared.readings import Values
from icalgebra.experiments.training.figures import RELEASED_STEP_FLOPS, holdout, skills
from icalgebra.experiments.training.reading import LOW, PLATEAU, Reading, published_rise, read
from icalgebra.plotting.skills import SKILLS
from icalgebra.results import Curve, Result, read_result
from icalgebra.statistics import Estimate
from icalgebra.train.presets import preset
from icalgebra.train.speedrun import flops_before

RESULTS = Path(__file__).parents[2] / "results/full"
SMALL = read_result(RESULTS / "small/training.json")
TINY = read_result(RESULTS / "tiny/training.json")


def reading(result: Result = SMALL, **changes: float) -> Reading:
    """Of a result with other values."""
    values = result.values | {key: Estimate(value, value, value, 1) for key, value in changes.items()}
    return read(Values(replace(result, values=values)))


def test_what_is_quoted_is_what_was_measured() -> None:
    found = reading()
    assert found.final.estimate == SMALL.values["final_holdout"]
    assert (found.steps, found.seconds, found.n_final) == (8000, "177", 3000)
    assert found.rise is not None
    assert found.rise.share.estimate == SMALL.values["rise_share_from_plateau"]
    assert found.published_final == "at least 99\N{NO-BREAK SPACE}%"
    assert found.reserved is not None
    assert found.reserved.as_identity.value == SMALL.curves["holdout_reserved_identity"].y[-1]
    assert found.reserved.unshuffled.value == SMALL.curves["holdout_unshuffled"].y[-1]
    assert reading(TINY).minutes_in_all == "8.0"


@pytest.mark.parametrize("low", [LOW, PLATEAU])
def test_the_published_rise_is_a_sixth(low: float) -> None:
    found = published_rise(low)
    assert (found.start, found.end) == (10_000, 12_000)
    assert found.share == pytest.approx(1 / 6)


@pytest.mark.parametrize("share, less_abrupt", [(0.166, False), (0.167, True)])
def test_a_rise_is_less_abrupt_when_it_takes_a_larger_share_than_the_published_one(share, less_abrupt) -> None:
    rise = reading(rise_share_from_plateau=share).rise
    assert rise is not None
    assert rise.less_abrupt == less_abrupt


def test_a_run_that_never_gets_there_has_no_rise() -> None:
    assert "rise_share_from_plateau" not in TINY.values
    assert reading(TINY).rise is None


@pytest.mark.parametrize("high, learned", [(0.89, True), (0.91, False)])
def test_the_rule_is_learned_if_breaking_it_costs_more_than_chance(high: float, learned: bool) -> None:
    """Against the final accuracy that the section quotes."""
    curves = SMALL.curves | {"holdout_reserved_identity": Curve([1.0], [0.8], [0.7], [high], [512])}
    values = SMALL.values | {"final_holdout": Estimate(0.95, 0.9, 0.97, 512)}
    found = read(Values(replace(SMALL, curves=curves, values=values))).reserved
    assert found is not None
    assert found.learned == learned


def test_tiny_has_its_own_words_and_no_published_curve() -> None:
    found = reading(TINY)
    assert (found.on_two_cores, found.published_curve, found.reserved) == (True, False, None)
    assert (reading().on_two_cores, reading().published_curve) == (False, True)


def test_the_released_step_costs_what_the_preset_paper_costs() -> None:
    assert flops_before(preset("paper"), 1) == RELEASED_STEP_FLOPS


def test_hold_out_is_drawn_by_steps_compute_and_seconds() -> None:
    by_steps, by_compute, by_seconds = holdout(SMALL).axes
    axes = (SMALL.curves["holdout"].x, SMALL.details["flops"], SMALL.details["seconds"])
    for panel, x, per_step in zip((by_steps, by_compute, by_seconds), axes, (1, RELEASED_STEP_FLOPS, 1.157)):
        theirs, ours = panel.lines
        assert list(ours.get_xdata()) == x
        assert list(ours.get_ydata()) == [100 * y for y in SMALL.curves["holdout"].y]
        assert theirs.get_xdata()[-1] == pytest.approx(100_000 * per_step)
        assert theirs.get_ydata()[-1] == 98
    assert [len(panel.lines) for panel in holdout(TINY).axes] == [1, 1, 1]


def test_losses_and_skills_are_drawn_by_step() -> None:
    losses, accuracies = skills(SMALL).axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in (*losses.lines, *accuracies.lines)}
    assert drawn["loss, answer slot"] == SMALL.curves["loss/answer"].y
    assert drawn["loss, right slot"] == SMALL.curves["loss/right"].y
    for name, (label, _) in SKILLS.items():
        assert drawn[label] == [100 * y for y in SMALL.curves[name].y]
