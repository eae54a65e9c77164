"""Identity: what the section decides at each threshold, and what its figures draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import ROOT
from icalgebra.experiments.identity.figures import BAR_NAMES, DOSES, dose_response, heads, scatter, steered
from icalgebra.experiments.identity.reading import ATTENDS, DEMOTES, LITTLE_CONFUSION, Reading, read
from icalgebra.experiments.shared.readings import NotMeasuredError, Values
from icalgebra.results import Curve, Result, read_result
from icalgebra.statistics import Estimate

SMALL = read_result(ROOT / "results/full/small/identity.json")
STEP = 0.001  # from just below a threshold to just above it


@pytest.fixture(scope="module")
def result() -> Result:
    return read_result(ROOT / "results/full/small/identity.json")


def read_with(result: Result, changes: dict[str, float]) -> Reading:
    """The reading with some values changed; their intervals are ± .01."""
    changed = {key: Estimate(value, value - 0.01, value + 0.01, 100) for key, value in changes.items()}
    return read(Values(replace(result, values={**result.values, **changed})))


def test_the_section_quotes_the_values(result: Result) -> None:
    reading, values = read(Values(result)), result.values
    assert reading.direction.separates.estimate == values["pc1.balanced_accuracy"]
    assert reading.direction.distance.plain == f"{values['pc1.distance'].value:.2f}"
    assert reading.heads.demotes.estimate == values["identity_demotion.best"]
    assert (reading.heads.promoter, reading.heads.demoter) == ("2.2", "3.7")
    assert reading.steering.raw_dose.__html__() == "5"
    assert reading.steering.at_raw_dose.estimate == values["steer.plus.query_variable"]
    assert reading.steering.at_distance.estimate == values["steer_distance.plus.query_variable"]
    assert reading.steering.right_variable.estimate == values["steer_distance.false_left.right_variable"]
    assert reading.steering.left_variable.estimate == values["steer_distance.false_right.left_variable"]
    assert reading.steering.minus_raw_dose.estimate == values["steer.minus.correct"]
    assert reading.false_fact.left.estimate == values["false_left.correct"]


@pytest.mark.parametrize("holds", [0.0, 1.0])
def test_the_section_agrees_with_the_claim_about_query_promotion(result: Result, holds: float) -> None:
    assert read_with(result, {"query_promotion_head": holds}).heads.no_promoter == (not holds)


@pytest.mark.parametrize(
    ("demotes", "attention", "unattended"),
    [
        (DEMOTES + STEP, ATTENDS - STEP, True),
        (DEMOTES - STEP, ATTENDS - STEP, False),  # no head demotes the identity
        (DEMOTES + STEP, ATTENDS + STEP, False),  # it attends to identity facts
    ],
)
def test_a_head_may_demote_the_identity_unattended(
    result: Result, demotes: float, attention: float, unattended: bool
) -> None:
    changes = {"identity_demotion.best": demotes, "identity_demotion.attention": attention}
    assert read_with(result, changes).heads.demotes_unattended == unattended


@pytest.mark.parametrize(("at_distance", "worse"), [(0.2, False), (0.181, False), (0.179, True)])
def test_v1_is_worse_than_random_only_where_the_intervals_are_apart(
    result: Result, at_distance: float, worse: bool
) -> None:
    changes = {"steer_distance.plus.query_variable": at_distance, "steer_distance.random.query_variable": 0.2}
    assert read_with(result, changes).steering.worse_than_random == worse


@pytest.mark.parametrize("side", ["false_left", "false_right"])
def test_a_false_fact_is_harmless_if_neither_side_costs_much(result: Result, side: str) -> None:
    unharmed = {"plain.correct": 0.9, "false_left.correct": 0.9, "false_right.correct": 0.9}
    just_harmless = {**unharmed, f"{side}.correct": 0.9 - LITTLE_CONFUSION + STEP}
    just_harmful = {**unharmed, f"{side}.correct": 0.9 - LITTLE_CONFUSION - STEP}
    assert read_with(result, just_harmless).false_fact.harmless
    assert not read_with(result, just_harmful).false_fact.harmless


def test_a_model_with_one_head_has_no_demoting_head(result: Result) -> None:
    """Its values are then listed instead."""
    without = {key: value for key, value in result.values.items() if not key.startswith("identity_demotion.")}
    with pytest.raises(NotMeasuredError):
        read(Values(replace(result, values=without)))


def test_the_scatter_shows_both_clusters_and_every_layer_and_group(result: Result) -> None:
    left, right = scatter(result).axes
    points, labels = (np.array(result.details["scatter"][name]) for name in ("points", "identity"))
    others, identity = left.collections
    assert np.allclose(identity.get_offsets(), points[labels])
    assert np.allclose(others.get_offsets(), points[~labels])
    assert identity.get_label() == "identity in the query"
    dots = {line.get_ydata()[0]: line.get_xdata()[0] for line in right.lines if line.get_marker() == "o"}
    for place, text in zip(right.get_yticks(), right.get_yticklabels(), strict=True):
        assert dots[place] == pytest.approx(100 * result.values[f"pc1.{text.get_text().replace(' ', '.')}"].value)


def test_heads_show_both_tables_and_the_logits_of_the_two_heads(result: Result) -> None:
    promotion, demotion, *bars = heads(result).axes
    found = result.details["heads"]
    assert np.allclose(promotion.images[0].get_array(), found["promotion"])
    assert np.allclose(demotion.images[0].get_array(), found["demotion"])
    for panel, role in zip(bars, ("promoter", "demoter"), strict=True):
        name = found[role]
        assert panel.get_title() == f"{role} {name}"
        assert [bar.get_height() for bar in panel.patches] == pytest.approx(list(found["bars"][name].values()))
        assert [text.get_text() for text in panel.get_xticklabels()] == list(BAR_NAMES.values())


def test_random_directions_at_two_doses_are_points() -> None:
    fast = read_result(ROOT / "results/full/fast/identity.json")
    crosses = [line for line in dose_response(fast).axes[0].lines if line.get_marker() == "x"]
    keys = ("steer", "steer_distance")
    assert [line.get_ydata()[0] for line in crosses] == pytest.approx(
        [100 * fast.values[f"{key}.random.query_variable"].value for key in keys]
    )
    assert crosses[1].get_xdata()[0] == 1.0


def test_steering_figures_show_the_logits_and_the_doses_in_cluster_distances(result: Result) -> None:
    for panel, (name, logits) in zip(steered(result).axes, result.details["steered"].items(), strict=True):
        assert panel.get_title() == name
        assert [bar.get_height() for bar in panel.patches] == pytest.approx(list(logits.values()))
    for panel, group in zip(dose_response(result).axes, DOSES.values(), strict=True):
        distance, (*curves, minus, plus) = result.details["distance"], panel.lines
        drawn = {key: style for key, style in group.items() if key in result.curves}
        for line, (key, (label, _, _)) in zip(curves, drawn.items(), strict=True):
            assert line.get_label() == label
            assert np.allclose(line.get_xdata(), np.array(result.curves[key].x) / distance)
            assert np.allclose(line.get_ydata(), 100 * np.array(result.curves[key].y))
        assert [line.get_xdata()[0] for line in (minus, plus)] == pytest.approx([-5 / distance, 5 / distance])


@pytest.mark.parametrize(("low", "clear"), [(0.21, True), (0.19, False)])
def test_steering_at_two_distances_is_compared_with_random_directions(low: float, clear: bool) -> None:
    along = SMALL.curves["dose.plain.query_variable"]
    at = min(range(len(along.x)), key=lambda i: abs(along.x[i] - 2 * SMALL.details["distance"]))

    def changed(curve: Curve, bound: str, value: float) -> Curve:
        bounds = list(getattr(curve, bound))
        bounds[at] = value
        return replace(curve, **{bound: bounds})

    curves = SMALL.curves | {
        "dose.plain.query_variable": changed(along, "low", low),
        "dose.random.query_variable": changed(SMALL.curves["dose.random.query_variable"], "high", 0.2),
    }
    assert read(Values(replace(SMALL, curves=curves))).steering.steers_at_two == clear
    del curves["dose.random.query_variable"]  # not measured is not more
    assert not read(Values(replace(SMALL, curves=curves))).steering.steers_at_two


@pytest.mark.parametrize(
    ("distance", "small", "beyond"), [(21.0, True, False), (19.0, False, False), (4.9, False, True)]
)
def test_the_papers_coefficient_in_cluster_distances(distance: float, small: bool, beyond: bool) -> None:
    found = read(Values(replace(SMALL, details=SMALL.details | {"distance": distance}))).steering
    assert (found.small_raw_dose, found.raw_dose_beyond) == (small, beyond)


@pytest.mark.parametrize(("low", "guesses"), [(0.12, True), (0.126, False)])
def test_random_directions_guess_where_their_interval_holds_two_of_all_variables(low: float, guesses: bool) -> None:
    along = SMALL.curves["dose.random.query_variable"]
    curve = replace(along, low=[low] * len(along.x), high=[0.13] * len(along.x))
    found = read(Values(replace(SMALL, curves={**SMALL.curves, "dose.random.query_variable": curve}))).steering
    assert (found.guessing.value, found.random_guesses) == (12.5, guesses)
