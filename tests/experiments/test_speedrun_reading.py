"""What the section on speed says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from icalgebra.experiments.shared.readings import Values
from icalgebra.experiments.speedrun.reading import Reading, read
from icalgebra.results import Result, read_result

FOLDER = Path(__file__).parents[2] / "results/full"
FAST, PAPER, SPRINT = (read_result(FOLDER / name / "speedrun.json") for name in ("fast", "paper", "sprint"))


def reading(result: Result = FAST, **training: object) -> Reading:
    config = {**result.config, "training": result.config["training"] | training}
    return read(Values(replace(result, config=config)))


def test_what_is_quoted_is_what_was_measured() -> None:
    found = reading()
    assert found.milliseconds_per_step.estimate == FAST.values["milliseconds_a_step"]
    assert found.times_faster_than_released is not None
    assert found.times_faster_than_released.estimate == FAST.values["times_released"]
    assert (found.device, found.n, found.target.value) == ("NVIDIA H200", 5000, 99)
    assert found.transcribed == FAST.details["transcribed"]
    assert reading(SPRINT).transcribed is None


def test_rows_are_the_runs() -> None:
    first, *_ = rows = reading(SPRINT).runs
    run = SPRINT.details["runs"][0]
    assert len(rows) == len(SPRINT.details["runs"])
    assert (first.seed, first.passed, first.steps) == (run["seed"], run["passed"], run["steps"])
    assert first.accuracy == "99.20 % [98.91, 99.41]"
    assert (first.million_tokens, first.training_seconds, first.seconds_in_all) == ("243", "33.1", "52.9")
    assert (first.tflops_per_second, first.share_of_chip) == ("184", "23 %")
    assert reading(PAPER).runs == []
    assert (reading(PAPER).only_timed, reading(SPRINT).only_timed) == (True, False)


def test_a_chip_of_unknown_rate_has_no_share() -> None:
    run = {**FAST.details["runs"][0], "share_of_chip": None, "passed": False}
    (row,) = read(Values(replace(FAST, details=FAST.details | {"runs": [run]}))).runs
    assert (row.share_of_chip, row.passed) == ("", False)


@pytest.mark.parametrize("field", ["n_layers", "n_heads", "d_model", "batch_size", "n_facts"])
def test_only_steps_of_the_same_work_are_compared_with_the_released_code(field: str) -> None:
    assert reading().times_faster_than_released is not None
    assert reading(**{field: FAST.config["training"][field] // 2}).times_faster_than_released is None


def test_eight_bits_are_named_where_they_are_used() -> None:
    assert (reading(FAST).float8, reading(SPRINT).float8) == (True, False)


def test_what_was_measured_beside_the_time_is_shown_where_it_was_measured() -> None:
    (earlier, *_), accuracy = reading(SPRINT).runs, SPRINT.details["runs"][0]["accuracy"]
    assert (earlier.associate, earlier.share_of_ceiling, reading(SPRINT).seconds_to_first_step) == ("", "", None)
    run = SPRINT.details["runs"][0] | {"quality": {"share_of_ceiling": accuracy}}
    found = reading(replace(SPRINT, details=SPRINT.details | {"runs": [run], "seconds_to_first_step": 23.45}))
    assert (found.runs[0].associate, found.runs[0].share_of_ceiling) == ("", "99.2 % [98.9, 99.4]")
    assert found.seconds_to_first_step == "23.4"


def test_precision_is_told_and_compared_with_the_released_code() -> None:
    names = ("paper", "fast", "sprint")
    found = {name: read(Values(read_result(FOLDER / name / "speedrun.json"))) for name in names}
    assert {name: item.products for name, item in found.items()} == {
        "paper": "fp32", "fast": "bf16, partly 8 bits", "sprint": "bf16",
    }  # fmt: skip
    assert [name for name, item in found.items() if item.as_released] == ["paper"]
