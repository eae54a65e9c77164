"""What the section on accuracy against the number of facts decides and quotes, and what its figures draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.container import BarContainer

from icalgebra.claims import published
from icalgebra.experiments.accuracy_by_facts.figures import CAUSES, by_structure, causes, labels
from icalgebra.experiments.accuracy_by_facts.reading import Reading, read
from icalgebra.experiments.shared.readings import Values
from icalgebra.results import Curve, read_result

RESULT = read_result(Path(__file__).parents[2] / "results/full/small/accuracy_by_facts.json")
READING = read(Values(RESULT))


def without(*beginnings: str) -> Reading:
    kept = {key: value for key, value in RESULT.values.items() if not key.startswith(beginnings)}
    return read(Values(replace(RESULT, values=kept)))


def test_only_structures_whose_accuracy_falls_are_named() -> None:
    details = {**RESULT.details, "falls": {"C3": [25, 180], "C4": None, "mixture": [4, 9]}}
    reading = read(Values(replace(RESULT, details=details)))
    assert [(fall.structure, fall.start) for fall in reading.falls] == [("C3", 25), ("mixture", 4)]
    assert READING.falls == ()


def test_a_fall_ends_where_accuracy_is_lowest() -> None:
    """Its interval, not its value: fewer sequences say less."""
    curve = Curve([5, 9, 96, 200], [0.9, 1.0, 0.8, 0.81], [0.8, 0.99, 0.6, 0.79], [0.95, 1.0, 0.9, 0.83], [400] * 4)
    curves = RESULT.curves | {"model.C3": curve}
    (fall,) = read(Values(replace(RESULT, curves=curves, details=RESULT.details | {"falls": {"C3": [9, 96]}}))).falls
    assert (fall.start, fall.before.value, fall.end, fall.after.value) == (9, 1.0, 200, 0.81)
    assert "from 100.0\N{NO-BREAK SPACE}% at k = 9 to 81.0\N{NO-BREAK SPACE}% at k = 200" in fall.__html__()


def test_a_world_without_small_groups_has_no_controls() -> None:
    assert READING.controls_measured
    assert without("decline.C4", "C4_fall").controls_measured
    assert not without("decline.C3", "C3_fall", "decline.C4", "C4_fall").controls_measured


def test_structures_outside_the_models_world_are_left_out() -> None:
    assert [item.name for item in READING.structures] == ["C4", "C6", "C8", "C10"]
    assert [item.name for item in without("published_grid.C10").structures] == ["C4", "C6", "C8"]


@pytest.mark.parametrize("longest, end", [(200, 198), (198, 198), (197, 196), (31, 30)])
def test_the_published_grid_ends_where_the_model_does(longest: int, end: int) -> None:
    config = {**RESULT.config, "facts": list(range(2, longest + 1))}
    assert read(Values(replace(RESULT, config=config))).grid_end == end


def test_quotes_of_structures() -> None:
    for item, stated in zip(READING.structures, ("97.1", "96.0", "89.8", "80.7"), strict=True):
        assert item.accuracy.estimate == RESULT.values[f"published_grid.{item.name}"]
        assert item.ceiling.estimate == RESULT.values[f"published_grid_ceiling.{item.name}"]
        assert item.published.plain == f"{stated}\N{NO-BREAK SPACE}%"
    assert READING.mixture.estimate == RESULT.values["published_grid.mixture"]
    assert READING.mixture_ceiling.estimate == RESULT.values["published_grid_ceiling.mixture"]


def test_quotes_of_falls_and_controls() -> None:
    fall = READING.published_fall
    assert (fall.peak.value, fall.last.value, fall.last_k) == (1.0, 0.94, 198)
    assert READING.c3_alone.value == RESULT.details["prevalence"]["C3"]["alone"]
    assert READING.c3_repeats == 22  # 199 facts of nine


def test_by_structure_draws_ceiling_mechanisms_model_and_published() -> None:
    names = [*RESULT.config["world"]["structures"], "mixture"]
    panels = by_structure(RESULT).axes
    assert [panel.get_title() for panel in panels] == names
    for panel, name in zip(panels, names):
        for line, what in zip(panel.lines, ("ceiling", "solvers", "model")):
            assert line.get_ydata() == pytest.approx([100 * y for y in RESULT.curves[f"{what}.{name}"].y])
        points = published()["figures"]["2a"].get(name)
        assert len(panel.lines) == (4 if points else 3)
        if points:
            assert panel.lines[3].get_ydata() == pytest.approx([100 * y for _, y in points])


def test_causes_draws_a_panel_per_group_and_a_bar_per_model_and_condition() -> None:
    kept = {key: value for key, value in RESULT.values.items() if key != "decline.C3.repeated"}
    other = replace(
        RESULT, model="other", values={key: replace(v, value=0.5, low=0.4, high=0.6) for key, v in kept.items()}
    )
    panels = causes(replace(RESULT, values=kept), other).axes
    for panel, name in zip(panels, ("C3", "C4"), strict=True):
        bars = [found for found in panel.containers if isinstance(found, BarContainer)]
        assert [found.get_label() for found in bars] == ["small", "other"]
        keys = {place: f"decline.{name}.{cause}" for place, cause in enumerate(CAUSES)}
        there = {place: key for place, key in keys.items() if key in kept}
        ours, others = ({round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in found} for found in bars)
        assert ours == pytest.approx({place: 100 * kept[key].value for place, key in there.items()})
        assert others == dict.fromkeys(there, 50.0)
    assert [text.get_text() for text in panels[-1].get_xticklabels()] == labels(200)


def test_condition_names_follow_the_models_length() -> None:
    assert labels(32)[1] == "32 facts"
    assert [labels(k)[3].split()[-1] for k in (32, 41, 111, 200)] == ["32nd", "41st", "111th", "200th"]
    assert "up to 31" in labels(32)[2]


@pytest.mark.parametrize(("falls", "nowhere"), [({"C3": None, "C4": None}, True), ({"C3": [9, 96], "C4": None}, False)])
def test_a_model_may_fall_for_no_group(falls: dict[str, Any], nowhere: bool) -> None:
    found = read(Values(replace(RESULT, details=RESULT.details | {"falls": falls})))
    assert found.falls_nowhere == nowhere
