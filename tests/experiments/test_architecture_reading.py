"""What the section on layers, heads and width says, and what its figures draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from icalgebra.experiments.architecture.figures import beside_published, through_training
from icalgebra.experiments.architecture.reading import Reading, read
from icalgebra.experiments.shared.readings import Number, Values
from icalgebra.results import read_result
from icalgebra.statistics import Estimate

RESULT = read_result(Path(__file__).parents[2] / "results/full/architecture/architecture.json")
SETTINGS = RESULT.details["settings"]


def reading(values: dict[str, Estimate] | None = None, without: str = "", **details: Any) -> Reading:
    kept = {key: value for key, value in RESULT.values.items() if not without or not key.startswith(without)}
    return read(Values(replace(RESULT, values=kept | (values or {}), details=RESULT.details | details)))


def between(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, 2048)


def test_rows_hold_ours_and_the_published_value() -> None:
    row = reading().rows[0]
    assert row.setting == "2 · 8 · 1024"
    assert [cell.published for cell in row.cells] == ["93.5 %", "100 %", "98.4 %", "100 %", None, "78.1 %", "100 %"]
    names = ("holdout", "copy", "commute", "identity", "cancel", "associate", "closure")
    for cell, name in zip(row.cells, names, strict=True):
        assert isinstance(cell.ours, Number)
        assert cell.ours.estimate == RESULT.values[f"l2.{name}"]
    assert (row.steps_to_50.plain, row.steps_to_90.plain, row.n_seeds) == ("600", "900", 1)


def test_what_is_not_there_says_whether_it_was_asked() -> None:
    assert reading(without="l2.copy").rows[0].cells[1].ours == "not asked"
    settings = [{**SETTINGS[0], "seeds": []}, *SETTINGS[1:]]
    found = reading(without="l2.", settings=settings)
    assert found.rows[0].cells[1].ours == "not measured"
    assert (found.rows[0].measured, bool(found.rows[0].steps_to_50)) == (False, False)
    assert (found.n_missing, found.one_missing, found.n_settings) == (1, True, 11)
    settings[1] = {**SETTINGS[1], "seeds": []}
    assert (reading(settings=settings).n_missing, reading(settings=settings).one_missing) == (2, False)
    assert reading().n_missing == 0


def test_runs_of_another_length_are_named() -> None:
    found = reading()
    assert found.steps.value == 1200
    assert {name: steps.value for name, steps in found.other_steps.items()} == {
        "width 128 and width 256": 3600, "width 512": 2400, "width 2048": 800,
    }  # fmt: skip
    settings = [{**SETTINGS[0], "steps": [500]}, *SETTINGS[1:7]]
    assert {name: steps.value for name, steps in reading(settings=settings).other_steps.items()} == {
        "2 · 8 · 1024": 500
    }


def test_settings_read_out_in_bf16_are_named() -> None:
    settings = [{**setting, "in_bf16": setting["d_model"] == 128} for setting in SETTINGS]
    assert reading(settings=settings).in_bf16 == ["4 · 8 · 128"]


@pytest.mark.parametrize(
    "d128, d256, outcome",
    [
        ((0.31, 0.4), (0.73, 0.8), "recipe"),
        ((0.29, 0.4), (0.73, 0.8), "only_wider"),
        ((0.31, 0.4), (0.71, 0.8), "as_published"),
        ((0.1, 0.2), (0.4, 0.52), "as_published"),
        ((0.1, 0.2), (0.4, 0.50), "fail"),
    ],
)
def test_narrow_models_are_judged_by_their_intervals(d128, d256, outcome: str) -> None:
    found = reading({"d128.holdout": between(*d128), "d256.holdout": between(*d256)}).narrow
    assert found is not None
    assert found.outcome == outcome
    assert (found.narrower.ours.estimate, found.wider.ours.estimate) == (between(*d128), between(*d256))
    assert (found.narrower.published.value, found.wider.published.value) == (13.3, 61.3)


def test_without_a_width_nothing_is_said_of_narrow_models() -> None:
    assert reading(without="d128.").narrow is None
    assert reading(without="d256.").narrow is None


def test_two_layers_and_two_heads_are_compared_with_the_middle_setting() -> None:
    layers, heads = reading().comparisons
    assert (layers.name, layers.later, layers.one_seed) == ("Two layers", False, True)
    assert (heads.name, heads.later) == ("Two heads", True)
    assert (layers.leaves.plain, reading().middle_leaves.plain, heads.leaves.plain) == ("600", "700", "1200")
    (only,) = reading(without="fewer_heads_later").comparisons
    assert only == layers
    several = reading({"fewer_layers_later": Estimate(1.0, 1.0, 1.0, 6)}, without="l2.steps_to_50").comparisons[0]
    assert (several.later, several.one_seed, bool(several.leaves)) == (True, False, False)


def test_each_column_draws_the_runs_of_its_sweep() -> None:
    (above, _, widths_above), (below, heads, widths) = (
        through_training(RESULT).axes[:3],
        through_training(RESULT).axes[3:],
    )
    runs = [run for run in RESULT.details["runs"] if (run["n_heads"], run["d_model"]) == (8, 1024)]
    assert [line.get_label() for line in below.lines] == ["2", "4", "6", "8", "10"]
    for line, run in zip(below.lines, sorted(runs, key=lambda run: run["n_layers"]), strict=True):
        assert list(line.get_ydata()) == [100 * y for y in run["holdout"]["y"]]
    assert list(above.lines[0].get_ydata()) == [loss for _, loss in runs[0]["loss"]]
    assert [line.get_label() for line in heads.lines] == ["2", "4", "8"]
    legend = [text.get_text() for text in widths.get_legend().get_texts()]
    assert legend == ["128", "256", "512", "1024", "2048"]  # though three seeds have width 128
    assert len(widths_above.lines) == 9


def test_hold_out_accuracy_is_drawn_beside_the_published_one() -> None:
    published, *ours = beside_published(RESULT).axes[0].lines
    assert list(published.get_xdata()) == [setting["published"]["holdout"] for setting in SETTINGS]
    assert list(ours[1].get_xdata()) == [100 * RESULT.values["l2.holdout"].value]
    missing = {key: value for key, value in RESULT.values.items() if not key.startswith("l2.")}
    (said,) = beside_published(replace(RESULT, values=missing)).axes[0].texts
    assert (said.get_text(), said.get_position()[1]) == ("not measured", 0)


@pytest.mark.parametrize(("step", "at_end"), [(1199.0, False), (1200.0, True)])
def test_leaving_the_plateau_at_the_last_step_is_said(step: float, at_end: bool) -> None:
    """The runs with two heads have 1200 steps."""
    few = reading({"h2.steps_to_50": between(step, step)}).comparisons[1]
    assert (few.name, few.only_at_end) == ("Two heads", at_end)
