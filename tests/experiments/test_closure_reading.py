"""What the section on closure says, from the committed result and from changed values of it."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_rgba

from helpers import ROOT
from icalgebra.experiments.closure import figures
from icalgebra.experiments.closure.reading import Reading, read
from icalgebra.experiments.shared.readings import NotMeasuredError, Values
from icalgebra.language.vocabulary import LETTERS
from icalgebra.results import Curve, Result, read_result
from icalgebra.statistics import Estimate

SMALL = read_result(ROOT / "results/full/small/closure.json")
RISING = Curve(x=[10, 100, 1000], y=[0.3, 0.8, 1.0], low=[0.2, 0.7, 0.9], high=[0.4, 0.9, 1.0], n=[400, 400, 400])
TRAINED = replace(SMALL, curves=SMALL.curves | dict.fromkeys(figures.TRAINING, RISING))


def _read(result: Result, **changed: Estimate) -> Reading:
    values = {key.replace("__", "."): value for key, value in changed.items()}
    return read(Values(replace(result, values=result.values | values)))


def _without(result: Result, *prefixes: str) -> Result:
    return replace(result, values={key: v for key, v in result.values.items() if not key.startswith(prefixes)})


def test_quotes_are_the_values() -> None:
    found = _read(SMALL)
    quoted = {"topk": found.topk, "control.random.top1": found.random_top1, "predictive.mass": found.predictive_mass}
    assert {key: number.estimate for key, number in quoted.items()} == {key: SMALL.values[key] for key in quoted}
    assert found.after_few is not None
    assert found.after_few.with_it.estimate == SMALL.values["at.5.topk.with_it"]
    assert (found.n_sequences, found.n_facts) == (SMALL.values["top1"].n, SMALL.config["n_facts"])
    assert found.excess_millinats.plain == f"{SMALL.values['excess_millinats'].value:.2f}"  # thousandths, not a share


@pytest.mark.parametrize(("low", "seen", "with_it", "follows"), [
    (0.61, 0.6, 0.6, True),
    (0.59, 0.6, 0.5, False),  # the members seen explain it as well
    (0.59, 0.5, 0.6, False),  # and so do neighbours
    (0.60, 0.6, 0.5, False),
])  # fmt: skip
def test_chains_are_followed_where_linked_beats_both_other_sets(
    low: float, seen: float, with_it: float, follows: bool
) -> None:
    found = _read(
        SMALL,
        at__5__topk__linked=Estimate(0.7, low, 0.8, 100),
        at__5__topk__seen=Estimate(0.4, 0.3, seen, 100),
        at__5__topk__with_it=Estimate(0.4, 0.3, with_it, 100),
    )
    assert found.after_few is not None
    assert found.after_few.follows_chains == follows


def test_what_a_model_lacks_is_left_out() -> None:
    lacking = _read(_without(SMALL, "at.5.", "control.other."))
    assert lacking.after_few is lacking.other_group is None
    assert not lacking.through_training
    full = _read(TRAINED)
    assert full.other_group is not None
    assert full.other_group.topk.estimate == SMALL.values["control.other.topk"]
    assert full.through_training
    with pytest.raises(NotMeasuredError):
        _read(_without(SMALL, "top1"))


def test_the_example_tells_whose_sequence_it_shows() -> None:
    panels = SMALL.details["example"]["panels"]
    own = replace(SMALL, details={"example": {"published": False, "panels": panels[:1]}})
    assert (_read(SMALL).papers_sequence, _read(SMALL).two_lefts) == (True, True)
    assert (_read(own).papers_sequence, _read(own).two_lefts) == (False, False)


# --- figures ----------------------------------------------------------------------------------------------------------


def test_bars_are_logits_and_linked_variables_are_coloured() -> None:
    figure = figures.two_queries(SMALL)
    for axis, found, colour in zip(figure.axes, SMALL.details["example"]["panels"], figures.PANEL_COLOURS, strict=True):
        assert [bar.get_height() for bar in axis.patches] == found["logits"]
        assert [label.get_text() for label in axis.get_xticklabels()] == list(LETTERS[: len(found["logits"])])
        chosen = to_rgba(colour)
        coloured = [letter for letter, bar in zip(LETTERS, axis.patches) if bar.get_facecolor() == chosen]
        assert "".join(coloured) == found["members"]
        assert f"after '{found['left']}'" in axis.get_title()
    plt.close(figure)


def test_lines_are_the_curves_in_per_cent() -> None:
    figure = figures.measured(TRAINED)
    hits, even, lost, training = figure.axes
    for axis, wanted in ((hits, figures.BY_FACTS), (training, figures.TRAINING)):
        drawn = {line.get_label(): line for line in axis.lines}
        for key, (label, _, _) in wanted.items():
            assert list(drawn[label].get_xdata()) == TRAINED.curves[key].x
            assert list(drawn[label].get_ydata()) == pytest.approx([100 * y for y in TRAINED.curves[key].y])
    assert list(even.lines[0].get_ydata()) == pytest.approx([100 * y for y in SMALL.curves["uniformity"].y])
    assert list(lost.lines[0].get_ydata()) == SMALL.curves["excess"].y
    assert (lost.get_yscale(), training.get_xscale()) == ("log", "log")
    untrained = figures.measured(SMALL)
    assert len(untrained.axes) == 3
    plt.close("all")
