"""Architecture and mixing: from a table made by hand, and from real sweeps, to values, verdicts and the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from icalgebra.atomic_files import write_json
from icalgebra.cli import main
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments import load_claims
from icalgebra.experiments.architecture import measure as architecture
from icalgebra.experiments.architecture.measure import labels, published_table
from icalgebra.experiments.mixing import measure as mixing
from icalgebra.experiments.shared.estimates import across_seeds
from icalgebra.experiments.shared.loaded_model import Runs
from icalgebra.experiments.shared.readings import written
from icalgebra.experiments.shared.sweep_tables import finished_rows, later, world_of
from icalgebra.language.world import World, is_papers_world
from icalgebra.oracle.loss_floor import slot_floors
from icalgebra.report.page import build_report
from icalgebra.results import Result, read_result, write_result
from icalgebra.statistics import Estimate, mean, proportion
from icalgebra.sweep.manifest import Entry
from icalgebra.train import TrainConfig
from icalgebra.verdicts import decide
from sweep_helpers import COURSE
from training_helpers import MICRO

SKILLS = ("holdout", "copy", "commute", "identity", "cancel", "associate", "closure_top_k")
WORLD = {"structures": ("C3", "C4"), "n_variables": 6, "n_facts": 8}


def row(config: TrainConfig, holdout: float, steps_to: int | None, loss: float = 1.0, **where: float) -> dict[str, Any]:
    """A finished run as a sweep's table has it."""

    def asked(share: float) -> dict[str, Any]:
        return {name: proportion(share * 1000, 1000).to_dict() for name in SKILLS}

    entry = Entry(config, {}, f"seed={config.seed}")
    course = {
        "holdout": [[100, 0.1], [steps_to or 5000, holdout]],
        "loss": [[20 * i, loss + 1 / i] for i in range(1, 11)],
    }
    return {
        "id": entry.id, "name": entry.name, "config": config.to_dict(), "varies": {}, "done": True,
        "final": asked(holdout), "steps_to": {"0.9": steps_to, "0.99": None}, "course": course, "step": config.steps,
        "evaluations": {name: asked(share) for name, share in where.items()}, "clock": {"training_seconds": 5.0},
    }  # fmt: skip


def table(path: Path, rows: list[dict[str, Any]]) -> Runs:
    waiting = {"id": "0" * 12, "name": "waits", "config": TrainConfig().to_dict(), "varies": {}, "done": False}
    write_json(path, {"sweep": path.stem, "runs": [*rows, waiting]})
    return Runs((str(path),))


def shaped(layers: int, heads: int, width: int, **changes: Any) -> TrainConfig:
    return TrainConfig(n_layers=layers, n_heads=heads, d_model=width, **changes)


def verdicts(result: Result) -> dict[str, str]:
    claims = [claim for claim in load_claims() if claim.experiment == result.experiment]
    return {claim.id: decide(claim, result).verdict for claim in claims}


def page_of(result: Result, out: Path) -> str:
    stamped = Result(**{**vars(result), "provenance": {"seconds": 1.0, "machine": "m", "commit": None}})
    write_result(out / "results", stamped)
    return build_report(out, out / "results", None).read_text()


# --- architecture ---------------------------------------------------------------------------------------------------


def paper_like() -> list[dict[str, Any]]:
    narrow = [
        row(shaped(4, 8, 128, seed=seed), 0.13, None, final=share) for seed, share in enumerate((0.1, 0.13, 0.16))
    ]
    return [
        row(shaped(4, 8, 1024), 0.99, 900, final=0.994),
        row(shaped(2, 8, 1024), 0.93, 1800, final=0.935),
        row(shaped(4, 2, 1024), 0.99, None, final=0.99),
        row(shaped(4, 8, 256), 0.6, None, final=0.61),
        row(shaped(4, 8, 512), 0.96, 1000, final=0.969),
        *narrow,
    ]


