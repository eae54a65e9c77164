"""What the section on other sequences decides, from numbers made for the purpose."""

from __future__ import annotations

from dataclasses import replace

from helpers import ROOT
from icalgebra.experiments.shared.readings import Values
from icalgebra.experiments.subspace_generalisation.reading import HOLDS, KEYS, TESTS, Reading, read
from icalgebra.results import Result, read_result
from icalgebra.statistics import Estimate

CONFIG = {"size": 16, "n": 2000, "n_facts": 20, "steps": 100, "n_seeds": 1, "learning_rate": 0.01,
          "published_rate": 0.05, "natural_facts": 200, "n_wide": 500}  # fmt: skip
OTHERS = ("accuracy", "attention", "published_rate", "random", "shuffled", "untrained", "active", "dormant")


def reading(changes: dict[str, float | None] | None = None) -> Reading:
    """All accuracies .95, all controls 0, with some changed."""
    found: dict[str, float | None] = {"both.accuracy": 0.95, "both.closure_alone": 0.1, "both.cancellation_alone": 0.1}
    for kind in ("closure", "cancellation"):
        found |= {f"{kind}.{key}": 0.95 for key in (*OTHERS, *KEYS.values(), "old_variables")}
        found |= {f"{kind}.{key}": 0.0 for key in ("random", "shuffled", "untrained", "dormant")}
    found |= changes or {}
    values = {key: Estimate(value, value, value, 100) for key, value in found.items() if value is not None}
    return read(Values(Result("subspace_generalisation", "full", "m", 0, CONFIG, "", values, {}, {"left_out": {}})))


def test_where_a_subspace_falls_short() -> None:
    r = reading({"closure.natural": HOLDS - 0.01, "closure.new_variables": HOLDS + 0.01, "closure.differ.3": None})
    assert list(r.closure.short) == ["natural"]
    assert not r.cancellation.short
    assert r.short["natural"] == ("closure 89.0\N{NO-BREAK SPACE}%",)
    assert not any(r.short[test] for test in TESTS if test != "natural")


def test_what_is_not_clearly_below_does_not_fall_short() -> None:
    found = read_result(ROOT / "results/full/small/subspace_generalisation.json")
    for high, short in ((HOLDS + 0.01, False), (HOLDS - 0.01, True)):
        values = found.values | {"closure.natural": Estimate(HOLDS - 0.02, HOLDS - 0.03, high, 500)}
        assert ("natural" in read(Values(replace(found, values=values))).closure.short) == short


def test_both_sets_at_once() -> None:
    assert reading().both_hold
    assert not reading({"both.accuracy": 0.89}).both_hold


def test_an_untrained_model_and_directions_that_hardly_vary() -> None:
    assert reading({"closure.untrained": 0.2}).closure.untrained_works
    assert not reading({"closure.untrained": 0.1}).closure.untrained_works
    assert reading({"closure.active": 0.4}).closure.rests_on_dormant
    assert not reading({"closure.active": 0.5}).closure.rests_on_dormant


def test_exceptions_are_what_does_not_hold() -> None:
    found = read(Values(read_result(ROOT / "results/full/small/subspace_generalisation.json")))
    assert not found.all_hold
    sets = {name: replace(getattr(found, name), short={}) for name in ("closure", "cancellation")}
    assert replace(found, **sets).all_hold
    untrained = {name: replace(kind, untrained_works=False) for name, kind in sets.items()}
    assert found.untrained_works
    assert not replace(found, **untrained).untrained_works
