"""What the coverage section quotes, and what its figures draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from icalgebra.experiments import experiment
from icalgebra.experiments.coverage.figures import KINDS, SETTINGS, beside_published, stacked
from icalgebra.experiments.coverage.reading import Compared, read
from icalgebra.experiments.shared.readings import Values
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.results import read_result

RESULT = read_result(Path(__file__).parents[2] / "results/full/data/coverage.json")
READING = read(Values(RESULT))


@pytest.mark.parametrize(
    "compared, key, published",
    [
        (READING.copy, "train_any.copy", 67.9),
        (READING.cancel_holdout, "holdout.cancel", 39.1),
        (READING.copyable, "copyable.k50", 45.0),
        (READING.not_identity, "holdout.not_identity", 71.1),
    ],
)
def test_a_share_is_quoted_in_both_settings_and_as_published(compared: Compared, key: str, published: float) -> None:
    assert compared.main.estimate == RESULT.values[f"p7.{key}"]
    assert compared.fitting.estimate == RESULT.values[f"p5_d2.{key}"]
    assert compared.published.value == published


def test_commutative_copies_are_quoted_both_ways() -> None:
    assert READING.commute_any.estimate == RESULT.values["p5_d2.train_any.commute"]
    assert READING.commute_right.estimate == RESULT.values["p5_d2.train.commute"]
    assert READING.cancel_right.estimate == RESULT.values["p5_d2.train.cancel"]
    assert READING.associate_right.estimate == RESULT.values["p5_d2.train.associate"]
    assert READING.total_right.estimate == RESULT.values["p5_d2.train.total"]
    assert READING.largest_context == 199


def test_the_words_hold_for_the_committed_numbers() -> None:
    """The AUCs fit p_mix .5 with D2, the copyable share is closer to p_mix .7 without it."""

    def prefers_fitting(compared: Compared) -> bool:
        main, fitting = (abs(100 * item.value - compared.published.value) for item in (compared.main, compared.fitting))
        return fitting < main

    assert prefers_fitting(READING.copy)
    assert prefers_fitting(READING.cancel_holdout)
    assert not prefers_fitting(READING.copyable)
    assert READING.commute_right.high < READING.commute_any.low
    assert READING.cancel_right.low > RESULT.values["p5_d2.train_any.cancel"].high
    assert READING.associate_right.low > RESULT.values["p5_d2.train_any.associate"].high


def test_stacked_adds_one_mechanism_to_the_next() -> None:
    panels = stacked(RESULT).axes
    for panel, (setting, kind) in zip(panels, [(s, k) for s in SETTINGS for k in KINDS]):
        assert panel.get_title() == f"{KINDS[kind]}, {SETTINGS[setting]}"
        top = np.zeros(199)
        for name, area in zip(MECHANISMS, panel.collections, strict=True):
            top = top + 100 * np.array(RESULT.curves[f"{setting}.{kind}.{name}"].y)
            x, y = area.get_paths()[0].vertices.T
            assert area.get_label() == name
            assert [y[x == size].max() for size in (1, 50, 199)] == pytest.approx([top[0], top[49], top[198]])
        total = RESULT.values[f"{setting}.{kind}.total"].value
        assert [text.get_text() for text in panel.texts] == [f"total AUC {100 * total:.1f} %"]


def test_beside_published_has_a_bar_and_a_point_per_claim() -> None:
    (panel,) = beside_published(RESULT).axes
    claims = experiment("coverage").claims()
    bars = [line for line in panel.lines if len(line.get_xdata()) == 2]
    labels = {tick: text.get_text() for tick, text in zip(panel.get_yticks(), panel.get_yticklabels())}
    for claim, bar, point in zip(claims, bars, panel.containers, strict=True):
        place = bar.get_ydata().mean().round()
        assert set(bar.get_xdata()) == {claim.published}
        assert point[0].get_xdata()[0] == pytest.approx(100 * RESULT.values[claim.value].value)
        assert round(point[0].get_ydata()[0]) == place
        if claim.row in ("C1", "C2"):
            assert labels[place].endswith(claim.value.split(".")[-1])
            assert labels[place].startswith("training" if claim.row == "C1" else "hold-out")