def test_a_table_like_the_papers_reproduces_it(tmp_path: Path) -> None:
    result = architecture.run("quick", 0, table(tmp_path / "t.json", paper_like()))
    found = verdicts(result)
    missing = {f"S1.{name}" for name in ("l6", "l8", "l10", "h4", "d2048")}
    assert {claim for claim, verdict in found.items() if verdict == "not measured"} == missing
    columns = {"S1.associate_column", "S1.other_columns"}  # all skills of these rows are equal
    single = {"S1.layers", "S1.heads"}  # three seeds of each setting are asked for
    assert {found[claim] for claim in single} == {"undecided"}
    assert {verdict for claim, verdict in found.items() if claim not in missing | columns | single} == {"reproduced"}
    assert result.values["d128.holdout"].value == pytest.approx(0.13)
    assert result.values["d128.holdout"].n == 3000
    assert result.values["l4.holdout"] == result.values["h8.holdout"] == result.values["d1024.holdout"]
    assert "d128.steps_to_90" not in result.values
    html = page_of(result, tmp_path)
    assert "5 of 11 settings are not measured yet" in html
    assert "never in 3 of 3" in html


def test_a_recipe_that_trains_narrow_models_refutes_that_they_fail(tmp_path: Path) -> None:
    rows = [
        row(shaped(4, 8, 1024), 0.99, 900),
        row(shaped(2, 8, 1024), 0.99, 500),
        row(shaped(4, 8, 128), 0.9, 1500),
        row(shaped(4, 8, 256), 0.99, 1000),
    ]
    result = architecture.run("quick", 0, table(tmp_path / "t.json", rows))
    found = verdicts(result)
    assert [found[f"S1.{name}"] for name in ("d128", "d256")] == ["differs"] * 2
    assert [found[f"S1.{name}"] for name in ("d512", "heads")] == ["not measured"] * 2
    html = page_of(result, tmp_path)
    assert "can learn with our recipe" in " ".join(html.split())
    assert is_papers_world(result.config)
    notes = re.findall(r'<li id="note-[^>]*>([^<]*)\.</li>', html)
    reasons = {item.why[:1].upper() + item.why[1:] for item in load_claims() if item.why}
    assert notes  # why some are undecided
    assert not reasons & set(notes)  # which are about our own sweep


def test_the_world_of_a_sweep_is_told_without_what_it_varies() -> None:
    rows = [row(TrainConfig(p_mix=p), 0.9, None) for p in (0.0, 1.0)]
    whole = World().to_dict()
    assert world_of(rows, "p_mix") == {key: value for key, value in whole.items() if key != "p_mix"}
    assert world_of(rows) == {**whole, "p_mix": [0.0, 1.0]}


def test_steps_of_unequal_schedules_are_not_compared(tmp_path: Path) -> None:
    rows = [row(shaped(4, 8, 1024), 0.99, 900), row(shaped(2, 8, 1024, steps=500), 0.93, None)]
    result = architecture.run("quick", 0, table(tmp_path / "t.json", rows))
    assert "fewer_layers_later" not in result.values
    assert "steps (width 1024: " in page_of(result, tmp_path)


def test_later_counts_never_as_last() -> None:
    never = float("inf")
    assert [later(900, 800), later(800, 900), later(never, 900), later(900, never)] == [True, False, True, False]
    assert [later(never, never), later(None, 900), later(900, None)] == [None] * 3


