"""What the section on unseen structures says, and what its figures draw."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from pathlib import Path

import pytest

from icalgebra.experiments import experiment
from icalgebra.experiments.shared.readings import Values
from icalgebra.experiments.unseen_structures.figures import FIVE, ORDER_8, all_structures, cancellation, order_8
from icalgebra.experiments.unseen_structures.reading import Harder, Reading, published_difference, read
from icalgebra.results import read_result
from icalgebra.statistics import Estimate

SMALL = read_result(Path(__file__).parents[2] / "results/full/small/unseen_structures.json")


def reading(values: dict[str, Estimate] | None = None, without: tuple[str, ...] = ()) -> Reading:
    kept = {key: value for key, value in SMALL.values.items() if key not in without}
    return read(Values(replace(SMALL, values=kept | (values or {}))))


def test_what_is_quoted_is_what_was_measured() -> None:
    found = reading()
    quoted = {
        "holdout.semigroup.k200": found.semigroup.model,
        "solvers.holdout.semigroup.k200": found.semigroup.mechanisms,
        "holdout.quasigroup.k200": found.quasigroup.model,
        "solvers.holdout.magma.k200": found.magma.mechanisms,
        "solvers.holdout.Q8.k200": found.q8.mechanisms,
        "holdout.C4xC2.k200": found.order_8["C4×C2"],
        "holdout.C2xC2xC2.k200": found.order_8["C2×C2×C2"],
        "train.groups.k200": found.groups_with_copying,
        "impossible.holdout.Q8.k200": found.q8_impossible,
        "ceiling.holdout.Q8.k200": found.q8_ceiling,
        "train.magma.k200": found.classes_with_copying["magma"],
        "cancel.quasigroup.k50": found.natural.quasigroups,
        "cancel_pure.groups.k50": found.pure.groups,
        "cancel_pure.quasigroup_minus_groups.k50": found.pure.difference,
    }
    assert {key: number.estimate for key, number in quoted.items()} == {key: SMALL.values[key] for key in quoted}
    assert (found.n_tables, found.largest_order) == (20, 16)


def test_the_largest_group_is_the_largest_that_was_asked() -> None:
    few = {"C8": ["C8"], "A4": ["A4"], "magma": ["Magma(8,0)"]}
    assert read(Values(replace(SMALL, details=SMALL.details | {"structures": few}))).largest_order == 12


def test_the_published_semigroup_curve_is_that_of_q8() -> None:
    assert published_difference() == pytest.approx(0.0172, abs=5e-5)
    assert reading().published_difference == ".017"


def quasigroups(natural: dict[int, float], pure: float = 0.8) -> Harder:
    """Accuracies by number of facts, with intervals of ± .05."""
    keys = [key for key in SMALL.values if key.startswith(("cancel.quasigroup.", "cancel_pure.quasigroup."))]
    values = {f"cancel.quasigroup.k{k}": Estimate(y, y - 0.05, y + 0.05, 200) for k, y in natural.items()}
    values |= {f"cancel_pure.quasigroup.k{k}": Estimate(pure, pure - 0.05, pure + 0.05, 200) for k in natural}
    return reading(values, without=tuple(set(keys) - set(values))).harder


def test_natural_contexts_are_harder_only_where_the_intervals_say_so() -> None:
    assert quasigroups({10: 0.69, 50: 0.6, 200: 0.69}) == Harder(True, None, [])
    assert quasigroups({10: 0.69, 50: 0.6, 200: 0.71}) == Harder(False, 50, [])
    assert quasigroups({10: 0.6, 50: 0.8, 200: 0.91}) == Harder(False, 10, [200])
    assert quasigroups({10: 0.8, 200: 0.6}) == Harder(False, None, [])
    assert quasigroups({}) == Harder(False, None, [])


def test_a_model_of_shorter_sequences_lacks_what_it_was_not_asked() -> None:
    found = reading(without=("holdout.semigroup.k200", "cancel.groups.k50"))
    assert (bool(found.semigroup.model), bool(found.semigroup.mechanisms)) == (False, True)
    assert not found.natural.groups


def test_the_full_tier_evaluates_all_groups() -> None:
    found = experiment("unseen_structures")
    parameters = signature(found.part("measure").run).parameters
    assert parameters["groups"].default is None
    assert set(parameters) - {"tier", "seed", "loaded"} == {*found.full, "groups"} == set(found.quick)


def test_order_8_is_drawn_at_every_k() -> None:
    panels = order_8(SMALL).axes
    titles = ["C8 (trained)", "D4 (trained)", "C4×C2", "Q8", "C2×C2×C2", "semigroups", "quasigroups", "magmas"]
    assert [panel.get_title() for panel in panels] == titles
    for panel, name in zip(panels, ORDER_8, strict=True):
        drawn = {line.get_label(): list(line.get_ydata()) for line in panel.lines}
        assert drawn["small"] == [100 * y for y in SMALL.curves[f"model.holdout.{name}"].y]
        assert drawn["the five mechanisms"] == [100 * y for y in SMALL.curves[f"solvers.holdout.{name}"].y]
        assert ("the paper's model" in drawn) == (name in ("C4xC2", "Q8", "C2xC2xC2"))  # "semigroup" is Q8


def test_all_structures_are_drawn_at_the_largest_number_of_facts() -> None:
    """Every structure once, in two panels, below the one before it."""
    panels = all_structures(SMALL).axes
    names = [label.get_text() for panel in panels for label in panel.get_yticklabels()]
    assert len(set(names)) == len(names) == len(SMALL.details["structures"])
    for name in ("A4", "C2"):
        (panel,) = [found for found in panels if name in [label.get_text() for label in found.get_yticklabels()]]
        place = [label.get_text() for label in panel.get_yticklabels()].index(name)
        drawn = {
            (c.get_label(), round(c.lines[0].get_ydata()[0], 6)): c.lines[0].get_xdata()[0] for c in panel.containers
        }
        assert drawn["small", round(0.35 - place, 6)] == 100 * SMALL.curves[f"model.holdout.{name}"].y[-1]
        assert drawn[FIVE, round(-0.35 - place, 6)] == 100 * SMALL.curves[f"solvers.holdout.{name}"].y[-1]


def test_both_readings_of_cancellation_are_drawn() -> None:
    for panel, name in zip(cancellation(SMALL).axes, ("cancel", "cancel_pure"), strict=True):
        for drawn, tables in zip(panel.containers, ("quasigroup", "groups"), strict=True):
            facts, accuracies = drawn.lines[0].get_data()
            assert list(facts) == SMALL.config["cancel_facts"]
            assert list(accuracies) == [100 * SMALL.values[f"{name}.{tables}.k{k}"].value for k in facts]


@pytest.mark.parametrize(("q8", "near"), [(0.96, True), (0.94, False)])
def test_unseen_groups_near_the_trained_ones(q8: float, near: bool) -> None:
    groups = {name: Estimate(value, value, value, 200) for name, value in
              {"C8": 1.0, "D4": 1.0, "C4xC2": 1.0, "C2xC2xC2": 1.0, "Q8": q8}.items()}  # fmt: skip
    values = SMALL.values | {f"holdout.{name}.k200": value for name, value in groups.items()}
    assert read(Values(replace(SMALL, values=values))).near_trained == near


@pytest.mark.parametrize(("low", "mechanisms", "guesses"), [(0.1, 0.9, True), (0.1, 0.1, False), (0.13, 0.9, False)])
def test_semigroups_are_compared_with_the_mechanisms_and_with_guessing(
    low: float, mechanisms: float, guesses: bool
) -> None:
    changed = {"holdout.semigroup.k200": Estimate(0.14, low, 0.2, 200),
               "solvers.holdout.semigroup.k200": Estimate(mechanisms, mechanisms, mechanisms, 200)}  # fmt: skip
    assert read(Values(replace(SMALL, values=SMALL.values | changed))).guesses_on_semigroups == guesses


def test_the_lowest_ceiling_is_known_only_if_all_are() -> None:
    assert reading().lowest_ceiling is not None
    name = "wider.holdout.Q8"
    low = replace(SMALL.curves[name], y=[0.9] * len(SMALL.curves[name].y))
    found = read(Values(replace(SMALL, curves={**SMALL.curves, name: low}))).lowest_ceiling
    assert found is not None
    assert found.value == 0.9
    without = {key: curve for key, curve in SMALL.curves.items() if key != name}
    assert read(Values(replace(SMALL, curves=without))).lowest_ceiling is None
