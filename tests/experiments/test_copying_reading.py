"""What the section on copying decides and quotes, and what its figures draw."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import ROOT
from icalgebra.experiments.copying.figures import DECODED, EFFECTS, decoded, effects, strips
from icalgebra.experiments.copying.reading import Reading, read
from icalgebra.experiments.shared.readings import Values
from icalgebra.results import Result, read_result
from icalgebra.statistics import Estimate

SMALL = read_result(ROOT / "results/full/small/copying.json")


@pytest.fixture(scope="module")
def result() -> Result:
    return read_result(ROOT / "results" / "full" / "small" / "copying.json")


def read_with(result: Result, **changed: float) -> Reading:
    """With values of their own, named with '__' for '.'; their intervals are ± .01."""
    new = {key.replace("__", "."): Estimate(x, x - 0.01, x + 0.01, 50) for key, x in changed.items()}
    assert set(new) <= set(result.values)
    return read(Values(replace(result, values={**result.values, **new})))


def test_what_is_quoted_is_what_was_measured(result: Result) -> None:
    reading, values = read(Values(result)), result.values
    assert reading.head == result.details["head"]
    assert reading.effect["first"].estimate == values["aie.copy.first"]
    assert reading.commute_effect.estimate == values["aie.commute.first"]
    assert reading.together["two"].estimate == values["aie.copy.together.two"]
    assert reading.slot["comma"] is not None
    assert reading.slot["comma"].estimate == values["copy.slot.comma_behind"]
    assert reading.conflicting_wrong.estimate == values["conflicting.predicts_wrong"]
    assert reading.corrupted_right.estimate == values["variants.corrupted.correct"]


@pytest.mark.parametrize(
    "first, second, two, spread",
    [(0.19, 0.01, 0.5, "none"), (0.21, 0.09, 0.33, "several"), (0.21, 0.07, 0.33, "one"), (0.21, 0.09, 0.31, "one"),
     (0.19, 0.15, 0.5, "none")],
)  # fmt: skip
def test_who_copies(result: Result, first: float, second: float, two: float, spread: str) -> None:
    """Several heads share the effect only if two have clearly more of it than one alone, here .3."""
    effects = {"aie__copy__first": first, "aie__copy__second": second, "aie__copy__together__two": two}
    found = read_with(result, aie__copy__together__one=0.3, **effects)
    assert found.spread == spread


@pytest.mark.parametrize("first, named", [(0.19, False), (0.21, True)])
def test_an_earlier_result_without_a_leading_head_names_none(result: Result, first: float, named: bool) -> None:
    earlier = replace(result, config={key: x for key, x in result.config.items() if key != "chosen_by"})
    found = read_with(earlier, aie__copy__first=first)
    assert [bool(found.head), bool(found.exact_mass), bool(found.slot["comma"])] == [named] * 3
    assert not found.reads_answer or named
    assert read_with(result, aie__copy__first=first).head, "chosen by what it does"


@pytest.mark.parametrize(
    "comma, answer, reads_comma, reads_answer",
    [(0.21, 0.1, True, False), (0.19, 0.1, False, False), (0.1, 0.19, False, False), (0.1, 0.21, False, True),
     (0.5, 0.6, False, True), (0.7, 0.6, True, False)],
)  # fmt: skip
def test_which_slot_is_read(result: Result, comma: float, answer: float, reads_comma: bool, reads_answer: bool) -> None:
    reading = read_with(result, copy__slot__comma_behind=comma, copy__slot__answer=answer)
    assert (reading.reads_comma, reading.reads_answer) == (reads_comma, reads_answer)


@pytest.mark.parametrize("attended, regardless", [(0.52, True), (0.505, False)])
def test_copying_regardless_needs_the_whole_interval(result: Result, attended: float, regardless: bool) -> None:
    assert read_with(result, decode__dihedral__attended=attended).copies_regardless == regardless


@pytest.mark.parametrize("mass, leading, decides", [(0.6, "3.3", True), (0.4, "3.3", False), (0.6, None, False)])
def test_another_head_decides(result: Result, mass: float, leading: str | None, decides: bool) -> None:
    flipped = leading or result.details["head"]
    details = {**result.details, "leading": {**result.details["leading"], "flipped": flipped}}
    changed = replace(result, details=details)
    assert read_with(changed, variants__commutative__mass__reverse=mass).another_decides == decides


@pytest.mark.parametrize("share, effect, unseen", [(0.91, 0.19, True), (0.89, 0.19, False), (0.91, 0.21, False)])
def test_a_copying_head_that_its_effect_hides(result: Result, share: float, effect: float, unseen: bool) -> None:
    shape = np.shape(result.details["effects"]["copy"])
    tables = {name: np.zeros(shape) for name in ("decode", "effects")}
    tables["decode"][0, 1], tables["effects"][0, 1] = share, effect
    details = {
        **result.details,
        "decode": {**result.details["decode"], "cyclic.copy": tables["decode"].tolist()},
        "effects": {**result.details["effects"], "copy": tables["effects"].tolist()},
    }
    earlier = {key: value for key, value in result.config.items() if key != "chosen_by"}
    clearest = read(Values(replace(result, details=details, config=earlier))).clearest
    assert clearest is not None
    assert (clearest.name, clearest.share.value, clearest.effect.value) == ("0.1", share, effect)
    assert clearest.unseen_by_effect == unseen


def test_the_maps_show_the_tables(result: Result) -> None:
    for panel, kind in zip(effects(result).axes, EFFECTS):
        assert np.allclose(panel.images[0].get_array(), result.details["effects"][kind])
    for panel, kind in zip(decoded(result).axes, DECODED):
        assert np.allclose(panel.images[0].get_array(), result.details["decode"][kind])


def test_the_strips_show_the_direct_logits(result: Result) -> None:
    logits = strips(result).axes[1]
    drawn = [bar.get_height() for bar in logits.patches]
    assert np.allclose(drawn, result.details["examples"]["exact"]["direct"])


def test_the_copying_head_is_chosen_by_what_it_does(result: Result) -> None:
    """Results from before say so, and name the head that decodes most clearly instead."""
    found = read(Values(result)).copying
    chosen = "chosen_by" in result.config
    assert (found is not None) == chosen
    earlier = {key: value for key, value in result.config.items() if key != "chosen_by"}
    assert read(Values(replace(result, config=earlier))).copying is None


@pytest.mark.parametrize(("flipped", "same"), [("2.1", True), ("3.1", False)])
def test_the_copying_head_on_reversed_queries(flipped: str, same: bool) -> None:
    details = SMALL.details | {"leading": SMALL.details["leading"] | {"flipped": flipped}}
    assert read(Values(replace(SMALL, details=details))).same_on_flipped == same
