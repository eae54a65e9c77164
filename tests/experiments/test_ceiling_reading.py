"""What the ceiling's section quotes, and what its figures draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from icalgebra.experiments.ceiling.figures import PANELS, beside_solvers
from icalgebra.experiments.ceiling.reading import read
from icalgebra.experiments.shared.readings import Values
from icalgebra.results import Curve, read_result

RESULT = read_result(Path(__file__).parents[2] / "results/full/data/ceiling.json")
READING = read(Values(RESULT))


@pytest.mark.parametrize(
    "field, key",
    [
        ("ceiling", "p7.holdout.ceiling"),
        ("published_model_share", "p7.holdout.published_model_share"),
        ("published_model_share_fitting", "p5_d2.holdout.published_model_share"),
        ("mechanisms_share", "p7.holdout.solvers_share"),
        ("after_twenty", "p7.holdout.at.20"),
        ("after_fifty", "p7.holdout.at.50"),
        ("entailed_unsolved", "p7.holdout.entailed_unsolved"),
        ("unaware", "p7.holdout.unaware"),
        ("calibration_holdout", "p7.holdout.calibration"),
        ("calibration_train", "p7.train.calibration"),
    ],
)
def test_quotes(field: str, key: str) -> None:
    assert getattr(READING, field).estimate == RESULT.values[key]


def test_calibration_is_a_difference_of_accuracies() -> None:
    assert READING.calibration_holdout.unit == "points"


def test_the_table_has_a_row_per_mechanism_that_answers() -> None:
    assert [(row.kind, row.mechanism) for row in READING.soundness] == [
        *(("hold-out", name) for name in ("identity", "cancel", "associate")),
        *(("training", name) for name in ("copy", "commute", "identity", "cancel", "associate")),
    ]
    cancel = READING.soundness[1]
    for column in ("answers", "right", "certain", "share"):
        assert getattr(cancel, column).estimate == RESULT.values[f"soundness.holdout.cancel.{column}"]
    fewer = {key: value for key, value in RESULT.values.items() if not key.startswith("soundness.train.copy")}
    assert len(read(Values(replace(RESULT, values=fewer))).soundness) == len(READING.soundness) - 1


def test_the_words_hold_for_the_committed_numbers() -> None:
    values = RESULT.values
    assert READING.entailed_unsolved.value > (1 - values["p7.holdout.solvers"].value) / 2  # misses are mostly certain
    assert abs(READING.unaware.value - READING.ceiling.value) < 0.001  # a negligible difference
    # commute errs
    assert values["soundness.train.commute.certain"].high < values["soundness.holdout.identity.right"].low


def test_beside_solvers_draws_three_curves_per_panel() -> None:
    for panel, (prefix, title) in zip(beside_solvers(RESULT).axes, PANELS.items(), strict=True):
        assert panel.get_title() == title
        for line, name in zip(panel.lines, ("ceiling", "entailed", "solvers"), strict=True):
            curve = RESULT.curves[f"{prefix}.{name}"]
            assert list(line.get_xdata()) == curve.x
            assert line.get_ydata() == pytest.approx([100 * y for y in curve.y])
        aucs = [f"{100 * RESULT.values[f'{prefix}.{name}'].value:.1f}" for name in ("ceiling", "solvers")]
        model = "92.4" if prefix == "p7.train" else "87.3"
        assert panel.texts[0].get_text() == f"AUC\nceiling {aucs[0]}\nmechanisms {aucs[1]}\nthe paper's model {model}"


def test_the_widest_interval_is_that_of_any_curve_drawn() -> None:
    wide = Curve([1.0, 10.0], [0.2, 0.5], [0.1, 0.49], [0.25, 0.7], [400, 400])
    found = read(Values(replace(RESULT, curves=RESULT.curves | {"p7.train.entailed": wide}))).widest
    assert (found.value, found.unit) == (pytest.approx(0.2), "points")
