"""The main findings: quoted numbers equal the results, and every threshold decides what its comment says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers import ROOT
from icalgebra.experiments import claim
from icalgebra.experiments.shared import released
from icalgebra.report.evidence import Evidence
from icalgebra.report.findings import Findings, read_findings
from icalgebra.report.page import read_methods, template_environment
from icalgebra.report.store import Store
from icalgebra.report.verdicts import judge_all
from icalgebra.results import Result, write_result
from icalgebra.statistics import Estimate

Read = Callable[..., Findings]
HALF_WIDTH = 0.01


def result(experiment: str, model: str, values: dict[str, float], **parts: Any) -> Result:
    """Every value with the same narrow interval."""
    estimates = {key: Estimate(x, x - HALF_WIDTH, x + HALF_WIDTH, 100) for key, x in values.items()}
    return Result(experiment, "full", model, 0, parts.pop("config", {}), "command", estimates, **parts)


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The findings from these results only."""

    def read(*results: Result) -> Findings:
        for item in results:
            write_result(tmp_path, item)
        return read_findings(Evidence(Store(None, tmp_path).for_findings()))

    return read


@pytest.fixture(scope="module")
def store() -> Store:
    return Store(None, ROOT / "results")


@pytest.fixture(scope="module")
def committed(store: Store) -> Findings:
    return read_findings(Evidence(store.for_findings()))


def words(findings: Findings) -> str:
    page = SimpleNamespace(findings=findings)
    html = template_environment().get_template("findings.html.jinja").render(page=page)
    return " ".join(unescape(html).replace("<code>", "").replace("</code>", "").split())


def test_the_committed_results_support_every_finding(committed: Findings) -> None:
    assert all(getattr(committed, field.name) for field in fields(Findings))
    assert "not measured" not in words(committed)


def test_without_results_there_are_no_findings(read: Read) -> None:
    found = read()
    assert not any(getattr(found, field.name) for field in fields(Findings))
    assert words(found) == '<ol class="findings"> </ol>'


CEILING = {
    "p7.holdout.ceiling": 0.97,
    "p7.holdout.published_model_share": 0.9,
    "p5_d2.holdout.published_model_share": 0.8,
    "p7.holdout.at.20": 0.95,
    "p7.holdout.at.50": 0.99,
    "p7.holdout.entailed_unsolved": 0.12,
    "p7.holdout.solvers": 0.82,
}
COVERAGE = {
    "holdout.over_ceiling": 0.93,
    "holdout.unsolved_entailed_model": 0.6,
    "holdout.unsolved_guess_model": 0.3,
}


def ceiling(**changes: float) -> Result:
    changed = {key.replace("__", "."): value for key, value in changes.items()}
    return result("ceiling", "data", {**CEILING, **changed}, config={"n_facts": 200})


def test_the_ceiling_is_quoted(read: Read) -> None:
    found = read(ceiling(), result("model_coverage", "small", COVERAGE)).ceiling
    assert found is not None
    assert found.n_context == 199
    assert (found.auc.value, found.published_share.value, found.published_share_other.value) == (0.97, 0.9, 0.8)
    assert [(item.model, item.value.value) for item in found.shares] == [("small", 0.93)]
    assert [(item.n_facts, item.accuracy.value) for item in found.at_few_facts] == [(20, 0.95), (50, 0.99)]


@pytest.mark.parametrize("entailed, most", [(0.12, True), (0.1, False), (0.05, False)])
def test_most_of_the_rest_is_entailed_only_beyond_half_of_it(read: Read, entailed: float, most: bool) -> None:
    found = read(ceiling(p7__holdout__entailed_unsolved=entailed)).beyond_mechanisms
    assert found is not None
    assert found.mostly_entailed == most
    assert not found.all_beat_guessing  # no model was measured


@pytest.mark.parametrize("guesses, beats", [(0.57, True), (0.59, False), (0.7, False)])
def test_more_than_guessing_needs_intervals_apart(read: Read, guesses: float, beats: bool) -> None:
    measured = {**COVERAGE, "holdout.unsolved_guess_model": guesses}
    found = read(ceiling(), result("model_coverage", "small", measured))
    assert found.beyond_mechanisms is not None
    assert found.beyond_mechanisms.all_beat_guessing == beats
    assert ("more than guesses" in words(found)) == beats


def test_a_model_without_the_guess_floor_claims_nothing(read: Read) -> None:
    del (measured := dict(COVERAGE))["holdout.unsolved_guess_model"]
    found = read(ceiling(), result("model_coverage", "small", measured)).beyond_mechanisms
    assert found is not None
    assert not found.all_beat_guessing


