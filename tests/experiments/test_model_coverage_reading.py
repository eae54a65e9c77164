"""What the section on a model beside mechanisms and ceiling decides and quotes, and what its figure draws."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from icalgebra.experiments.model_coverage.figures import KINDS, over_mechanisms
from icalgebra.experiments.model_coverage.reading import Reading, read
from icalgebra.experiments.shared.readings import Number, Values
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.results import Result, read_result
from icalgebra.statistics import Estimate

RESULT = read_result(Path(__file__).parents[2] / "results/full/small/model_coverage.json")
READING = read(Values(RESULT))


def covering(holdout: float, train: float) -> Reading:
    """With intervals of the mechanisms' AUCs that end there."""
    ends = {"holdout.mechanisms": holdout, "train.mechanisms": train}
    changed = {key: Estimate(high - 0.01, high - 0.02, high, 100) for key, high in ends.items()}
    return read(Values(replace(RESULT, values={**RESULT.values, **changed})))


def without(*keys: str) -> Reading:
    return read(Values(replace(RESULT, values={k: v for k, v in RESULT.values.items() if k not in keys})))


def in_world(**changes: Any) -> Reading:
    return read(Values(replace(RESULT, config={**RESULT.config, "world": {**RESULT.config["world"], **changes}})))


def test_the_mechanisms_cover_less_where_both_intervals_end_below_the_published_coverage() -> None:
    assert covering(0.8469, 0.9039).covered_less
    assert not covering(0.8471, 0.9039).covered_less
    assert not covering(0.8469, 0.9041).covered_less


def test_only_the_papers_world_is_the_main_models() -> None:
    assert READING.papers_world
    assert READING.p_mix.__html__() == ".7"
    assert not in_world(p_mix=0.5).papers_world
    assert in_world(p_mix=0.5).p_mix.__html__() == ".5"
    assert not in_world(d2=True).papers_world


def test_a_model_that_answers_nothing_more_has_no_unexplained_region() -> None:
    assert READING.unexplained is not None
    assert without("holdout.unexplained_entailed", "holdout.unexplained_below_50").unexplained is None
    assert not without("holdout.guess").holdout.guess


@pytest.mark.parametrize("kind", ["holdout", "train"])
def test_quotes_of_both_kinds(kind: str) -> None:
    answered = getattr(READING, kind)
    for field in ("auc", "over_ceiling", "mechanisms", "entailed", "guess", "guess_ceiling"):
        assert getattr(answered, field).estimate == RESULT.values[f"{kind}.{field}"]
    assert answered.above_mechanisms.estimate == RESULT.values[f"{kind}.unexplained"]
    assert answered.above_mechanisms.unit == "points"


def test_quotes() -> None:
    unexplained, values = READING.unexplained, RESULT.values
    assert unexplained is not None
    assert unexplained.entailed.estimate == values["holdout.unexplained_entailed"]
    assert unexplained.at_few_facts.estimate == values["holdout.unexplained_below_50"]
    assert unexplained.left_entailed.estimate == values["holdout.unsolved_entailed"]
    assert unexplained.left_entailed_right.estimate == values["holdout.unsolved_entailed_model"]
    assert unexplained.left_guess_right.estimate == values["holdout.unsolved_guess_model"]
    assert READING.agrees_with_mechanisms.estimate == values["holdout.solved"]
    assert READING.train_above_any_copy.estimate == values["train.unexplained_any"]
    assert [vars(example) for example in READING.examples] == RESULT.details["examples"]


def test_the_difference_is_what_the_model_adds_less_what_it_misses() -> None:
    """Of two signs: 9 points more and 1.3 less are 7.7 points."""
    values = RESULT.values | {
        "holdout.mechanisms": Estimate(0.8, 0.8, 0.8, 1), "holdout.solved": Estimate(0.9, 0.9, 0.9, 1),
        "holdout.unexplained": Estimate(0.0, 0.0, 0.0, 1),
    }  # fmt: skip
    found = read(Values(replace(RESULT, values=values))).holdout
    assert isinstance(found.missed, Number)
    assert isinstance(found.beyond, Number)
    assert (found.missed.value, found.beyond.value) == pytest.approx((0.08, 0.08))
    assert not without("holdout.solved").holdout.beyond


def test_what_the_model_adds_is_what_it_answers_where_no_mechanism_does() -> None:
    """The same share from the subsets of those queries."""
    values, found = RESULT.values, READING.holdout
    left = 1 - values["holdout.mechanisms"].value
    entailed = values["holdout.unsolved_entailed"].value
    right = entailed * values["holdout.unsolved_entailed_model"].value
    right += (1 - entailed) * values["holdout.unsolved_guess_model"].value
    assert isinstance(found.beyond, Number)
    assert found.beyond.value == pytest.approx(left * right, abs=1e-4)


def test_published_numbers() -> None:
    assert READING.holdout.published_above.plain == "2.6\N{NO-BREAK SPACE}points"
    assert READING.train.published_above.plain == "2.0\N{NO-BREAK SPACE}points"
    assert (READING.holdout.published_mechanisms.value, READING.train.published_mechanisms.value) == (84.7, 90.4)


def drawn(result: Result, kind: str, name: str) -> np.ndarray:
    return 100 * np.array(result.curves[f"{kind}.{name}"].y)


def test_the_figure_stacks_the_mechanisms_below_model_and_ceiling() -> None:
    for panel, (kind, title) in zip(over_mechanisms(RESULT).axes, KINDS.items(), strict=True):
        assert panel.get_title() == title
        areas = panel.collections[: len(MECHANISMS)]
        top = sum(drawn(RESULT, kind, name) for name in MECHANISMS)
        x, y = areas[-1].get_paths()[0].vertices.T
        assert [area.get_label() for area in areas] == list(MECHANISMS)
        assert [y[x == size].max() for size in (1, 50, 199)] == pytest.approx([top[0], top[49], top[198]])
        for line, name in zip(panel.lines, ("ceiling", "model"), strict=True):
            assert line.get_label() == {"ceiling": "ceiling", "model": "small"}[name]
            assert line.get_ydata() == pytest.approx(drawn(RESULT, kind, name))


def test_the_papers_areas_stand_beside_ours() -> None:
    assert (READING.train.published_auc.value, READING.holdout.published_auc.value) == (92.4, 87.3)
