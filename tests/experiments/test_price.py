"""What the section on the price says, with goals reached and not, and its figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from icalgebra.errors import InputError
from icalgebra.experiments import EXPERIMENTS, read_checked
from icalgebra.experiments.price.figures import FIGURES
from icalgebra.experiments.price.reading import Reading, read
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.readings import ABSENT, Values
from icalgebra.language.world import World
from icalgebra.report.page import build_report
from icalgebra.results import NotMeasuredError, Result, write_result
from icalgebra.statistics import Estimate

CEILING = {"10": Estimate(0.708, 0.7, 0.72, 2000).to_dict()}


def estimate(value: float) -> dict[str, Any]:
    return Estimate(value, value - 0.01, value + 0.01, 200).to_dict()


def variant(name: str, parameters: int, shares: dict[float, float], **changes: Any) -> dict[str, Any]:
    """Shares by training seconds."""
    points = [
        {"seconds": at, "step": round(30 * at), "share": estimate(share), "accuracy": {"10": estimate(0.6)},
         "mechanisms": {"associate/50": estimate(0.9)}}
        for at, share in shares.items()
    ]  # fmt: skip
    shape = {"n_layers": 12, "n_loops": 3 if name == "looped" else 1, "d_model": 384, "parameters": parameters}
    known = {"name": name, "stage": "search", "why": "Why?", "milliseconds_per_step": 33.3, "steps": 1650}
    return {**known, **shape, "tokens": 1, "done": True, "failed": "", "points": points, **changes}


MIXED = variant("mixed", 21_000_000, {10: 0.9, 30: 0.951, 55: 0.966})
LOOPED = variant("looped", 7_000_000, {10: 0.9, 30: 0.94, 55: 0.955})
LONG = variant("looped", 7_000_000, {100: 0.96, 560: 0.981}, stage="winner")
FAILED = variant("wide8", 25_000_000, {}, failed="out of memory", done=False)


def result(*variants: dict[str, Any], **config: Any) -> Result:
    sizes = {"n": 200, "n_last": 2000, "n_facts": 200, "seconds": 55.0, "world": World().to_dict(), **config}
    details = {"device": "NVIDIA H200", "ceiling": CEILING, "variants": list(variants)}
    return Result("price", "full", "deep", 0, sizes, "python scripts/deep_search.py build/deep", {}, {}, details)


def reading(*variants: dict[str, Any]) -> Reading:
    return read(Values(result(*variants)))


def test_the_price_of_a_goal_is_that_of_the_first_evaluation_that_reached_it() -> None:
    found = reading(MIXED, LOOPED, LONG)
    first, second, third, fourth = found.goals
    assert (first.seconds, first.by, first.parameters) == ("30", "mixed", "21.0")
    assert (first.smallest, first.smallest_parameters, first.smallest_seconds) == ("looped", "7.0", "55")
    assert (second.seconds, second.by, second.smallest_seconds) == ("55", "mixed", "100")
    assert (third.seconds, third.by) == (fourth.seconds, fourth.by) == ("560", "looped")
    assert (found.best, found.best_seconds, found.target_reached) == ("looped", "560", True)
    assert found.long_run
    assert found.variants[0].to_goals == ("30", "55", "", "")
    assert [(row.blocks, row.layers) for row in found.variants] == [(12, 12), (4, 12), (4, 12)]


def test_goals_that_nobody_reached_are_empty() -> None:
    found = reading(MIXED, LOOPED)
    assert [goal.reached for goal in found.goals] == [True, True, False, False]
    assert (found.highest_reached, found.target_reached, found.long_run) == ("96\N{NO-BREAK SPACE}%", False, False)
    assert reading(variant("layers4", 7, {55: 0.8})).highest_reached == ""


def test_skills_are_those_of_the_best_run() -> None:
    holdout, associate = reading(MIXED).skills
    assert (holdout.name, holdout.facts, holdout.accuracy.value) == ("hold-out", "10", 0.6)
    assert holdout.ceiling.__html__().startswith("70.8")
    assert (associate.name, associate.facts, bool(associate.ceiling)) == ("associate", "50", False)


def test_a_variant_that_failed_is_a_row_without_numbers() -> None:
    *_, row = reading(MIXED, FAILED).variants
    assert (row.failed, row.steps, row.seconds, bool(row.share)) == ("out of memory", 0, "", False)
    with pytest.raises(NotMeasuredError):
        reading(FAILED)


@pytest.mark.parametrize("variants", [(MIXED,), (MIXED, LOOPED, LONG, FAILED), (variant("layers4", 7, {1: 0.1}),)])
def test_the_figure_draws_every_measured_variant(variants: tuple[dict[str, Any], ...]) -> None:
    (panel,) = FIGURES[0](result(*variants)).axes
    drawn = [line for line in panel.lines if line.get_marker() == "o"]
    assert len(drawn) == sum(bool(item["points"]) for item in variants)
    assert (max(line.get_linewidth() for line in drawn) > 2) == any(item["stage"] == "winner" for item in variants)


def section(tmp_path: Path, *variants: dict[str, Any]) -> str:
    write_result(tmp_path / "results", result(*variants))
    html = build_report(tmp_path, tmp_path / "results", None).read_text(encoding="utf-8")
    return html[html.index('<h2 id="price">') :]


def test_the_section_reads_well_either_way(tmp_path: Path, undrawn: None) -> None:
    html = section(tmp_path / "with", MIXED, LOOPED, LONG, FAILED)
    assert "The goal of 98\N{NO-BREAK SPACE}% is reached." in html
    assert "looped, long run" in html
    assert "Failed: out of memory" in html
    assert ABSENT not in html
    html = section(tmp_path / "without", MIXED)
    assert "96\N{NO-BREAK SPACE}% is reached, the goal of 98\N{NO-BREAK SPACE}% is not." in html
    assert html.count("not reached") == 2
    assert "None of the goals" in section(tmp_path / "none", variant("layers4", 7, {55: 0.8}))


def test_without_a_result_there_is_no_section(tmp_path: Path, undrawn: None) -> None:
    (tmp_path / "results").mkdir()
    assert 'id="price"' not in build_report(tmp_path, tmp_path / "results", None).read_text(encoding="utf-8")


def test_reproduce_says_that_it_cannot_run_it() -> None:
    assert not EXPERIMENTS["price"].can_run
    with pytest.raises(InputError, match="another command writes its results"):
        run_experiment("price", "quick")


def test_a_wrong_value_is_told_by_its_field(tmp_path: Path) -> None:
    path = write_result(tmp_path, result({**MIXED, "stage": "long"}))
    with pytest.raises(InputError, match=r"variants\[0\]\.stage"):
        read_checked(path)
