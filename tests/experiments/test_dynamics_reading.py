"""Dynamics: what the section decides at each threshold, and what its figures draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import ROOT
from icalgebra.experiments.dynamics.figures import ROLES, phases, roles, seeds
from icalgebra.experiments.dynamics.reading import (
    EARLY_ASSOCIATE,
    LASTS,
    MANY_PAIRS,
    MOSTLY_CHANCE,
    SKILL_NAMES,
    Missing,
    Pair,
    Reading,
    read,
)
from icalgebra.experiments.shared.emergence import BAND
from icalgebra.experiments.shared.readings import Values
from icalgebra.plotting.skills import SKILLS
from icalgebra.results import Result, read_result
from icalgebra.statistics import Estimate

STEP = 0.001  # from just below a threshold to just above it
LOW, HIGH = BAND


@pytest.fixture(scope="module")
def result() -> Result:
    return read_result(ROOT / "results/full/small/dynamics.json")


def read_with(result: Result, changes: dict[str, tuple[float, float] | None], **details: object) -> Reading:
    """The reading with some intervals changed, values removed (None) or details replaced."""
    changed = {key: Estimate(sum(ends) / 2, *ends, 3) for key, ends in changes.items() if ends}
    values = {key: value for key, value in result.values.items() if key not in changes} | changed
    return read(Values(replace(result, values=values, details={**result.details, **details})))


def test_the_section_quotes_the_values(result: Result) -> None:
    reading, values = read(Values(result)), result.values
    assert (reading.n_runs, reading.several_runs) == (3, True)
    assert (reading.recipe.model, reading.recipe.steps) == ("small", 3000)
    assert reading.loss.regret["answer"].estimate == values["regret.answer"]
    assert reading.loss.floor["left"].estimate == values["floor.left"]
    rows = {skill.name: skill for skill in reading.skills}
    assert list(rows)[:3] == ["structural tokens", "closure", "copy"]
    assert rows["closure"].onset.estimate == values["onset.closure_top_k"]
    assert [rows[name].n_runs for name in ("cancel", "associate")] == [3, 1]
    quoted = [
        item.__html__().replace("\N{NO-BREAK SPACE}", " ") for item in (reading.rule.min_rise, *reading.rule.band)
    ]
    assert quoted == ["10 points", "40", "60 %"]


def test_loss_is_mostly_chance_where_regret_is_a_small_part_of_the_floor(result: Result) -> None:
    floors = {f"floor.{slot}": (1.0, 1.0) for slot in ("left", "right", "answer")}
    for regret, mostly_chance in ((MOSTLY_CHANCE - STEP, True), (MOSTLY_CHANCE + STEP, False)):
        changes = floors | {f"regret.{slot}": (regret, regret) for slot in ("left", "right", "answer")}
        assert read_with(result, changes).loss.mostly_chance == mostly_chance


def test_reversed_and_undecided_pairs_are_named_with_their_runs(result: Result) -> None:
    pair = {"earlier": "closure_top_k", "later": "copy"}
    order = read_with(result, {}, pairs=[{**pair, "runs": [-1, 0, -1]}, {**pair, "runs": [1, 1, 1]}]).order
    assert [(p.first, p.second, p.n_runs) for p in order.reversed] == [("copy", "closure", 2)]
    assert [(p.first, p.second, p.n_runs) for p in order.undecided] == [("closure", "copy", 1)]
    for n in (MANY_PAIRS, MANY_PAIRS + 1):
        order = read_with(result, {}, pairs=[{**pair, "runs": [0]}] * n).order
        assert (order.undecided_named, order.n_undecided) == (n == MANY_PAIRS, n)


def test_caveats_about_associate_and_about_one_run(result: Result) -> None:
    def caveats(changes: dict[str, tuple[float, float] | None]) -> tuple[bool, bool]:
        order = read_with(result, changes).order
        return order.early_associate is not None, order.one_run

    assert caveats({"early_peak.associate": (EARLY_ASSOCIATE + STEP, 1.0)}) == (True, False)
    assert caveats({"early_peak.associate": (EARLY_ASSOCIATE - STEP, 1.0)}) == (False, False)
    assert caveats({"early_peak.associate": None, "same_order_in_all_seeds": None}) == (False, True)


def test_skills_that_runs_end_without_are_named(result: Result) -> None:
    onsets = result.details["onsets"]
    assert read_with(result, {}, onsets=onsets).order.missing == [
        Missing(SKILL_NAMES.get(skill, skill), n)
        for skill in onsets[0]
        if (n := sum(run[skill]["step"] is None for run in onsets))
    ]
    late = [{**run, "cancel": {**run["cancel"], "step": None}} for run in onsets]
    assert Missing("cancel", len(onsets)) in read_with(result, {}, onsets=late).order.missing


@pytest.mark.parametrize(
    ("level", "peak", "verdict", "half_early"),
    [
        ((0.1, LOW - STEP), (0.1, LOW + STEP), "below", True),
        ((0.1, LOW - STEP), (0.1, LOW - STEP), "below", False),
        ((0.1, LOW - STEP), None, "below", False),
        ((0.1, LOW + STEP), (0.1, LOW + STEP), "published", False),
        ((HIGH - STEP, 0.9), (0.1, LOW + STEP), "published", False),
        ((HIGH + STEP, 0.9), (0.1, LOW + STEP), "above", False),
    ],
)
def test_the_plateau_is_judged_by_its_interval(result, level, peak, verdict: str, half_early: bool) -> None:
    plateau = read_with(result, {"identity_plateau": level, "early_peak.identity": peak}).plateau
    assert (plateau.verdict, plateau.half_early) == (verdict, half_early)


def test_a_plateau_that_is_only_passed_through_does_not_last(result: Result) -> None:
    assert read_with(result, {"rest.identity": (LASTS + STEP, 3.0)}).plateau.lasts
    assert not read_with(result, {"rest.identity": (LASTS - STEP, 3.0)}).plateau.lasts


@pytest.mark.parametrize(
    ("role", "timing"),
    [((301.0, 400.0), "skill first"), ((50.0, 99.0), "head first"), ((50.0, 100.0), "together"), (None, None)],
)
def test_head_and_skill_are_ordered_only_where_their_intervals_are_apart(result, role, timing: str | None) -> None:
    assert read_with(result, {"role_onset.copy": role, "onset.copy": (100.0, 300.0)}).roles.timing == timing


def test_runs_that_learned_nothing_leave_sentences_out(result: Result) -> None:
    """Without onsets, floors or roles, in one run."""
    kept = {key: value for key, value in result.values.items() if key.startswith(("came.", "rest."))}
    run = {**result.details["runs"][0], "roles": {}}
    onsets = [{skill: {"step": None} for skill in result.details["onsets"][0]}]
    reading = read(Values(replace(result, values=kept, details={"runs": [run], "onsets": onsets, "pairs": []})))
    assert (reading.loss, reading.order, reading.plateau, reading.roles) == (None, None, None, None)
    assert not reading.several_runs
    assert [(skill.onset, skill.n_runs) for skill in reading.skills] == [(None, 0)] * 7


def test_phases_show_losses_floors_skills_and_onsets(result: Result) -> None:
    losses, marks, skills = phases(result).axes
    lines = {line.get_label(): line for line in losses.lines}
    assert np.allclose(lines["answer slot"].get_ydata(), result.details["runs"][0]["values"]["loss/answer"])
    assert result.values["floor.answer"].value in [line.get_ydata()[0] for line in losses.lines]
    lines = {line.get_color(): line for line in skills.lines}
    onsets = [line.get_xdata()[0] for line in marks.lines if line.get_marker() == "o"]
    assert onsets == [result.values[f"onset.{name}"].value for name in SKILLS if name != "holdout"]
    for name, (_, colour) in SKILLS.items():
        assert np.allclose(lines[colour].get_ydata(), 100 * np.array(result.curves[name].y))
    keyed = [item for name, item in SKILLS.items() if name != "holdout"]
    assert [(text.get_text(), text.get_color()) for text in marks.get_yticklabels()] == keyed


def test_an_onset_that_some_runs_lack_is_marked() -> None:
    one = read_result(ROOT / "results/full/published/dynamics.json")
    three = read_result(ROOT / "results/full/small/dynamics.json")
    for found, words in ((one, ["not by the end"]), (three, ["in 1 of 3 runs"])):
        assert [text.get_text() for text in phases(found).axes[1].texts] == words


def test_seeds_and_roles_show_every_run(result: Result) -> None:
    runs = result.details["runs"]
    panels = {panel.get_title(): panel for panel in seeds(result).axes}
    for run, loss, copy in zip(runs, panels["training loss (nats)"].lines, panels["copy"].lines, strict=True):
        assert np.allclose(loss.get_xydata(), run["loss"])
        assert np.allclose(copy.get_ydata(), 100 * np.array(run["values"]["copy"]))
    for panel, (role, (title, _)) in zip(roles(result).axes, ROLES.items()):
        heads = [run["roles"][role]["head"] for run in runs]
        assert panel.get_title() == f"{title}\n{', '.join(heads)}"
        for run, line in zip(runs, panel.lines, strict=True):
            found = run["roles"][role]
            assert np.allclose(line.get_ydata(), 100 * np.array(found["own"]["y"]) / max(found["own"]["y"]))


def test_runs_are_told_in_words_and_the_early_peak_comes_first() -> None:
    found = read(Values(read_result(ROOT / "results/full/small/dynamics.json")))
    assert found.runs_in_words == "three runs"
    assert replace(found, n_runs=1, several_runs=False).runs_in_words == "one run"
    assert found.order is not None
    assert found.plateau is not None
    assert found.order.none_reversed
    assert not replace(found.order, reversed=[Pair("copy", "closure", 1)]).none_reversed
    plateau = replace(found.plateau, half_early=False, verdict="below")
    assert (plateau.later_verdict, replace(plateau, half_early=True).later_verdict) == ("below", "")