def test_a_command_names_no_folder_of_one_machine(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    given = table(tmp_path / "mine" / "table.json", paper_like())
    command = architecture.run("quick", 0, given).command
    assert command == "icalgebra reproduce --tier quick --only architecture --seed 0 --runs runs/mine"


def test_every_published_setting_has_its_label() -> None:
    assert {label for setting in published_table() for label in labels(setting)} == {
        *(f"l{n}" for n in (2, 4, 6, 8, 10)), "h2", "h4", "h8", *(f"d{n}" for n in (128, 256, 512, 1024, 2048)),
    }  # fmt: skip
    assert published_table()[(4, 8, 128)] == {
        "holdout": 13.3, "copy": 9.4, "commute": 17.2, "identity": 62.5, "associate": 17.2, "closure": 51.6,
    }  # fmt: skip


def test_seeds_span_from_the_lowest_to_the_highest() -> None:
    assert across_seeds([Estimate(0.2, 0.1, 0.3, 10), Estimate(0.6, 0.5, 0.7, 10)]) == Estimate(0.4, 0.1, 0.7, 20)


@pytest.mark.parametrize("module", [architecture, mixing])
def test_a_table_without_the_needed_runs_is_refused(tmp_path: Path, module: Any) -> None:
    sizes = {} if module is architecture else {"n": 2}
    with pytest.raises(InputError, match="no run of this sweep is done"):
        module.run("quick", 0, table(tmp_path / "t.json", []), **sizes)
    other = row(shaped(3, 3, 48, p_mix=0.1), 0.5, None)
    with pytest.raises(InputError, match="has no run"):
        module.run("quick", 0, table(tmp_path / "t.json", [other]), **sizes)
    (tmp_path / "t.json").write_text("[]")
    with pytest.raises(InputError, match="is not the table of a sweep"):
        module.run("quick", 0, Runs((str(tmp_path / "t.json"),)), **sizes)


@pytest.mark.parametrize("missing", ["done", "config", "name", "course"])
def test_an_incomplete_row_is_refused(tmp_path: Path, missing: str) -> None:
    rows = [{key: value for key, value in found.items() if key != missing} for found in paper_like()[:1]]
    with pytest.raises(InputError, match=f"runs.0..*{missing} is missing"):
        finished_rows(table(tmp_path / "t.json", rows))


def test_a_config_from_before_a_field_was_added_is_read_in_full(tmp_path: Path) -> None:
    (older, *_) = paper_like()
    del older["config"]["float8"]
    (found,) = finished_rows(table(tmp_path / "t.json", [older]))
    assert found["config"] == shaped(4, 8, 1024).to_dict()


# --- mixing ---------------------------------------------------------------------------------------------------------


def mixed(losses: dict[float, float], steps: dict[float, int | None], p7: dict[float, float]) -> list[dict[str, Any]]:
    return [
        row(TrainConfig(**WORLD, p_mix=p), 0.9, steps[p], loss=losses[p], own=0.9, p7=p7[p]) for p in losses
    ]  # fmt: skip


LOSSES = {0.0: 1.0, 0.3: 1.1, 0.5: 1.2, 0.7: 1.3, 1.0: 1.4}
STEPS = {0.0: None, 0.3: 900, 0.5: 800, 0.7: 700, 1.0: 700}
ONE_SEED = dict.fromkeys(("S2.plateaus", "S2.earlier", "S2.trend"), "undecided")  # three of each are asked for
AT_P7 = {0.0: 0.5, 0.3: 0.8, 0.5: 0.9, 0.7: 0.95, 1.0: 0.97}


def test_mixing_as_published_is_recognised(tmp_path: Path) -> None:
    result = mixing.run("quick", 0, table(tmp_path / "t.json", mixed(LOSSES, STEPS, AT_P7)), n=6)
    assert verdicts(result) == ONE_SEED | {"S2.loss": "reproduced", "S2.better": "reproduced"}
    assert result.values["p0.3.p7.copy"].value == 0.8
    assert result.values["p1.loss"].value == pytest.approx(1.4 + 1 / 9 / 2 + 1 / 10 / 2, abs=0.01)
    assert (result.values["p0.3.steps_to_50"].value, "p0.steps_to_90" in result.values) == (900, False)
    assert "p_mix 0 does not reach 90" in " ".join(page_of(result, tmp_path).split()).replace("\N{NO-BREAK SPACE}", " ")


def test_a_sweep_of_mixing_in_the_papers_world_is_a_witness(tmp_path: Path) -> None:
    rows = [row(TrainConfig(p_mix=p, n_facts=8), 0.9, 100) for p in (0.0, 1.0)]
    assert is_papers_world(mixing.run("quick", 0, table(tmp_path / "t.json", rows), n=2).config)
    rows[0]["config"]["n_variables"] = 12
    assert not is_papers_world(mixing.run("quick", 0, table(tmp_path / "t.json", rows), n=2).config)


def test_one_observation_is_shown_without_an_interval() -> None:
    assert written(mean(np.array([2.28])), "nats") == "2.280"
    assert written(mean(np.array([2.0, 3.0]))).startswith('2.50 <span class="interval">[')


def test_runs_from_before_logits_were_read_in_fp32_are_named(tmp_path: Path) -> None:
    rows = mixed(LOSSES, STEPS, AT_P7)
    for new in rows[1:]:
        new["logits"] = "fp32"
    result = mixing.run("quick", 0, table(tmp_path / "t.json", rows), n=6)
    assert result.details["in_bf16"] == ["0"]
    assert "At p_mix 0 logits were read out in bf16" in page_of(result, tmp_path).replace("\n", " ")
    rows[0]["logits"] = "fp32"
    result = mixing.run("quick", 0, table(tmp_path / "t.json", rows), n=6)
    assert "read out in bf16" not in page_of(result, tmp_path)


def test_mixing_otherwise_differs(tmp_path: Path) -> None:
    rows = mixed({**LOSSES, 0.5: 1.05}, {**STEPS, 0.0: 600}, {**AT_P7, 0.0: 0.97})
    result = mixing.run("quick", 0, table(tmp_path / "t.json", rows), n=6)
    assert verdicts(result) == ONE_SEED | {"S2.loss": "differs", "S2.better": "differs"}
    page_of(result, tmp_path)
    some = mixing.run("quick", 0, table(tmp_path / "t.json", rows[:2]), n=6)
    assert set(verdicts(some).values()) == {"not measured"}
    assert some.details["missing"] == ["0.5", "0.7", "1"]
    page_of(some, tmp_path)


def test_losses_and_steps_of_unequal_schedules_are_not_judged(tmp_path: Path) -> None:
    rows = mixed(LOSSES, STEPS, AT_P7)
    rows[0]["config"]["steps"] *= 2
    result = mixing.run("quick", 0, table(tmp_path / "t.json", rows), n=6)
    found = verdicts(result)
    assert {found[f"S2.{name}"] for name in ("plateaus", "loss", "earlier")} == {"not measured"}
    assert found["S2.better"] == "reproduced"
    assert "Not all runs have the same schedule" in " ".join(page_of(result, tmp_path).split())


def test_the_floor_is_the_oracles_share_a_token() -> None:
    config = TrainConfig(**WORLD)
    tokens = sample("train", 5, 8, 0, config.world, stream="mixing/floor").tokens
    expected = slot_floors(tokens, config.world).sum() / 5 / (8 * 5 - 1)
    assert mixing.least_loss(config, 5, 0).value == pytest.approx(expected)


# --- real sweeps ----------------------------------------------------------------------------------------------------


def swept(tmp_path: Path, base: TrainConfig, description: dict[str, Any]) -> Path:
    write_json(tmp_path / "base.json", base.to_dict())
    write_json(tmp_path / "sweep.json", {"config": "base.json", **description})
    ended("sweep", str(tmp_path / "sweep.json"), "--out", str(tmp_path / "out"), "--device", "cpu")
    return tmp_path / "out"


def ended(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert not stopped.value.code


def test_a_real_sweep_of_architectures_comes_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where no results are committed: the page is made sooner
    runs = [
        {"n_layers": 4, "n_heads": 8, "d_model": 128, "seeds": [0, 1]},
        {"n_layers": 4, "n_heads": 8, "d_model": 256},
    ]
    out = swept(tmp_path, MICRO.with_changes(steps=3), {"runs": runs, "evaluate": {"final": {"eval_n": 20}}})
    ended(
        "reproduce",
        "--only",
        "architecture",
        "--runs",
        str(out),
        "--out",
        str(tmp_path / "page"),
        "--alone",
        "--device",
        "cpu",
    )
    result = read_result(tmp_path / "page/results/quick/out/architecture.json")
    assert (result.values["d128.holdout"].n, result.values["d256.holdout"].n) == (40, 20)
    assert verdicts(result)["S1.d512"] == "not measured"
    assert [run["recipe"]["steps"] for run in result.details["runs"]] == [3, 3, 3]


def test_a_real_sweep_of_mixing_comes_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where no results are committed: the page is made sooner
    evaluate = {"own": {}, "p7": {"p_mix": 0.7}}
    base = COURSE.with_changes(steps=3, log_checkpoints=0)
    out = swept(tmp_path, base, {"grid": {"p_mix": [0.0, 1.0]}, "evaluate": evaluate})
    ended(
        "reproduce",
        "--only",
        "mixing",
        "--runs",
        str(out),
        "--out",
        str(tmp_path / "page"),
        "--alone",
        "--device",
        "cpu",
    )
    result = read_result(tmp_path / "page/results/quick/out/mixing.json")
    assert {"p0.own.holdout", "p1.p7.holdout", "one_beats_zero"} <= set(result.values)
    assert result.values["p0.regret"].value > 0
    html = (tmp_path / "page/report.html").read_text()
    assert "This model's world is not the paper's" in html
    assert "nan" not in html
    assert not re.search(r'data-class="(reproduced|differs)"', html), "another world is shown, not judged"