def test_the_setting_of_the_published_coverage_is_the_one_that_fits(
    read: Read, store: Store, committed: Findings
) -> None:
    ours = committed.published_coverage
    assert ours is not None
    # The tenth, the total of training sequences, touches the edge of its rule by its interval alone: undecided.
    assert (ours.n_published, ours.n_met_other, ours.fits_other) == (10, 9, True)
    stored = store.get("coverage")
    assert stored is not None
    swapped = {
        key.replace("p7.", "x.").replace("p5_d2.", "p7.").replace("x.", "p5_d2."): value
        for key, value in stored.result.values.items()
    }
    found = read(replace(stored.result, values=swapped)).published_coverage
    assert found is not None
    assert (found.n_met_main, found.n_met_other) == (ours.n_met_other, ours.n_met_main)
    assert not found.fits_other
    assert found.copying_published.value == claim("C1.copy_p7").number


def copying_run(model: str, effect: float, resampled: float = 0.4, copies: float = 1.0) -> Result:
    names = ("role.copy", "plain.copy", "necessary.copy.copy.resample")
    return result("heads", model, dict(zip(names, (effect, copies, resampled))))


COPYING = result("copying", "small", {"aie.copy.first": 0.57, "aie.copy.second": 0.49})


@pytest.mark.parametrize("weakest, n_unnamed", [(0.19, 1), (0.21, 0)])
def test_runs_differ_where_some_have_no_copying_head(read: Read, weakest: float, n_unnamed: int) -> None:
    effects = (0.6, weakest, 0.7)
    found = read(COPYING, *(copying_run(f"x-seed{i}", effect) for i, effect in enumerate(effects)))
    assert found.copying is not None
    runs = found.copying.runs
    assert runs is not None
    assert (runs.n, runs.n_unnamed, runs.differ, runs.all_copy) == (3, n_unnamed, n_unnamed == 1, True)
    assert (runs.effects.least, runs.effects.most) == (f"{weakest:.2f}", "0.70")
    assert ("differs between training runs" in words(found)) == runs.differ
    assert [(item.first.value, item.second.value) for item in found.copying.models] == [(0.57, 0.49)]


@pytest.mark.parametrize("resampled, matter", [(0.89, True), (0.91, False)])
def test_a_small_effect_does_not_mean_that_no_head_matters(read: Read, resampled: float, matter: bool) -> None:
    runs = [copying_run("a-seed0", 0.1, 1.0), copying_run("a-seed1", 0.1, resampled), copying_run("a-seed2", 0.9, 0.0)]
    found = read(COPYING, *runs).copying
    assert found is not None
    assert found.runs is not None
    assert found.runs.heads_matter_still == matter
    assert found.runs.resampled is not None
    assert (found.runs.resampled.least.value, found.runs.resampled.most.value) == (resampled, 1.0)


def test_two_runs_do_not_show_how_runs_differ_and_one_that_fails_to_copy_is_not_called_copying(read: Read) -> None:
    first = read(COPYING, copying_run("a-seed0", 0.1), copying_run("a-seed1", 0.9)).copying
    assert first is not None
    assert first.runs is None
    third = read(copying_run("a-seed2", 0.5, copies=0.9)).copying
    assert third is not None
    assert third.runs is not None
    assert not third.runs.all_copy


def identity(model: str, steered: float, separates: float = 0.95) -> Result:
    values = {
        "pc1.balanced_accuracy": separates,
        "steer_distance.plus.query_variable": steered,
        "steer_distance.random.query_variable": 0.1,
        "query_promotion.best": 0.3,
    }
    return result("identity", model, values)


@pytest.mark.parametrize("one, other, steering", [(0.5, 0.13, "all"), (0.5, 0.11, "some"), (0.05, 0.11, "none")])
def test_steering_must_exceed_random_directions(read: Read, one: float, other: float, steering: str) -> None:
    found = read(identity("small", one), identity("fast", other)).identity
    assert found is not None
    assert found.steering == steering
    assert found.published_steered.value == claim("I3.plus").number


@pytest.mark.parametrize("accuracy, separate", [(0.92, True), (0.905, False)])
def test_a_direction_separates_from_nine_tenths_on(read: Read, accuracy: float, separate: bool) -> None:
    found = read(identity("small", 0.5), identity("fast", 0.5, accuracy)).identity
    assert found is not None
    assert found.all_separate == separate


def test_query_promotion_is_counted_as_alike_where_intervals_overlap(read: Read) -> None:
    names = ("role.query_promotion", "role.query_promotion.elsewhere")
    shares = [(0.5, 0.485), (0.5, 0.475), (0.5, 0.9)]
    runs = [result("heads", f"a-seed{i}", dict(zip(names, found))) for i, found in enumerate(shares)]
    found = read(identity("small", 0.5), *runs, result("heads", "a-seed3", {names[0]: 0.5})).identity
    assert found is not None
    assert found.promotion is not None
    assert (found.promotion.n_alike, found.promotion.n_runs) == (2, 3)


