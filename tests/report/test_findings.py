"""The main findings: quoted numbers equal the results, and every threshold decides what its comment says."""

from __future__ import annotations

import re
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
from icalgebra.experiments.shared.readings import Number
from icalgebra.language.world import World
from icalgebra.report.evidence import Evidence
from icalgebra.report.findings import Findings, read_findings
from icalgebra.report.page import read_methods, template_environment
from icalgebra.report.store import Store
from icalgebra.report.verdicts import judge_all
from icalgebra.results import Curve, Result, write_result
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
    page = SimpleNamespace(findings=findings, universality=None)
    html = template_environment().get_template("findings.html.jinja").render(page=page)
    return " ".join(unescape(re.sub("</?(?:code|a|b)[^>]*>", "", html)).split())


def test_the_committed_results_support_every_finding(committed: Findings) -> None:
    assert all(getattr(committed, field.name) for field in fields(Findings))
    assert "not measured" not in words(committed)


def test_without_results_there_are_no_findings(read: Read) -> None:
    found = read()
    assert not any(getattr(found, field.name) for field in fields(Findings))
    assert words(found) == '<ol class="findings"> </ol>'


CEILING = {
    "p7.holdout.ceiling": 0.97,
    "p7.holdout.entailed_unsolved": 0.12,
    "p7.holdout.solvers": 0.82,
}
COVERAGE = {
    "holdout.over_ceiling": 0.93,
    "holdout.unsolved_entailed_model": 0.6,
    "holdout.unsolved_guess_model": 0.3,
    "holdout.unsolved_entailed": 0.66,
}


def ceiling(**changes: float) -> Result:
    changed = {key.replace("__", "."): value for key, value in changes.items()}
    return result("ceiling", "data", {**CEILING, **changed}, config={"n_facts": 200})


def test_the_ceiling_is_quoted(read: Read) -> None:
    shares = {"p7__holdout__published_model_share": 0.9, "p5_d2__holdout__published_model_share": 0.89}
    findings = read(ceiling(**shares), result("model_coverage", "small", COVERAGE))
    found = findings.ceiling
    assert found is not None
    assert (found.auc.value, found.published.value) == (0.97, claim("C2m.model").number)
    assert "90.0 % of this ceiling, or 89.0 % of the one" in words(findings)
    assert [(item.model, item.value.value) for item in found.shares] == [("small", 0.93)]


def test_the_quoted_share_of_the_ceiling_is_that_of_the_published_curve(store: Store) -> None:
    """The claim, the first screen and the finding quote one number."""
    stored = store.get("ceiling")
    assert stored is not None
    share = 100 * stored.result.values["p5_d2.holdout.published_model_share"].value
    assert claim("C2m.over_ceiling").number == pytest.approx(share, abs=0.05)


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
    assert isinstance(found.beyond_mechanisms.of_unsolved, Number)
    assert found.beyond_mechanisms.of_unsolved.value == 0.66
    assert ("more than where several answers are possible" in words(found)) == beats


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


def copying_run(model: str, effect: float) -> Result:
    return result("heads", model, {"role.copy": effect})


@pytest.mark.parametrize("weakest, differ", [(0.19, True), (0.21, False)])
def test_runs_differ_where_some_have_no_copying_head(read: Read, weakest: float, differ: bool) -> None:
    effects = (0.6, weakest, 0.7)
    found = read(*(copying_run(f"x-seed{i}", effect) for i, effect in enumerate(effects)))
    assert found.copying is not None
    runs = found.copying.runs
    assert runs is not None
    assert (runs.n, runs.differ, runs.effects.least, runs.effects.most) == (3, differ, f"{weakest:.2f}", "0.70")
    assert ("differs between training runs" in words(found)) == differ


def test_two_runs_do_not_show_how_runs_differ(read: Read) -> None:
    assert read(copying_run("a-seed0", 0.1), copying_run("a-seed1", 0.9)).copying is None


@pytest.mark.parametrize("accuracy, said", [(0.96, True), (0.95, False)])
def test_all_are_said_to_copy_only_where_all_do(read: Read, accuracy: float, said: bool) -> None:
    effects = {"x-seed0": 0.6, "x-seed1": 0.1, "y": 0.7}
    runs = [result("heads", model, {"role.copy": x, "plain.copy": accuracy}) for model, x in effects.items()]
    found = words(read(*runs))
    assert "0.10 to 0.70 in 3 runs of 2 recipes" in found
    assert ("below .2 in 1, although all of them copy" in found) == said


