"""Training: what determines a run and what does not, resuming, the presets, several processes."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from icalgebra import load_model
from icalgebra.data.dataset import SequenceDataset
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.language.world import WORLD_FIELDS, World
from icalgebra.model.checkpoints import find_checkpoint
from icalgebra.train import PRESETS, TrainConfig, preset, train
from icalgebra.train.config import RENAMED, log_spaced
from icalgebra.train.data import training_batches
from icalgebra.train.distributed import Ranks
from icalgebra.train.optimisers import Optimisers, lr_scale
from training_helpers import MICRO, checkpoint_names, losses, records, same_weights

CPU = torch.device("cpu")
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["icalgebra.train"])
SCRIPTS = Path(__file__).parents[2] / "scripts"


class Stopped(Exception):
    pass


def stop_at(step: int):
    """A callback that interrupts the run, as a crash would, without a last checkpoint."""

    def callback(record: dict, model: torch.nn.Module) -> None:
        if record["step"] == step:
            raise Stopped

    return callback


def test_the_same_config_gives_the_same_metrics_and_weights(tmp_path: Path) -> None:
    one, two = (train(MICRO, tmp_path / name, device="cpu") for name in "ab")
    assert records(tmp_path / "a") == records(tmp_path / "b")
    assert same_weights(one.model, two.model)
    assert one.step == MICRO.steps


def test_evaluation_cadence_changes_no_batch_and_no_weight(tmp_path: Path) -> None:
    one = train(MICRO, tmp_path / "a", device="cpu")
    other = train(MICRO.with_changes(eval_every=1, checkpoint_every=0, log_every=3), tmp_path / "b", device="cpu")
    assert same_weights(one.model, other.model)


def test_the_seed_changes_data_and_weights(tmp_path: Path) -> None:
    one, two = (train(MICRO.with_changes(steps=1, seed=seed), device="cpu") for seed in (0, 1))
    assert not same_weights(one.model, two.model)
    batches = [next(training_batches(MICRO.with_changes(seed=seed), 0, Ranks(), CPU)) for seed in (0, 1)]
    assert not torch.equal(*batches)


def test_step_t_reads_its_own_rows_of_the_stream() -> None:
    expected = sample("train", 24, MICRO.n_facts, MICRO.seed, MICRO.world).tokens
    made = list(training_batches(MICRO.with_changes(steps=3), 0, Ranks(), CPU))
    assert torch.equal(torch.cat(made), torch.from_numpy(expected))
    assert torch.equal(next(training_batches(MICRO, 2, Ranks(), CPU)), made[2])
    shares = [next(training_batches(MICRO, 1, Ranks(rank, 2), CPU)) for rank in range(2)]
    assert torch.equal(torch.cat(shares), made[1])
    dataset = SequenceDataset("train", MICRO.batch_size, MICRO.n_facts, MICRO.seed, MICRO.world)
    assert torch.equal(dataset.batch(1), made[1].long())


@pytest.mark.parametrize("optimiser", ["muon", "adamw"])
@pytest.mark.parametrize("broken_off", [1, 3, 5])
def test_a_resumed_run_is_the_uninterrupted_run(tmp_path: Path, optimiser: str, broken_off: int) -> None:
    config = MICRO.with_changes(optimiser=optimiser)
    whole = train(config, tmp_path / "whole", device="cpu")
    with pytest.raises(Stopped):
        train(config, tmp_path / "run", device="cpu", callback=stop_at(broken_off))
    resumed = train(resume=tmp_path / "run", device="cpu")
    assert same_weights(whole.model, resumed.model)
    assert records(tmp_path / "run") == records(tmp_path / "whole")
    files = [tmp_path / run / "checkpoints/step_000006/trainer.safetensors" for run in ("run", "whole")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    train(MICRO, tmp_path / "run", device="cpu")
    before = (tmp_path / "run/metrics.jsonl").read_text()
    result = train(resume=tmp_path / "run", device="cpu")
    assert result.final["step"] == MICRO.steps
    assert (tmp_path / "run/metrics.jsonl").read_text() == before


def with_first_names(config: TrainConfig) -> dict:
    """The config as versions before the renaming saved it."""
    first_names = {new: old for old, new in RENAMED.items()}
    return {first_names.get(name, name): value for name, value in as_saved(config).items()}


as_saved = TrainConfig.to_dict


@pytest.mark.parametrize("named", ["run and checkpoints", "run", "checkpoints"])
def test_a_run_of_an_earlier_version_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    """Its config.json, or its checkpoints (a run that was resumed once has both kinds), have the former names."""
    config = MICRO.with_changes(mixture_rule="stop", keep_checkpoints=1, log_checkpoints=2)
    whole = train(config, tmp_path / "whole", device="cpu")
    with monkeypatch.context() as earlier:
        if "checkpoints" in named:
            earlier.setattr(TrainConfig, "to_dict", with_first_names)
        with pytest.raises(Stopped):
            train(config, tmp_path / "run", device="cpu", callback=stop_at(5))
    saved = with_first_names(config) if "run" in named else config.to_dict()
    (tmp_path / "run/config.json").write_text(json.dumps(saved))
    assert ("draw" in find_checkpoint(tmp_path / "run").config) == ("checkpoints" in named)
    resumed = train(resume=tmp_path / "run", device="cpu")
    assert resumed.config == config
    assert same_weights(whole.model, resumed.model)
    assert records(tmp_path / "run") == records(tmp_path / "whole")
    assert checkpoint_names(tmp_path / "run") == checkpoint_names(tmp_path / "whole")


def test_configs_with_former_names_mean_the_same() -> None:
    config = MICRO.with_changes(draw="stop", ladder=4, keep=3)
    assert (config.mixture_rule, config.log_checkpoints, config.keep_checkpoints) == ("stop", 4, 3)
    old = with_first_names(config)
    assert {"draw", "ladder", "keep"} <= set(old)
    assert TrainConfig.from_dict(old) == config
    assert config.matches(old)
    assert not MICRO.matches(old)
    with pytest.raises(InputError, match="draw is the former name of mixture_rule"):
        TrainConfig.from_dict({**old, "mixture_rule": "fit"})


def test_the_world_of_a_config_has_the_worlds_defaults() -> None:
    assert TrainConfig().world == World()
    for name, item in WORLD_FIELDS.items():
        (own,) = [field for field in fields(TrainConfig) if field.name == name]
        assert (own.default, own.metadata) == (item.default, item.metadata)
    assert TrainConfig(reserved="None").world == World(reserved=None)


@pytest.mark.parametrize("last, n", [(3000, 64), (8, 3), (5, 5), (4, 9), (100_000, 2), (7, 1), (7, 0)])
def test_log_spaced_steps_are_all_different_and_even(last: int, n: int) -> None:
    steps = log_spaced(last, n)
    assert len(steps) == len(set(steps)) == min(n, last)
    assert steps == sorted(steps)
    if n > 1:
        assert (steps[0], steps[-1]) == (1, last)
    late = [b / a for a, b in pairwise(steps) if a > 50]
    assert not late or max(late) < 1.05 * min(late)


def test_log_spaced_evaluations_come_beside_the_regular_ones(tmp_path: Path) -> None:
    train(MICRO.with_changes(steps=9, eval_every=4, eval_points=3), tmp_path / "a", device="cpu")
    assert [r["step"] for r in records(tmp_path / "a") if r["kind"] == "evaluation"] == [1, 3, 4, 8, 9]


def test_last_best_and_log_spaced_checkpoints_are_kept(tmp_path: Path) -> None:
    config = MICRO.with_changes(steps=8, eval_every=1, checkpoint_every=1, keep_checkpoints=2, log_checkpoints=3)
    train(config, tmp_path / "run", device="cpu")
    scores = {record["step"]: record["holdout"] for record in records(tmp_path / "run") if "holdout" in record}
    kept = {int(name.removeprefix("step_")) for name in checkpoint_names(tmp_path / "run")}
    assert config.log_checkpoint_steps == {1, 3, 8}
    assert {1, 3, 7, 8} <= kept
    assert max(scores.values()) in [scores[step] for step in kept]
    assert len(kept) <= 5


def test_a_callback_stops_the_run_with_a_checkpoint(tmp_path: Path) -> None:
    result = train(MICRO, tmp_path / "run", device="cpu", callback=lambda record, model: record["step"] == 3)
    assert result.step == 3
    assert same_weights(load_model(tmp_path / "run"), result.model)


def test_micro_batches_give_the_same_gradient(tmp_path: Path) -> None:
    config = MICRO.with_changes(optimiser="adamw")
    for name, changes in {"one": {}, "four": {"micro_batches": 4}}.items():
        train(config.with_changes(**changes), tmp_path / name, device="cpu")
    assert losses(tmp_path / "one") == pytest.approx(losses(tmp_path / "four"), abs=1e-5)


def test_a_weight_on_answers_changes_what_is_learned_and_not_how_it_is_logged(tmp_path: Path) -> None:
    for name, weight in {"plain": 1.0, "weighted": 8.0}.items():
        train(MICRO.with_changes(answer_weight=weight, log_every=1), tmp_path / name, device="cpu")
    plain, weighted = losses(tmp_path / "plain"), losses(tmp_path / "weighted")
    assert weighted[0] == plain[0]  # before the first step the models are the same
    assert weighted[2:] != pytest.approx(plain[2:], abs=1e-4)
    with pytest.raises(InputError, match="answer_weight is too small: -1"):
        MICRO.with_changes(answer_weight=-1.0)


def train_as_rank(rank: int, port: int, config: TrainConfig, out: Path) -> None:
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()})
    torch.set_num_threads(1)
    train(config, out, device="cpu")


def test_two_processes_agree_with_one(tmp_path: Path) -> None:
    config = MICRO.with_changes(optimiser="adamw", steps=4, micro_batches=2, answer_weight=3.0)
    alone = train(config, tmp_path / "alone", device="cpu")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [PROCESSES.Process(target=train_as_rank, args=(i, port, config, tmp_path / "two")) for i in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(timeout=120)
    assert [process.exitcode for process in ranks] == [0, 0]
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "alone"), abs=1e-5)
    for one, other in zip(alone.model.parameters(), load_model(tmp_path / "two").parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-4)


def test_killed_runs_resume_to_the_same_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of the moments that scripts/kill_and_resume.py tries by the dozen."""
    monkeypatch.syspath_prepend(SCRIPTS)
    script = importlib.import_module("kill_and_resume")
    reference = script.finished(script.start, tmp_path / "reference")
    moments = random.Random(0)
    for i in range(3):
        delay = moments.uniform(0, 0.8 * script.duration(reference))
        script.killed_and_resumed(tmp_path / f"run{i}", delay, while_writing=i == 1)
        assert script.outcome(tmp_path / f"run{i}") == script.outcome(reference)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_trains(name: str, tmp_path: Path) -> None:
    reduced = preset(name).with_changes(steps=2, d_model=32, n_facts=12, batch_size=4, eval_n=4, eval_facts=[6])
    result = train(reduced, tmp_path / "run", device="cpu")
    assert 0.0 <= result.final["holdout"] <= 1.0
    assert load_model(tmp_path / "run").config == reduced.model


