"""The ceiling: above every predictor, calibrated, and every claim finds its value."""

import numpy as np
import pytest

from icalgebra import sample
from icalgebra.experiments import load_claims
from icalgebra.experiments.ceiling.figures import beside_solvers
from icalgebra.experiments.ceiling.measure import run
from icalgebra.oracle import ceiling_hits
from icalgebra.plotting import svg
from icalgebra.solvers.coverage import coverage
from icalgebra.statistics import auc, auc_ratio


@pytest.fixture(scope="module")
def result():
    return run(tier="quick", seed=0, n=30, n_structure=4)


def test_claims_find_their_values(result) -> None:
    for claim in load_claims():
        if claim.experiment == "ceiling":
            assert claim.measure(result) is not None, claim.id


def test_mechanisms_stay_below_the_ceiling_and_certainty_too(result) -> None:
    for prefix in ("p7.holdout", "p5_d2.holdout", "p7.train"):
        ceiling = result.values[f"{prefix}.ceiling"].value
        assert result.values[f"{prefix}.solvers"].value < ceiling
        assert result.values[f"{prefix}.entailed"].value < ceiling


def test_more_facts_never_hurt_the_ceiling_on_average(result) -> None:
    curve = result.curves["p7.holdout.ceiling"].y
    assert curve[0] < curve[9] < curve[49]
    assert curve[-1] > 0.99


def test_sound_mechanisms_answer_only_what_is_certain(result) -> None:
    for name in ("identity", "associate"):
        assert result.values[f"soundness.holdout.{name}.right"].value == 1.0
        assert result.values[f"soundness.holdout.{name}.certain"].value == 1.0
    assert result.values["soundness.train.copy.right"].value == 1.0
    assert result.values["soundness.train.commute.right"].value < 1.0


def test_the_same_seed_gives_the_same_result(result) -> None:
    assert run(tier="quick", seed=0, n=30, n_structure=4).to_dict() == result.to_dict()


def test_figures_draw(result) -> None:
    assert svg(beside_solvers(result)).startswith("<svg")


def test_an_auc_ratio_is_the_ratio_of_aucs() -> None:
    sequences = sample("holdout", 40, 30, seed=1)
    solved = coverage(sequences.tokens, "last").hits("total")
    expected = ceiling_hits(sequences).expected
    ratio = auc_ratio(solved, expected)
    assert ratio.value == pytest.approx(auc(solved).value / auc(expected).value)
    assert ratio.low < ratio.value < ratio.high
    assert auc_ratio(np.ones((5, 3)), np.ones((5, 3))).low == 1.0
