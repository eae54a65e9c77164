"""What the section on heads says of one model and of several, from committed results and changed values of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers import ROOT
from icalgebra.experiments.heads import figures
from icalgebra.experiments.heads.reading import Reading, Together, read, read_together
from icalgebra.experiments.shared.readings import NotMeasured, Values
from icalgebra.results import Result, read_result
from icalgebra.statistics import Estimate

SMALL = read_result(ROOT / "results/full/small/heads.json")
FAST = read_result(ROOT / "results/full/fast/heads.json")
LAST_LAYER, DEMOTION = "necessary.last_layer.identity.mean", "necessary.identity_demotion.identity.mean"


def _changed(name: str = "small", roles: dict[str, Any] | None = None, **values: Estimate) -> Result:
    details = {"roles": SMALL.details["roles"] | (roles or {})}
    return replace(SMALL, model=name, values=SMALL.values | values, details=details)


def _read(roles: dict[str, Any] | None = None, **values: Estimate) -> Reading:
    return read(Values(_changed(roles=roles, **values)))


def _without(result: Result, *parts: str) -> Result:
    return replace(result, values={k: v for k, v in result.values.items() if not any(part in k for part in parts)})


def test_quotes_are_the_values() -> None:
    found = _read()
    quoted = {
        "necessary.copy.copy.resample": found.with_resampled_copy_heads,
        "sufficient.copy.copy": found.copied_by_copy_heads,
        "sufficient.copy.commute": found.commuted_by_copy_heads,
        "necessary.query_promotion.identity.mean": found.without_promotion_heads,
    }
    assert {key: number.estimate for key, number in quoted.items()} == {key: SMALL.values[key] for key in quoted}
    assert [role.name for role in found.roles] == list(SMALL.details["roles"])
    for role in found.roles:
        assert role.score.estimate == SMALL.values[f"role.{role.name.replace(' ', '_')}"]
        assert list(role.heads) == SMALL.details["roles"][role.name]["heads"]
    assert found.elsewhere is not None
    assert found.elsewhere.identity_demotion.estimate == SMALL.values["role.identity_demotion.elsewhere"]
    assert found.elsewhere.identity_demotion.unit == "%"


@pytest.mark.parametrize(("low", "dispensable"), [(0.951, True), (0.949, False)])
def test_the_last_layer_is_dispensable_above_the_threshold(low: float, dispensable: bool) -> None:
    assert _read(**{LAST_LAYER: Estimate(0.98, low, 0.99, 200)}).last_layer_dispensable == dispensable


@pytest.mark.parametrize(("heads", "low", "said"), [
    (["3.7", "3.2"], 0.31, True),
    (["3.7", "3.2"], 0.29, False),
    (["3.7", "1.2"], 0.31, False),  # the last layer does not contain 1.2
])  # fmt: skip
def test_a_part_that_costs_more_than_the_whole(heads: list[str], low: float, said: bool) -> None:
    roles = {"identity demotion": SMALL.details["roles"]["identity demotion"] | {"heads": heads}}
    values = {LAST_LAYER: Estimate(0.4, low, 0.5, 200), DEMOTION: Estimate(0.2, 0.1, 0.3, 200)}
    assert _read(roles, **values).demotion_heads_cost_more == said


def test_a_role_that_scores_alike_elsewhere_is_unspecific() -> None:
    low = SMALL.values["role.identity_demotion"].low
    for high, unspecific in ((low + 0.01, True), (low - 0.01, False)):
        found = _read(**{"role.identity_demotion.elsewhere": Estimate(0.3, 0.2, high, 200)}).elsewhere
        assert found is not None
        assert ("identity demotion" in found.unspecific) == unspecific


def test_controls_that_a_model_lacks() -> None:
    found = read(Values(_without(SMALL, ".elsewhere", ".control")))
    assert found.elsewhere is None
    assert isinstance(found.without_other_heads, NotMeasured)


# --- several models ---------------------------------------------------------------------------------------------------


def _together(*results: Result) -> Together:
    return read_together([Values(result) for result in results])


def test_a_model_may_lack_a_role_and_the_column_stays() -> None:
    roles = {name: found for name, found in SMALL.details["roles"].items() if name != "closure promotion"}
    lacking = replace(_without(SMALL, "closure"), model="full alphabet", details={"roles": roles})
    found = _together(lacking, SMALL)
    assert found.columns == tuple(SMALL.details["roles"])
    assert [row.model for row in found.rows] == ["full alphabet", "small"]
    assert [row.roles[-1] is None for row in found.rows] == [True, False]


def test_summaries_have_the_best_heads_layers_and_the_range_of_scores() -> None:
    other = {"copy": SMALL.details["roles"]["copy"] | {"heads": ["10.0", "3.3"]}}
    found = _together(SMALL, _changed("deep", other, **{"role.copy": Estimate(0.1, 0.0, 0.2, 9)}))
    copy = found.summaries[0]
    assert copy.layers == (2, 10)
    assert (copy.lowest.value, copy.highest.value) == (0.1, SMALL.values["role.copy"].value)


@pytest.mark.parametrize(("effect", "n"), [(0.19, 1), (0.21, 0)])
@pytest.mark.parametrize(("accuracy", "all_copy"), [(0.96, True), (0.94, False)])
def test_models_without_a_copying_head(effect: float, n: int, accuracy: float, all_copy: bool) -> None:
    copies = {"role.copy": Estimate(effect, 0.0, 1.0, 9), "plain.copy": Estimate(accuracy, 0.9, 1.0, 9)}
    found = _together(SMALL, _changed("other", **copies))
    assert (found.n_without_copying_head, found.n_copy, found.all_copy) == (n, 2, all_copy)


# --- figures ----------------------------------------------------------------------------------------------------------


def test_maps_are_the_scores_and_the_accuracies() -> None:
    figure, found = figures.roles(SMALL), SMALL.details["roles"]
    for axis, (role, table) in zip(figure.axes, found.items()):
        assert axis.get_title() == role
        assert np.array_equal(axis.images[0].get_array(), table["scores"])
        assert axis.images[0].get_clim()[1] == np.max(table["scores"])
    both = [axis for axis in figures.roles(SMALL, FAST).axes if axis.get_title().endswith(": copy")]
    assert len({axis.images[0].get_clim() for axis in both}) == 1 < len(both)  # colours compare across models
    above, below = figures.ablations(SMALL).axes
    columns = [label.get_text().replace("\n", "_") for label in above.get_xticklabels()]
    rows = [*(role.replace(" ", "_") for role in found), "last_layer", "all"]
    assert above.get_yticklabels()[0].get_text() == "copy (2.1, 3.1)"
    for axis, pattern in ((above, "necessary.{}.{}.mean"), (below, "sufficient.{}.{}")):
        wanted = [[SMALL.values[pattern.format(row, column)].value for column in columns] for row in rows]
        assert np.array_equal(axis.images[0].get_array(), wanted)
    plt.close("all")
