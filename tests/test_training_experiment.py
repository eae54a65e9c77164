"""The rise of hold-out accuracy, read from a run's own metrics."""

from dataclasses import replace

import pytest

from icalgebra.claims import load_claims
from icalgebra.errors import InputError
from icalgebra.experiments.subject import load_subject
from icalgebra.experiments.training import _rise, run
from icalgebra.figures import svg
from icalgebra.figures.training import holdout, skills


@pytest.fixture(scope="module")
def subject():
    return load_subject("small")


@pytest.fixture(scope="module")
def result(subject):
    return run(tier="quick", seed=0, subject=subject, n=4)


def test_claims_find_their_values(result) -> None:
    for claim in load_claims():
        if claim.experiment == "training":
            assert claim.measure(result) is not None, claim.id


def test_curves_are_the_shipped_metrics(subject, result) -> None:
    records = [record for record in subject.metrics if record["kind"] == "evaluation"]
    assert result.curves["holdout"].y == [record["holdout"] for record in records]
    assert result.curves["copy"].n == [subject.config.eval_n] * len(records)
    assert result.details["seconds"] == sorted(result.details["seconds"])


def test_the_rise_is_measured_from_the_last_low_to_the_first_high() -> None:
    course = [(100, 0.05), (200, 0.15), (300, 0.08), (400, 0.6), (500, 0.96), (600, 0.9)]
    records = [{"step": step, "holdout": accuracy} for step, accuracy in course]
    assert _rise(records, 0.10) == pytest.approx(200 / 500)
    assert _rise(records, 0.20) == pytest.approx(200 / 500)
    assert _rise(records[:4], 0.10) is None


def test_a_model_without_metrics_says_so(subject) -> None:
    with pytest.raises(InputError, match="run folder"):
        run(tier="quick", seed=0, subject=replace(subject, metrics=[]), n=2)


def test_figures_draw(result) -> None:
    assert svg(holdout(result)).startswith("<svg")
    assert svg(skills(result)).startswith("<svg")
