"""The section on probes: what each threshold decides, what is quoted, what the figures draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import ROOT
from icalgebra.experiments.probes import figures
from icalgebra.experiments.probes.reading import Reading, read
from icalgebra.experiments.shared.readings import Values
from icalgebra.results import Result, read_result
from icalgebra.statistics import Estimate

SMALL = read_result(ROOT / "results/full/small/probes.json")
FIELDS = {
    "accuracy": "{}.accuracy", "majority": "{}.commoner_answer", "other_variables": "{}.other_variables",
    "random": "{}.random", "whole_space": "{}.whole_space", "other_subspace": "{}.other_subspace",
    "holdout": "holdout.{}.accuracy", "holdout_majority": "holdout.{}.commoner_answer",
    "holdout_random": "holdout.{}.random", "holdout_balanced": "holdout.{}.balanced",
    "cosine": "{}.cosine_unembedding", "cosine_other": "{}.cosine_other_unembedding", "off_diagonal": "{}.off_diagonal",
}  # fmt: skip


def reading(**changes: tuple[float, float, float]) -> Reading:
    """Of the shipped model with some values changed: value, low, high by key, with __ for the dot."""
    changed = {key.replace("__", "."): Estimate(*bounds, 100) for key, bounds in changes.items()}
    return read(Values(replace(SMALL, values=SMALL.values | changed)))


@pytest.mark.parametrize(("field", "key"), FIELDS.items())
def test_numbers_are_those_of_the_result(field: str, key: str) -> None:
    r = reading()
    assert getattr(r.closure, field).estimate == SMALL.values[key.format("closure")]
    assert getattr(r.cancellation, field).estimate == SMALL.values[key.format("cancellation")]


def test_published_cosines_keep_their_sign() -> None:
    assert (reading().closure.published_cosine, reading().cancellation.published_cosine) == ("+0.38", "−0.17")


@pytest.mark.parametrize(("other", "as_good"), [(0.91, True), (0.89, False)])
def test_the_closure_subspace_is_as_good_if_it_reaches_the_interval(other: float, as_good: bool) -> None:
    r = reading(cancellation__accuracy=(0.95, 0.9, 1.0), cancellation__other_subspace=(other, other, other))
    assert r.closure_subspace_as_good is as_good


@pytest.mark.parametrize(
    ("closure_low", "cancellation_high", "expected"), [(0.01, -0.01, True), (-0.01, -0.01, False), (0.01, 0.01, False)]
)
def test_signs_count_where_the_intervals_exclude_zero(
    closure_low: float, cancellation_high: float, expected: bool
) -> None:
    r = reading(
        closure__cosine_unembedding=(0.3, closure_low, 0.6),
        cancellation__cosine_unembedding=(-0.3, -0.6, cancellation_high),
    )
    assert r.signs_as_published is expected


def test_the_reserved_variable() -> None:
    reserved = reading().reserved
    assert reserved is not None
    assert reserved.name == "a"
    assert reserved.accuracy.estimate == SMALL.values["cancellation.reserved"]
    assert reserved.others.estimate == SMALL.values["cancellation.not_reserved"]
    assert reserved.cosine.estimate == SMALL.values["cancellation.reserved_cosines"]
    assert reserved.cosine_all.estimate == SMALL.values["cancellation.off_diagonal_signed"]


def test_a_world_may_reserve_no_variable() -> None:
    assert read(Values(replace(SMALL, details={**SMALL.details, "reserved": None}))).reserved is None


def two_variables() -> Result:
    """Both subspaces with matrices of two variables; the cancellation subspace has the transposed ones."""
    matrices = {"accuracy": [[0.9, 0.6], [0.5, 0.8]], "unembedding": [[0.4, 0.1], [0.2, -0.5]],
                "probes": [[1.0, 0.3], [-0.2, 1.0]]}  # fmt: skip
    transposed = {key: np.transpose(matrix).tolist() for key, matrix in matrices.items()}
    return replace(SMALL, details={"closure": matrices, "cancellation": transposed, "variables": "ab", "reserved": "a"})


@pytest.mark.parametrize(
    ("name", "key", "factor", "diagonal"),
    [("accuracy", "accuracy", 100, ["90", "80"]), ("unembedding", "unembedding", 1, [".4", "−.5"]),
     ("among_probes", "probes", 1, [])],
)  # fmt: skip
def test_figures_draw_both_matrices(name: str, key: str, factor: float, diagonal: list[str]) -> None:
    result = two_variables()
    closure, cancellation = getattr(figures, name)(result).axes[:2]
    for panel, kind in ((closure, "closure"), (cancellation, "cancellation")):
        np.testing.assert_allclose(panel.images[0].get_array(), factor * np.array(result.details[kind][key]))
        assert panel.get_title() == f"{kind} subspace"
        assert [label.get_text() for label in panel.get_xticklabels()] == ["a"]  # every fifth is named
        assert [text.get_text() for text in panel.texts] == diagonal