def identity(model: str, steered: float, separates: float = 0.95, twice: float | None = None) -> Result:
    """Random directions give a query variable in a tenth of the queries."""
    values = {
        "pc1.balanced_accuracy": separates,
        "steer_distance.plus.query_variable": steered,
        "steer_distance.random.query_variable": 0.1,
    }
    found = result("identity", model, values, details={"distance": 4.0})
    if twice is None:
        return found
    return replace(
        found, curves={f"dose.{way}.query_variable": dose(y) for way, y in (("plain", twice), ("random", 0.1))}
    )


def dose(at_eight: float) -> Curve:
    y = [0.0, at_eight]
    return Curve([4.0, 8.0001], y, [v - HALF_WIDTH for v in y], [v + HALF_WIDTH for v in y], [100, 100])


@pytest.mark.parametrize(
    "once, twice, steers", [(0.13, 0.0, "at one"), (0.11, 0.13, "at two"), (0.11, 0.11, "no"), (0.11, None, "no")]
)
def test_steering_must_exceed_random_directions(read: Read, once: float, twice: float | None, steers: str) -> None:
    found = read(identity("small", once, twice=twice)).identity
    assert found is not None
    assert [model.steers for model in found.models] == [steers]
    assert found.models[0].guessed is None  # without a world nobody knows of how many variables
    assert found.all_weaker
    assert found.all_twice == (twice is not None)
    assert found.published_steered.value == claim("I3.plus").number


@pytest.mark.parametrize("once, twice, weaker", [(0.5, 0.5, True), (0.99, 0.5, False), (0.5, 0.99, False)])
def test_steering_is_weaker_only_where_every_move_is(read: Read, once: float, twice: float, weaker: bool) -> None:
    found = read(identity("small", 0.5), identity("fast", once, twice=twice))
    assert found.identity is not None
    assert found.identity.all_weaker == weaker
    assert ("is weaker than published" in words(found)) == weaker


def test_a_guess_is_one_of_two_variables_of_all(read: Read) -> None:
    found = read(replace(identity("small", 0.5), config={"world": World().to_dict()})).identity
    assert found is not None
    assert found.models[0].guessed is not None
    assert found.models[0].guessed.value == 100 * 2 / 16


@pytest.mark.parametrize("accuracy, separate", [(0.92, True), (0.905, False)])
def test_a_direction_separates_from_nine_tenths_on(read: Read, accuracy: float, separate: bool) -> None:
    found = read(identity("small", 0.5), identity("fast", 0.5, accuracy)).identity
    assert found is not None
    assert found.all_separate == separate


def subspaces(model: str, closure: float, cancellation: float) -> Result:
    values = {"closure.no_identity": closure, "cancellation.no_identity": cancellation}
    return result("subspaces", model, values, config={"size": 16})


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
    found = read(subspaces("small", *small), subspaces("fast", *fast)).sets
    assert found is not None
    assert (found.title, found.size) == (title, 16)
    assert [(item.closure.value, item.cancellation.value) for item in found.models] == [small, fast]


@pytest.mark.parametrize("random, needed", [(0.63, True), (0.61, False)])
def test_probes_need_a_control_where_random_subspaces_inform(read: Read, random: float, needed: bool) -> None:
    values = {"closure.random": 0.9, "cancellation.random": random}
    for kind in ("closure", "cancellation"):
        values |= {f"{kind}.accuracy": 0.99, f"{kind}.commoner_answer": 0.6}
    found = read(result("probes", "small", values)).probes
    assert found is not None
    assert found.need_control == needed
    assert (found.random.least, found.random.most) == (
        f"{100 * random:.1f}\N{NO-BREAK SPACE}%",
        "90.0\N{NO-BREAK SPACE}%",
    )


def copying_head(model: str, answer: float, comma: float, effect: float = 0.5) -> Result:
    slots = {"aie.copy.first": effect, "copy.slot.answer": answer, "copy.slot.comma_behind": comma}
    return result("copying", model, slots)


