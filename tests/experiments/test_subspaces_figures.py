"""The figures on subspaces draw the values of the result."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.container import BarContainer

from helpers import ROOT
from icalgebra.experiments.subspaces import figures
from icalgebra.results import read_result

SMALL = read_result(ROOT / "results/full/small/subspaces.json")


def test_curves_and_controls_draw_the_values() -> None:
    for panel, kind in zip(figures.curves(SMALL).axes, ("closure", "cancellation")):
        plain, identity, share = panel.lines
        np.testing.assert_allclose(plain.get_ydata(), 100 * np.array(SMALL.curves[f"{kind}.no_identity"].y))
        np.testing.assert_allclose(identity.get_ydata(), 100 * np.array(SMALL.curves[f"{kind}.identity"].y))
        np.testing.assert_allclose(share.get_ydata(), 100 * SMALL.values["holdout.not_identity"].value)
    (bars,) = figures.controls(SMALL).axes
    drawn = [found for found in bars.containers if isinstance(found, BarContainer)]
    for found, kind, other in zip(drawn, ("closure", "cancellation"), ("cancellation", "closure")):
        keys = [f"{kind}.no_identity{key}" for key in ("", ".shuffled", ".principal", ".random", ".whole")]
        expected = [100 * SMALL.values[key].value for key in [*keys, f"cross.{kind}_for_{other}"]]
        np.testing.assert_allclose([bar.get_width() for bar in found], expected)
    assert [label.get_text() for label in bars.get_yticklabels()][-1] == "on the other set's pairs"
    (sides,) = figures.sides(SMALL).axes
    table = np.asarray(sides.images[0].get_array())
    assert table[1, 2] == SMALL.values["sides.left_on_right"].value


@pytest.mark.parametrize("kind", ["closure", "cancellation"])
def test_sweeps_draw_a_panel_per_component(kind: str) -> None:
    panels = figures.sweep(SMALL).axes
    columns = len(panels) // len(figures.KINDS)
    row = panels[columns * list(figures.KINDS).index(kind) :][:columns]
    measured = [component for component, table in SMALL.details["sweep"][kind].items() if table]
    for panel, component in zip([found for found in row if found.images], measured, strict=True):
        expected = [[SMALL.values[f"sweep.{kind}.{component}.{layer}.{k}"].value for k in SMALL.config["sizes"]]
                    for layer in range(4)]  # fmt: skip
        np.testing.assert_allclose(panel.images[0].get_array(), expected, atol=1e-4)
        assert panel.get_title() == figures.TITLES[component]


def test_heads_draw_shares_inside_each_subspace() -> None:
    (panel,) = figures.heads(SMALL).axes
    drawn = [found for found in panel.containers if isinstance(found, BarContainer)]
    for found, kind in zip(drawn, ("closure", "cancellation", "random"), strict=True):
        expected = [100 * SMALL.values[f"head.3.{head}.{kind}"].value for head in range(8)]
        np.testing.assert_allclose([bar.get_height() for bar in found], expected)
        assert found.get_label() == f"{kind} subspace"
