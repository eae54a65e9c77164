"""What the section on cancellation says, from the committed result and from changed values of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers import ROOT
from icalgebra.experiments.cancellation import figures
from icalgebra.experiments.cancellation.reading import ABLATED_ON, Reading, read
from icalgebra.experiments.shared.readings import NotMeasured, Values
from icalgebra.plotting.panels import facts_in
from icalgebra.results import read_result
from icalgebra.statistics import Estimate

SMALL = read_result(ROOT / "results/full/small/cancellation.json")


def _around(value: float, half: float = 0.0) -> Estimate:
    return Estimate(value, value - half, value + half, 200)


def _read(values: dict[str, Estimate] | None = None, **details: Any) -> Reading:
    return read(Values(replace(SMALL, values=SMALL.values | (values or {}), details=SMALL.details | details)))


def _on_both(pattern: str, left: float, right: float | None = None, half: float = 0.0) -> dict[str, Estimate]:
    """The values of both sides, by default the same."""
    right = left if right is None else right
    return {pattern.format("left"): _around(left, half), pattern.format("right"): _around(right, half)}


def test_quotes_are_the_values() -> None:
    found, values = _read(), SMALL.values
    for name, side in (("left", found.left), ("right", found.right)):
        assert side.answer_head.attention.estimate == values[f"attention.{name}"]
        assert side.reader.on_rest.estimate == values[f"reads.{name}.cancel_embedded.neither.fact"]
        assert side.reader.on_facts_alone.estimate == values[f"reads.{name}.cancel.fact"]
        assert side.reader.chance.estimate == values[f"chance.{name}.cancel_embedded.fact"]
        assert side.reader.change_in_group.estimate == values[f"change.{name}.holdout.group"]
        assert side.demoter.on_query.estimate == values[f"demotes.{name}.attention_on_query"]
        assert side.reader.head == SMALL.details["readers"][name]
    for row in found.ablations:
        for law, (accuracy, control) in zip(ABLATED_ON, row.accuracies, strict=True):
            assert accuracy.estimate == values[f"without.{row.which}.{law}"]
            assert not isinstance(control, NotMeasured)
            assert control.estimate == values[f"without.{row.which}.control.{law}"]


def test_readers_of_the_comma_have_more_than_half_of_their_attention_there() -> None:
    for left, right, both in ((0.101, 0.101, True), (0.101, 0.099, False), (0.099, 0.101, False)):
        commas = _on_both("reads.{}.cancel_embedded.comma_behind", left, right)
        assert _read(_on_both("reads.{}.cancel_embedded.fact", 0.2) | commas).both_read_comma == both


@pytest.mark.parametrize(("attention", "right", "readers"), [
    (0.124, "3.5", "none"), (0.126, "3.5", "one"), (0.126, "3.0", "two"), (0.124, "3.0", "none"),
])  # fmt: skip
def test_who_looks_for_such_facts(attention: float, right: str, readers: str) -> None:
    heads, chance = {"left": "3.5", "right": right}, _on_both("chance.{}.cancel_embedded.fact", 0.1)
    assert _read(chance | _on_both("reads.{}.cancel_embedded.fact", attention), readers=heads).readers == readers
    one_side = _read(chance | _on_both("reads.{}.cancel_embedded.fact", 0.3, 0.1), readers=heads)
    assert one_side.readers == ("one" if right == "3.5" else "two")  # one side above chance is enough


@pytest.mark.parametrize("right", ["3.5", "3.0"])
def test_one_head_for_both_sides_is_told_from_two(right: str) -> None:
    assert _read(answer_heads={"left": "3.5", "right": right}).same_answer_head == (right == "3.5")


def test_of_two_readers_one_without_a_preference_is_named() -> None:
    values = _on_both("reads.{}.cancel_embedded.fact", 0.5, half=0.1) | _on_both(
        "reads.{}.cancel_embedded.other_side", 0.3
    )
    assert _read(values).unspecific == ()
    values["reads.right.cancel_embedded.other_side"] = _around(0.35, 0.06)  # its interval meets the reader's
    assert _read(values).unspecific == (("3.0", "right"),)
    assert _read(values, readers={"left": "3.5", "right": "3.5"}).unspecific == ()  # one head: said in other words


def test_attending_does_not_demote_where_both_correlations_are_negative() -> None:
    for left, right, said in ((-0.2, -0.2, True), (-0.2, 0.0, False), (0.0, -0.2, False)):
        values = _on_both("attend_and_demote.{}.holdout.group", left, right, half=0.1)
        assert _read(values).attending_does_not_demote == said


def test_a_demoter_that_hardly_attends_is_named_once() -> None:
    unseen = _on_both("demotes.{}.attention", 0.099) | _on_both("demotes.{}.group", -0.5, half=0.4)
    assert _read(unseen).unseeing == (("3.7", "left"), ("2.4", "right"))
    assert _read(unseen, demoters={"left": "3.7", "right": "3.7"}).unseeing == (("3.7", "left and right"),)
    assert _read(unseen | {"demotes.left.attention": _around(0.101)}).unseeing == (("2.4", "right"),)
    assert _read(unseen | {"demotes.right.group": _around(-0.5, 0.6)}).unseeing == (("3.7", "left"),)


def test_a_model_of_one_head_has_no_others_to_compare() -> None:
    own = {k: v for k, v in SMALL.values.items() if not any(w in k for w in ("other_heads", "attend_and", "control"))}
    details = SMALL.details | {"readers": {"left": "0.0", "right": "0.0"}}
    found = read(Values(replace(SMALL, values=own, details=details)))
    assert not found.left.correlation
    assert not found.right.reader.change_of_others
    assert not found.attending_does_not_demote
    assert found.ablations[0].heads == ("0.0",)
    assert not found.ablations[0].accuracies[0][1]


# --- figures ----------------------------------------------------------------------------------------------------------


def test_strips_shade_the_side_and_show_its_logits() -> None:
    figure, example = figures.strips(SMALL), SMALL.details["example"]
    facts = facts_in(example["text"])
    for row, side in enumerate(figures.SIDES):
        attention, logits = figure.axes[2 * row : 2 * row + 2]
        sharing = [place for place, fact in enumerate(facts[:-1]) if fact[row] == facts[-1][row]]
        shaded = [patch for patch in attention.patches if patch.get_width() == 1.0]
        assert [round(patch.get_x() + 0.5) for patch in shaded] == sharing
        assert [bar.get_height() for bar in logits.patches] == example["strips"][side]["direct"]
        assert SMALL.details["readers"][side] in attention.get_title(loc="left")
    plt.close(figure)


def test_maps_and_points_are_the_tables() -> None:
    tables = SMALL.details["tables"]
    figure = figures.attention(SMALL)
    keys = [f"cancel_embedded.{side}.{slot}" for side in figures.SIDES for slot in figures.SLOTS]
    for axis, key in zip(figure.axes, keys, strict=True):
        assert np.array_equal(axis.images[0].get_array(), tables[key])
    plt.close(figure)
    figure = figures.attend_and_demote(SMALL)
    keys = [f"{figures.SCATTERED}.{side}" for side in figures.SIDES]
    for axis, key in zip(figure.axes, keys, strict=True):
        points = [np.array(found.lines[0].get_xydata()) for found in axis.containers]
        assert np.allclose([layer[:, 0] for layer in points], 100 * np.array(tables[f"{key}.fact"]))
        assert np.allclose([layer[:, 1] for layer in points], tables[f"{key}.change_in_group"])
        side = key.rpartition(".")[2]
        heads = [SMALL.details[role][side] for role in ("answer_heads", "readers", "demoters")]
        assert [text.get_text() for text in axis.texts] == list(dict.fromkeys(heads))
    assert len({axis.get_xlim() for axis in figure.axes}) == len({axis.get_ylim() for axis in figure.axes}) == 1
    plt.close(figure)


@pytest.mark.parametrize(("attention", "sides"), [(0.49, []), (0.51, ["left"])])
def test_a_head_with_most_of_its_attention_on_one_side_is_named(attention: float, sides: list[str]) -> None:
    found = _read(_on_both("attention.{}", attention, 0.1))
    assert [item.side for item in found.specialists] == sides
    assert found.no_specialist == (not sides)
    assert sorted([*found.sides_without, *sides]) == ["left", "right"]
    assert (found.published_left.value, found.published_right.value) == (74.4, 57.1)