@pytest.mark.parametrize("effect, named", [(0.21, True), (0.19, False)])
def test_only_a_copying_head_is_reported_with_what_it_reads(read: Read, effect: float, named: bool) -> None:
    found = read(copying_head("small", 0.02, 0.8, effect)).token_read
    assert (found is not None) == named
    if found:
        assert [(head.reads, head.most.value) for head in found.copying] == [("comma", 0.8)]
        assert not found.differ


@pytest.mark.parametrize("answer, differ", [(0.6, True), (0.1, False)])
def test_models_differ_in_the_token_that_they_read(read: Read, answer: float, differ: bool) -> None:
    found = read(copying_head("small", 0.02, 0.8), copying_head("published", answer, 0.3))
    assert found.token_read is not None
    assert found.token_read.differ == differ
    assert ("differs between models" in words(found)) == differ
    assert ("on the answer in the paper and in rerun (60.0" in words(found)) == differ
    assert "on the comma after the fact in small (80.0" in words(found)


def dynamics(peak: float, dip: float, in_order: float = 1.0) -> Result:
    values = {"early_peak.identity": peak, "dip.identity": dip, "order_as_published": in_order, "order_agreement": 0.9}
    return result("dynamics", "small", values, details={"onsets": [runs(1.0), runs(None)]})


def runs(associate: float | None) -> dict[str, Any]:
    return {"copy": {"step": 1.0}, "associate": {"step": associate}}


@pytest.mark.parametrize(
    "peak, dip, early, falls",
    [(0.395, 0.2, True, True), (0.385, 0.2, False, False), (0.5, 0.385, True, True), (0.5, 0.395, True, False)],
)
def test_identity_comes_near_half_and_falls(read: Read, peak: float, dip: float, early: bool, falls: bool) -> None:
    found = read(dynamics(peak, dip)).skill_order
    assert found is not None
    assert (found.early_half, found.then_falls) == (early, falls)
    assert found.n_seeds == 2
    assert [(skill.name, skill.n_runs) for skill in found.rare] == [("associate", 1)]


@pytest.mark.parametrize(
    "order, said", [([1, 1], "also without associate, which emerged in 1 of them"), ([0, 0], "; associate emerged")]
)
def test_the_order_without_a_rare_skill_is_one_of_its_own(read: Read, order: list[int], said: str) -> None:
    later = {"cancel": order, "associate": [-1]}
    pairs = [{"earlier": "copy", "later": skill, "runs": found} for skill, found in later.items()]
    found = dynamics(0.5, 0.2)
    assert said in words(read(replace(found, details={**found.details, "pairs": pairs})))


@pytest.mark.parametrize("in_order", [1.0, 0.0])
def test_the_order_is_called_as_it_was_judged(read: Read, in_order: float) -> None:
    found = read(dynamics(0.5, 0.2, in_order))
    assert found.skill_order is not None
    assert ("Skills emerge mostly in" in words(found)) == bool(in_order)
    assert ("Skills do not emerge in" in words(found)) != bool(in_order)


@pytest.mark.parametrize("accuracy, wide_steps, learn, longer", [(0.52, 3599, True, True), (0.505, 3600, False, False)])
def test_narrow_models(read: Read, accuracy: float, wide_steps: int, learn: bool, longer: bool) -> None:
    steps = {128: 3600, 256: 3700, 512: 2400, 1024: 1200, 2048: wide_steps}
    details = {"settings": [{"d_model": width, "steps": [count]} for width, count in steps.items()]}
    values = {"d128.holdout": accuracy, "d256.holdout": 0.9}
    found = read(result("architecture", "architecture", values, details=details)).narrow_models
    assert found is not None
    assert (found.learn, found.had_more_steps) == (learn, longer)
    assert (found.steps.least.value, found.steps_of_wider.most.value) == (3600, wide_steps)  # type: ignore[union-attr]
    assert [(item.d_model, item.published.value, item.accuracy.value) for item in found.widths] == [
        (128, claim("S1.d128").number, accuracy),
        (256, claim("S1.d256").number, 0.9),
    ]


@pytest.mark.parametrize("without, needed", [(0.87, True), (0.89, False)])
def test_mixing_is_needed_only_where_intervals_are_apart(read: Read, without: float, needed: bool) -> None:
    values = {"p0.p7.holdout": without, "p0.5.p7.holdout": 0.9}
    settings = {"config": {"recipes": [{"steps": 3600}]}, "details": {"runs": [{"d_model": 256}]}}
    found = read(result("mixing", "mixing", values, **settings)).mixing
    assert (found is not None) == needed
    if found:
        assert (found.n_steps, found.d_model, bool(found.always)) == (3600, 256, False)