def test_the_papers_preset_is_the_papers_recipe() -> None:
    paper = PRESETS["paper"]
    assert lr_scale(0, paper) == 1e-4
    assert lr_scale(500, paper) == pytest.approx(0.50005)
    assert lr_scale(1000, paper) == 1.0
    assert lr_scale(200_000, paper) == pytest.approx(0.0, abs=1e-9)
    recipe = (paper.optimiser, paper.lr, paper.weight_decay, paper.clip, paper.precision)
    assert recipe == ("adamw", 1e-5, 0.01, 0.0, "fp32")


def test_the_published_preset_is_the_papers_recipe_in_bf16_cut_short() -> None:
    paper, published = PRESETS["paper"], PRESETS["published"]
    same = ("optimiser", "lr", "weight_decay", "clip", "warmup", "warmup_from", "schedule", "answer_weight", "residual")
    assert all(getattr(paper, name) == getattr(published, name) for name in same)
    assert (paper.world, paper.model, paper.batch_size) == (published.world, published.model, published.batch_size)
    assert all(lr_scale(step, paper) == lr_scale(step, published) for step in range(published.steps))
    assert published.precision == "bf16"
    assert not published.float8


def test_the_optimisers_control_differs_in_the_optimiser_alone() -> None:
    optimiser = {"optimiser": "adamw", "lr": PRESETS["adamw256"].lr}
    assert PRESETS["sprint"].with_changes(**optimiser) == PRESETS["adamw256"]