def subspaces(model: str, closure: float, cancellation: float, best: str = "2") -> Result:
    values = {
        "closure.no_identity": closure,
        "cancellation.no_identity": cancellation,
        "closure.no_identity.random": 0.0,
    }
    by_layer = {layer: [0.9, 0.8 if layer == best else 0.1] for layer in ("0", "1", "2")}
    config = {"sites": "all", "size": 16, "sizes": [2, 16]}
    return result(
        "subspaces", model, values, config=config, details={"sweep": {"cancellation": {"attention": by_layer}}}
    )


@pytest.mark.parametrize(
    "small, fast, title",
    [
        ((0.91, 0.91), (0.95, 0.95), "both"),
        ((0.91, 0.89), (0.95, 0.5), "closure only"),
        ((0.89, 0.89), (0.5, 0.5), "in part"),
        ((0.91, 0.89), (0.89, 0.89), "models differ"),
        ((0.95, 0.91), (0.95, 0.89), "models differ"),
    ],
)
def test_what_can_be_exchanged(read: Read, small: tuple[float, float], fast: tuple[float, float], title: str) -> None:
    tops = [result("closure", model, {"topk": 1.0}, config={"n_facts": 150}) for model in ("small", "fast")]
    found = read(*tops, subspaces("small", *small), subspaces("fast", *fast, best="1")).sets
    assert found is not None
    assert (found.title, found.size, found.n_facts) == (title, 16, 150)
    assert [(item.layer, item.is_last) for item in found.best_layers] == [("2", True), ("1", False)]
    assert [(item.closure.value, item.cancellation.value) for item in found.models] == [small, fast]


@pytest.mark.parametrize("random, needed", [(0.63, True), (0.61, False)])
def test_probes_need_a_control_where_random_subspaces_inform(read: Read, random: float, needed: bool) -> None:
    values = {"closure.random": 0.9, "cancellation.random": random}
    for kind in ("closure", "cancellation"):
        values |= {f"{kind}.accuracy": 0.99, f"{kind}.commoner_answer": 0.6}
    found = read(result("probes", "small", values)).probes
    assert found is not None
    assert found.need_control == needed
    assert found.models[0].cancellation_random.value == random


@pytest.mark.parametrize("effect, named", [(0.21, True), (0.19, False)])
def test_only_a_copying_head_is_reported_with_what_it_reads(read: Read, effect: float, named: bool) -> None:
    slots = {"aie.copy.first": effect, "copy.slot.answer": 0.02, "copy.slot.comma_behind": 0.8}
    heads = {"answer_heads": {"left": "3.4", "right": "3.4" if named else "3.5"}}
    measured = result("cancellation", "small", {"attention.left": 0.13}, details=heads)
    found = read(result("copying", "small", slots), measured).token_read
    assert found is not None
    assert [(item.answer.value, item.comma.value) for item in found.copying] == ([(0.02, 0.8)] if named else [])
    assert [(item.attention.value, item.also_right) for item in found.cancellation] == [(0.13, named)]
    assert found.published_attention.value == claim("L5.left").number


def dynamics(peak: float, dip: float, in_order: float = 1.0, last_step: float | None = None) -> Result:
    values = {"early_peak.identity": peak, "dip.identity": dip, "order_as_published": in_order, "order_agreement": 0.9}
    onsets = [{"associate": {"step": 900.0}}, {"associate": {"step": last_step}}]
    return result("dynamics", "small", values, details={"onsets": onsets})


@pytest.mark.parametrize(
    "peak, dip, early, falls",
    [(0.395, 0.2, True, True), (0.385, 0.2, False, False), (0.5, 0.385, True, True), (0.5, 0.395, True, False)],
)
def test_identity_comes_near_half_and_falls(read: Read, peak: float, dip: float, early: bool, falls: bool) -> None:
    found = read(dynamics(peak, dip)).skill_order
    assert found is not None
    assert (found.early_half, found.then_falls) == (early, falls)
    assert (found.n_seeds, found.n_associate, found.associate_missing) == (2, 1, True)


@pytest.mark.parametrize("in_order", [1.0, 0.0])
def test_the_order_is_called_as_it_was_judged(read: Read, in_order: float) -> None:
    found = read(dynamics(0.5, 0.2, in_order, last_step=1000.0))
    assert found.skill_order is not None
    assert not found.skill_order.associate_missing
    assert ("Skills emerge mostly in" in words(found)) == bool(in_order)
    assert ("Skills do not emerge in" in words(found)) != bool(in_order)