def speedrun(model: str, seconds: dict[float, bool], d_model: int = 1024) -> Result:
    training = {"n_layers": 4, "n_heads": 8, "d_model": d_model}
    runs = [{"passed": passed, "training_seconds": found} for found, passed in seconds.items()]
    return result("speedrun", model, {}, config={"training": training}, details={"runs": runs})


def test_speed_is_that_of_runs_at_the_papers_size_with_another_recipe(read: Read) -> None:
    runs = (speedrun("fast", {100.0: True, 200.0: True, 10.0: False}), speedrun("sprint", {30.0: True}, 256))
    found = read(*runs, speedrun("paper", {5000.0: True}), speedrun("deep", {})).speed
    assert found is not None
    (fast,) = found.presets
    assert (fast.preset, fast.n_passed, fast.n_runs) == ("fast", 2, 3)
    assert (fast.taken.least, fast.taken.most) == ("100", "200")
    assert (found.text_hours.least, found.text_hours.most, found.figure_hours) == ("9.6", "24", "7.1")


@pytest.mark.parametrize("seconds, minutes", [(599.0, True), (600.0, False)])
def test_hours_become_minutes_at_the_papers_size(read: Read, seconds: float, minutes: bool) -> None:
    found = read(speedrun("fast", {seconds: True}))
    assert found.speed is not None
    assert found.speed.hours_to_minutes == minutes
    assert ("training takes minutes" in words(found)) == minutes


@pytest.mark.parametrize("passed, width", [(True, 256), (False, 1024)])
def test_without_a_run_of_that_size_that_passed_nothing_is_said_of_speed(read: Read, passed: bool, width: int) -> None:
    assert read(speedrun("fast", {30.0: passed}, width)).speed is None


def test_a_model_that_lacks_a_value_is_left_out(read: Read) -> None:
    measured = {"holdout.semigroup.k200": 0.14, "holdout.groups.k200": 0.99}
    partly = {"holdout.semigroup.k200": 0.2}
    found = read(result("unseen_structures", "small", measured), result("unseen_structures", "fast", partly)).semigroups
    assert found is not None
    assert [(item.model, item.semigroups.value, item.groups.value) for item in found.models] == [("small", 0.14, 0.99)]


def test_what_is_known_of_the_released_code_agrees_with_the_claims(store: Store) -> None:
    assert claim("B3.steps_to_99").published == "{:,} to {:,}".format(*released.STEPS_TO_99).replace(",", " ")
    methods = read_methods(Evidence(store))
    assert (methods.figure_risen.value, methods.figure_steps.value) == (12_000, 22_000)


def test_a_claim_gives_its_reason_only_where_an_explained_verdict_differs(store: Store) -> None:
    names = ("L2.with_identity", "L1.topk")
    judged = judge_all(store, tuple(claim(name) for name in names))
    assert [(row.claim.id, len(row.verdicts), any(row.cause(item) for item in row.verdicts)) for row in judged] == [
        ("L2.with_identity", 3, True),
        ("L1.topk", 3, False),
    ]
    assert [row.published for row in judged] == ["97.5\N{NO-BREAK SPACE}%", "100.0\N{NO-BREAK SPACE}%"]


def test_the_step_is_timed_in_both_precisions_where_its_work_is_the_same(tmp_path: Path) -> None:
    same = {"n_layers": 4, "n_heads": 8, "d_model": 1024, "batch_size": 128, "n_facts": 200}
    timed = result(
        "speedrun", "paper", {"milliseconds_a_step": 902.0}, config={"training": {**same, "precision": "fp32"}}
    )
    run = {"steps": [0, 12_000], "seconds": [0.0, 1112.0]}
    for batch_size, told in ((128, [("paper", "fp32", "902"), ("rerun", "bf16", "93")]), (64, [])):
        settings = {**same, "batch_size": batch_size, "precision": "bf16"}
        for item in (timed, result("training", "published", {}, config={"training": settings}, details=run)):
            write_result(tmp_path, item)
        times = read_methods(Evidence(Store(None, tmp_path))).step_times
        assert [(item.name, item.precision, item.milliseconds) for item in times] == told
