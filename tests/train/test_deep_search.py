"""The search for a model near the ceiling: every path of scripts/deep_search.py with tiny models."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from helpers import ROOT
from icalgebra.errors import InputError
from icalgebra.experiments import read_checked
from icalgebra.experiments.price.reading import read
from icalgebra.experiments.shared.loaded_model import load_with_config
from icalgebra.experiments.shared.readings import Values
from icalgebra.model.checkpoints import load_model
from icalgebra.model.transformer import Transformer
from icalgebra.train.run import RunFolder


class Stopped(BaseException):
    """As a kill: nothing is caught."""


class Ended:
    """Stands for a process: the job has run in this one."""

    def __init__(self, returncode: int) -> None:
        self.returncode = returncode

    def poll(self) -> int:
        return self.returncode


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    module = importlib.import_module("deep_search")

    def here(key: str, given: Any) -> Ended:
        try:
            module.run_job(key, given)
        except Exception:
            return Ended(1)
        return Ended(0)

    monkeypatch.setattr(module, "spawn", here)
    return module


@pytest.fixture
def call(script: ModuleType, tmp_path: Path) -> Callable[..., int]:
    def run(*arguments: str) -> int:
        sizes = {"--seconds": "0.4", "--winner-seconds": "0.8", "--depth-steps": "12", "--n": "4", "--n-last": "8"}
        given = [text for name, size in sizes.items() if name not in arguments for text in (name, size)]
        where = ["--run", str(tmp_path / "runs/deep"), "--device", "cpu", "--rehearse"]
        return script.main([str(tmp_path / "out"), *arguments, *given, *where])

    return run


def job(tmp_path: Path, name: str) -> dict[str, Any]:
    return json.loads((tmp_path / "out/jobs" / f"{name}.json").read_text())


def test_a_search_and_its_winner(call: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", "winner", "--only", "loop4x3", "once") == 0
    said = capsys.readouterr().out
    chosen = said.split("chosen: ")[1].split()[0]
    result = read_checked(tmp_path / "out/results/quick/deep/price.json")
    reading = read(Values(result))
    assert [(row.name, row.winner) for row in reading.variants] == [
        ("loop4x3", False), ("once", False), (chosen, True),
    ]  # fmt: skip
    assert reading.long_run
    looped = job(tmp_path, "search-loop4x3")
    assert (looped["n_layers"], looped["n_loops"], looped["training"]["lengths"]) == (3, 3, [[4, 0.7], [16, 0.3]])
    assert set(looped["milliseconds_by_length"]) == {"4", "16"}
    for name in ("search-loop4x3", "search-once", f"winner-{chosen}"):
        found = job(tmp_path, name)
        assert found["done"]
        assert found["points"]
        seconds = [point["seconds"] for point in found["points"]]
        assert seconds == sorted(seconds)
        assert found["points"][-1]["share"]["n"] == 8
        assert set(found["points"][0]["mechanisms"]) >= {"copy/16", "associate/16"}
    loaded = load_with_config(str(tmp_path / "runs/deep"))
    assert loaded.name == "deep"
    assert loaded.config.n_facts == 16
    assert len(loaded.checkpoints) > 3
    assert load_model(tmp_path / "out/weights").config == loaded.model.config
    assert call("search", "winner", "--only", "loop4x3", "once") == 0
    assert " step " not in capsys.readouterr().out, "all was done"


def interrupt(monkeypatch: pytest.MonkeyPatch, script: ModuleType, after: int) -> None:
    """End the process in the evaluation after so many."""
    evaluate, done = script.Watch._evaluate, []

    def once(self: Any, *arguments: Any) -> None:
        if len(done) == after:
            monkeypatch.setattr(script.Watch, "_evaluate", evaluate)
            raise Stopped
        done.append(1)
        evaluate(self, *arguments)

    monkeypatch.setattr(script.Watch, "_evaluate", once)


def test_a_killed_search_starts_the_unfinished_variant_over(
    call: Callable[..., int], script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, script, after=1)
    with pytest.raises(Stopped):
        call("search", "--only", "layers4")
    assert not job(tmp_path, "search-layers4")["done"]
    assert call("search", "--only", "layers4") == 0
    found = job(tmp_path, "search-layers4")
    assert found["done"]
    assert [point["step"] for point in found["points"]] == sorted({point["step"] for point in found["points"]})


def test_a_killed_winner_goes_on_from_its_checkpoint(
    call: Callable[..., int], script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, script, after=2)
    with pytest.raises(Stopped):
        call("winner", "--winner", "layers4")
    before = job(tmp_path, "winner-layers4")
    assert call("winner", "--winner", "layers4") == 0
    after = job(tmp_path, "winner-layers4")
    assert after["done"]
    assert (after["steps"], after["start_seconds"]) == (before["steps"], before["start_seconds"])
    steps = [record["step"] for record in RunFolder.open(tmp_path / "runs/deep").records() if record["kind"] == "train"]
    assert steps == sorted(set(steps))
    assert call("winner", "--winner", "mixed") == 1, "the folder holds another variant"
    assert "another variant" in job(tmp_path, "winner-mixed")["failed"]


def test_a_variant_that_fails_is_noted_and_the_others_run(
    call: Callable[..., int], script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step_milliseconds = script.step_milliseconds

    def fails(config: Any, *arguments: Any) -> float:
        if config.once_share:
            raise InputError("out of memory")
        return step_milliseconds(config, *arguments)

    monkeypatch.setattr(script, "step_milliseconds", fails)
    assert call("search", "--only", "once", "layers4") == 0
    assert "out of memory" in job(tmp_path, "search-once")["failed"]
    assert job(tmp_path, "search-layers4")["done"]
    assert read(Values(read_checked(tmp_path / "out/results/quick/deep/price.json"))).best == "layers4"


def test_depths_leave_results_about_reasoning(
    call: Callable[..., int], script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "DEPTHS", {"depth4": script.DEPTHS["depth4"]})
    assert call("depths") == 0
    found = read_checked(tmp_path / "out/results/quick/depth4/reasoning.json")
    assert found.command.endswith("--model runs/depth4")
    assert not (tmp_path / "out/results/quick/deep").exists()
    assert job(tmp_path, "depths-depth4")["points"][-1]["step"] == 12


def test_no_variant_begins_after_the_limit(call: Callable[..., int], tmp_path: Path) -> None:
    assert call("search", "--limit", "0") == 0
    assert not (tmp_path / "out/jobs").exists()


def test_a_late_winner_is_planned_shorter(call: Callable[..., int], tmp_path: Path) -> None:
    assert call("winner", "--winner", "layers4", "--winner-seconds", "1000", "--end", "2") == 0
    assert job(tmp_path, "winner-layers4")["points"][-1]["seconds"] < 10


def test_ties_go_to_the_fewest_parameters(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str, share: float, n: int) -> dict[str, Any]:
        return {"name": name, "stage": "search", "done": True, "parameters": n, "points": [{"share": {"value": share}}]}

    jobs = [found("mixed", 0.97, 21), found("loop4x3", 0.966, 7), found("wide8", 0.972, 25), found("once", 0.96, 1)]
    monkeypatch.setattr(script, "records", lambda given: jobs)
    assert script.choose(None) == "mixed"
    jobs[1]["points"][0]["share"]["value"] = 0.968
    assert script.choose(None) == "loop4x3"


def test_every_variant_is_a_config_and_the_plan_lists_it(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variants = sys.modules["deep_variants"]
    tokens = {name: one.config.batch_size * one.config.n_facts for name, one in variants.VARIANTS.items()}
    assert {name for name, n in tokens.items() if n != 64 * 200} == {"half_batch"}
    assert script.main([str(tmp_path), "--plan"]) == 0
    printed = capsys.readouterr().out
    assert all(f"| {name} |" in printed for name in variants.VARIANTS)
    tiny = script.rehearsed(variants.VARIANTS["loop6x3"].config)
    assert variants.parameters(tiny) == sum(value.numel() for value in Transformer(tiny.model).parameters())
    depths = [one.config.to_dict() | {"n_layers": 0} for one in variants.DEPTHS.values()]
    assert depths[0] == depths[1] == depths[2], "everything but depth is equal"


def test_a_mistyped_variant_or_stage_is_refused(script: ModuleType, tmp_path: Path) -> None:
    for wrong in (["serch"], ["search", "--only", "mixd"], ["winner", "--winner", "mixd"]):
        with pytest.raises(SystemExit) as ended:
            script.main([str(tmp_path), *wrong])
        assert ended.value.code == 2
