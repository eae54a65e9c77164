"""The section on subspaces: what each threshold decides, and what is quoted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from helpers import ROOT
from icalgebra.experiments.shared.readings import NotMeasured, Number, Values
from icalgebra.experiments.subspaces.reading import Layer, Reading, read
from icalgebra.results import read_result
from icalgebra.statistics import Estimate

SMALL = read_result(ROOT / "results/full/small/subspaces.json")
PUBLISHED = read_result(ROOT / "results/full/published/subspaces.json")


def reading(changes: dict[str, float | None] | None = None, **config: Any) -> Reading:
    """Of the shipped model with some settings and values changed (None: not measured), each with ± 2 points."""
    changes = changes or {}
    values = {key: estimate for key, estimate in SMALL.values.items() if key not in changes}
    values |= {key: Estimate(x, x - 0.02, x + 0.02, 100) for key, x in changes.items() if x is not None}
    return read(Values(replace(SMALL, values=values, config={**SMALL.config, **config})))


def test_numbers_are_those_of_the_result() -> None:
    r, values = reading(), SMALL.values
    for kind in r.kinds:
        assert kind.accuracy.estimate == values[f"{kind.name}.no_identity"]
        assert kind.with_identity.estimate == values[f"{kind.name}.identity"]
        by_seed = [values[f"{kind.name}.no_identity.seed.{i}"] for i in range(3)]
        assert [found.estimate for found in kind.by_seed] == by_seed
        for field in ("train", "random", "principal", "shuffled", "shuffled_train", "whole", "still_base"):
            assert getattr(kind, field).estimate == values[f"{kind.name}.no_identity.{field}"]
        assert [item.accuracy.value for item in kind.layers] == [
            values[f"sweep.{kind.name}.attention.{layer}.16"].value for layer in range(4)
        ]
    assert r.closure_for_cancellation.estimate == values["cross.closure_for_cancellation"]
    assert r.input_of_last is not None
    assert r.input_of_last.closure.estimate == values["closure.input_of_last"]
    assert [stated.value for stated in (r.published_not_identity, r.failures.published)] == [71.1, 99.9]


@pytest.mark.parametrize("control", ["random", "principal", "shuffled"])
def test_a_set_needs_the_fit_if_no_control_reaches_half_of_it(control: str) -> None:
    def with_control(closure: float, cancellation: float) -> Reading:
        both = {"closure": closure, "cancellation": cancellation}
        controls = {f"{kind}.no_identity.{control}": value for kind, value in both.items()}
        return reading({"closure.no_identity": 0.8, "cancellation.no_identity": 0.8, **controls})

    assert with_control(0.39, 0.39).both_need_fit
    one, neither = with_control(0.41, 0.39), with_control(0.41, 0.41)
    assert (one.both_need_fit, one.needs_fit) == (False, "cancellation")
    assert (neither.both_need_fit, neither.needs_fit) == (False, "")


def test_a_subspace_that_mostly_fails_says_little() -> None:
    assert reading({"cancellation.no_identity": 0.49}).failing == "cancellation"
    assert (
        reading({"cancellation.no_identity": 0.49, "closure.no_identity": 0.49}).failing == "closure and cancellation"
    )
    assert not reading({"cancellation.no_identity": 0.51}).failing


@pytest.mark.parametrize(
    ("identity", "others", "expected"),
    [(0.59, 0.4, "no"), (0.61, 0.47, "hardly"), (0.64, 0.4, "hardly"), (0.66, 0.4, None), (0.61, 0.49, None),
     (0.61, None, None), (None, 0.4, None)],
)  # fmt: skip
def test_identity_cases_among_failures(identity: float | None, others: float | None, expected: str | None) -> None:
    changes = {"cancellation.failures_identity": identity, "cancellation.case.none": others}
    failures = reading({"cancellation.pairs_identity": 0.6, **changes}).failures
    assert failures.share == expected
    assert isinstance(failures.identity, NotMeasured) == (identity is None)
    assert [case for case, _ in failures.cases] == ["source", "base", "target", *(["none"] if others else [])]


def test_other_pairs_are_worse_by_more_than_five_points() -> None:
    assert reading({"cancellation.no_identity": 0.8, "cancellation.case.none": 0.74}).failures.others_worse
    assert not reading({"cancellation.no_identity": 0.8, "cancellation.case.none": 0.76}).failures.others_worse
    assert not reading({"cancellation.case.none": None}).failures.others_worse


def test_layers_are_compared_where_the_sweep_has_all() -> None:
    earlier, last = (f"sweep.closure.attention.{layer}.16" for layer in (2, 3))
    assert reading({earlier: 0.6, last: 0.5}).closure.earlier_layer
    assert not reading({earlier: 0.5, last: 0.6}).closure.earlier_layer
    quick = reading(sites="last")
    assert (quick.last_sites_only, quick.closure.layers, quick.closure.earlier_layer) == (True, (), False)
    assert reading(size=14).closure.layers == ()  # a size that the sweep does not have
    assert reading({"closure.input_of_last": None}).input_of_last is None


@pytest.mark.parametrize("there, better", [(0.85, True), (0.82, False)])
def test_the_residual_stream_behind_the_attention(there: float, better: bool) -> None:
    keys = [f"sweep.closure.{part}.3.16" for part in ("attention", "resid_mid")]
    values = {**SMALL.values, **{key: Estimate(x, x - 0.02, x + 0.02, 9) for key, x in zip(keys, (0.8, there))}}
    swept = {**SMALL.details["sweep"]["closure"], "resid_mid": {"3": [there]}}
    details = {**SMALL.details, "sweep": {**SMALL.details["sweep"], "closure": swept}}
    found = read(Values(replace(SMALL, values=values, details=details))).closure
    assert isinstance(found.resid_mid, Number)
    assert (found.resid_mid.value, found.better_there) == (there, better)


@pytest.mark.parametrize(("high", "apart"), [(0.09, True), (0.11, False)])
def test_subspaces_do_not_do_each_others_work(high: float, apart: bool) -> None:
    values = SMALL.values | {"cross.closure_for_cancellation": Estimate(0.05, 0.0, high, 200)}
    assert read(Values(replace(SMALL, values=values))).apart == apart


@pytest.mark.parametrize(("accuracy", "partly"), [(0.94, True), (0.96, False)])
def test_earlier_layers_hold_part_of_a_set_only_where_they_add_much(accuracy: float, partly: bool) -> None:
    """The residual stream does clearly better in the sweep; the main fit has this accuracy at the attention output."""
    found = read(Values(PUBLISHED)).cancellation
    changed = replace(
        found, accuracy=Number.exact(accuracy), resid_mid=Number(Estimate(1.0, 1.0, 1.0, 200)), better_there=True
    )
    assert changed.much_better_there == partly
    assert not replace(changed, better_there=False).much_better_there


@pytest.mark.parametrize(("before", "early"), [(0.91, "2"), (0.89, None)])
def test_an_earlier_layer_that_does_nearly_as_well_is_named(before: float, early: str | None) -> None:
    layers = (Layer("2", Number.exact(before)), Layer("3", Number.exact(1.0)))
    found = replace(read(Values(PUBLISHED)).cancellation, layers=layers).early
    assert (found and found.layer) == early


def test_published_numbers_stand_where_the_paper_has_them() -> None:
    found = reading()
    assert (found.published_closure_identity.value, found.published_cancellation_identity.value) == (97.5, 75.0)
    assert found.published_cross == "fails"