@pytest.mark.parametrize("accuracy, wide_steps, learn, longer", [(0.52, 3599, True, True), (0.505, 3600, False, False)])
def test_narrow_models(read: Read, accuracy: float, wide_steps: int, learn: bool, longer: bool) -> None:
    steps = {128: 3600, 256: 3700, 512: 9000, 1024: 1200, 2048: wide_steps}
    details = {"settings": [{"d_model": width, "steps": [count]} for width, count in steps.items()]}
    values = {"d128.holdout": accuracy, "d256.holdout": 0.9}
    found = read(result("architecture", "architecture", values, details=details)).narrow_models
    assert found is not None
    assert (found.learn, found.had_more_steps) == (learn, longer)
    assert [(item.d_model, item.published.value, item.accuracy.value) for item in found.widths] == [
        (128, claim("S1.d128").number, accuracy),
        (256, claim("S1.d256").number, 0.9),
    ]


@pytest.mark.parametrize("without, needed", [(0.87, True), (0.89, False)])
def test_mixing_is_needed_only_where_intervals_are_apart(read: Read, without: float, needed: bool) -> None:
    values = {"p0.own.holdout": without, "p0.5.own.holdout": 0.9, "more_is_better": float(not needed)}
    settings = {"config": {"recipes": [{"steps": 3600}]}, "details": {"runs": [{"d_model": 256}]}}
    found = read(result("mixing", "mixing", values, **settings)).mixing
    assert (found is not None) == needed
    if found:
        assert (found.n_steps, found.d_model, found.most_not_best, bool(found.always)) == (3600, 256, True, False)


def speedrun(model: str, seconds: dict[float, bool], d_model: int = 1024) -> Result:
    training = {"n_layers": 4, "n_heads": 8, "d_model": d_model}
    runs = [{"passed": passed, "training_seconds": found} for found, passed in seconds.items()]
    return result("speedrun", model, {}, config={"training": training}, details={"runs": runs})


def test_speed_is_compared_with_both_published_numbers_of_steps(read: Read) -> None:
    runs = (speedrun("fast", {100.0: True, 200.0: True, 10.0: False}), speedrun("sprint", {30.0: True}, 256))
    found = read(*runs, speedrun("paper", {})).speed
    assert found is not None
    fast, sprint = found.presets
    assert (fast.n_passed, fast.n_runs, fast.seconds) == (2, 3, ["100", "200"])
    assert fast.times_text is not None
    assert fast.times_figure is not None
    assert (fast.times_text.least, fast.times_text.most) == (
        f"{30_000 * 1.157 / 200:.0f}",
        f"{75_000 * 1.157 / 100:.0f}",
    )
    assert (fast.times_figure.least, fast.times_figure.most) == (
        f"{22_000 * 1.157 / 200:.0f}",
        f"{22_000 * 1.157 / 100:.0f}",
    )
    assert (sprint.times_text, sprint.times_figure, sprint.of_papers_size) == (None, None, False)
    assert (found.text_hours.least, found.text_hours.most, found.figure_hours) == ("9.6", "24", "7.1")


@pytest.mark.parametrize("seconds, width, minutes", [(599.0, 1024, True), (600.0, 1024, False), (30.0, 256, False)])
def test_hours_become_minutes_at_the_papers_size(read: Read, seconds: float, width: int, minutes: bool) -> None:
    found = read(speedrun("fast", {seconds: True}, width))
    assert found.speed is not None
    assert found.speed.hours_to_minutes == minutes
    assert ("Hours become minutes" in words(found)) == minutes


def test_a_model_that_lacks_a_value_is_left_out(read: Read) -> None:
    measured = {"holdout.semigroup.k200": 0.14, "holdout.groups.k200": 0.99}
    partly = {"holdout.semigroup.k200": 0.2}
    found = read(result("unseen_structures", "small", measured), result("unseen_structures", "fast", partly)).semigroups
    assert found is not None
    assert [(item.model, item.semigroups.value, item.groups.value) for item in found.models] == [("small", 0.14, 0.99)]


def test_what_is_known_of_the_released_code_agrees_with_the_claims() -> None:
    assert claim("B3.steps_to_99").published == "{:,} to {:,}".format(*released.STEPS_TO_99).replace(",", " ")
    methods = read_methods()
    assert (methods.figure_risen.value, methods.figure_steps.value) == (12_000, 22_000)


def test_a_claim_gives_its_reason_only_where_an_explained_verdict_differs(store: Store) -> None:
    names = ("L2.with_identity", "L1.topk")
    judged = judge_all(store, tuple(claim(name) for name in names))
    assert [(row.claim.id, len(row.verdicts), row.gives_reason) for row in judged] == [
        ("L2.with_identity", 3, True),
        ("L1.topk", 3, False),
    ]
    assert [row.published for row in judged] == ["97.5\N{NO-BREAK SPACE}%", "100.0\N{NO-BREAK SPACE}%"]