def test_a_schedule_shorter_than_the_run_is_refused() -> None:
    with pytest.raises(InputError, match="schedule_steps must be 0 or at least steps"):
        MICRO.with_changes(schedule_steps=MICRO.steps - 1)


def test_muon_takes_the_blocks_matrices_and_nothing_else() -> None:
    model = train(MICRO.with_changes(steps=1), device="cpu").model
    names = Optimisers(model, MICRO).names
    assert all(name.startswith("blocks.") and name.endswith("weight") for name in names["muon"])
    assert len(names["muon"]) == 6 * MICRO.n_layers
    assert "embed.weight" in names["adamw"]


def test_training_needs_torch_numpy_numba_and_safetensors_alone() -> None:
    absent = "tyro", "rich", "jaxtyping", "sklearn", "scipy", "matplotlib", "jinja2"
    program = f"import sys; sys.modules.update(dict.fromkeys({absent})); import icalgebra.train"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_configs_are_strict_and_travel_as_json(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(MICRO.to_dict()))
    assert TrainConfig.load(tmp_path / "config.json") == MICRO
    with pytest.raises(InputError, match="did you mean 'd_model'"):
        TrainConfig.from_dict({"d_modle": 3})
    wrong_types = {"steps": "10"}, {"steps": 1.5}, {"optimiser": "sgd"}, {"structures": [3]}, {"d2": 1}
    for wrong in (*wrong_types, {"steps": 0}, {"seed": 2**64}, {"rope_base": 0.0}, {"rope_base": float("nan")}):
        with pytest.raises(InputError):
            MICRO.with_changes(**wrong)
