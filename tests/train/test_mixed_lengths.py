"""Lengths mixed within a run, and rows that show every fact once: pure functions of seed, stream and row."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers import assert_follows
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.train import TrainConfig, train
from icalgebra.train import step as steps_module
from icalgebra.train.data import training_rows
from icalgebra.train.distributed import Ranks
from icalgebra.train.loop import Trainer
from icalgebra.train.speedrun import flops_a_sequence, flops_before, warm_up
from training_helpers import MICRO, records, same_weights

# 8 sequences of 8 facts, or 16 of 4, or 4 of 16: 64 facts in every step.
MIXED = MICRO.with_changes(lengths=((4, 0.5), (8, 0.3), (16, 0.2)), steps=12, checkpoint_every=3)


class Stopped(Exception):
    pass


def test_the_length_of_a_step_depends_on_seed_and_step_alone() -> None:
    lengths = [MIXED.facts_at(step) for step in range(12)]
    longer = MIXED.with_changes(steps=4000, batch_size=16, once_share=0.5)
    assert [longer.facts_at(step) for step in range(12)] == lengths
    other = MIXED.with_changes(steps=4000, seed=1)
    assert [other.facts_at(step) for step in range(12)] != lengths
    assert_follows((longer.facts_at(step) for step in range(4000)), dict(MIXED.lengths))
    pairs = [(longer.facts_at(step), longer.facts_at(step + 1)) for step in range(3999)]
    assert_follows(pairs, {(a, b): p * q for a, p in MIXED.lengths for b, q in MIXED.lengths})


def test_every_step_has_the_same_number_of_tokens() -> None:
    for step in range(12):
        rows = training_rows(MIXED, step, Ranks())
        assert rows.shape == (64 // MIXED.facts_at(step), 5 * MIXED.facts_at(step))
    assert [MIXED.tokens_before(step) for step in range(13)] == [320 * step for step in range(13)]
    counted = sum(64 // k * flops_a_sequence(MIXED.model, k) for k in map(MIXED.facts_at, range(7)))
    assert flops_before(MIXED, 7) == pytest.approx(counted)


def test_lengths_that_do_not_divide_the_tokens_are_rounded_down() -> None:
    config = MICRO.with_changes(lengths=((3, 1.0),))
    assert config.rows_of(3) == 21
    assert config.tokens_before(2) == 2 * 21 * 15


def test_rows_are_those_of_a_stream_per_length_and_no_row_comes_twice() -> None:
    for step in range(12):
        facts, rows = MIXED.facts_at(step), MIXED.rows_of(MIXED.facts_at(step))
        expected = sample("train", rows, facts, MIXED.seed, MIXED.world, stream=f"train/{facts}", start=step * rows)
        assert np.array_equal(training_rows(MIXED, step, Ranks()).numpy(), expected.tokens)
    batches = [training_rows(MIXED, step, Ranks()) for step in range(12)]
    assert all(not torch.equal(a, b) for a, b in pairwise(batches))
    shares = [training_rows(MIXED, 0, Ranks(rank, 2)) for rank in range(2)]
    assert torch.equal(torch.cat(shares), batches[0])


def test_a_share_of_the_rows_shows_every_fact_once() -> None:
    config = MIXED.with_changes(once_share=0.25, steps=200)
    n_once = n_rows = 0
    for step in range(200):
        facts, rows = config.facts_at(step), config.rows_of(config.facts_at(step))
        where = {"start": step * rows, "seed": config.seed, "world": config.world, "n": rows, "n_facts": facts}
        plain = sample("train", stream=f"train/{facts}", **where).tokens
        once = sample("once", stream=f"train/{facts}/once", **where).tokens
        found = training_rows(config, step, Ranks()).numpy()
        is_plain, is_once = (found == plain).all(1), (found == once).all(1)
        assert (is_plain ^ is_once).all()
        n_once, n_rows = n_once + is_once.sum(), n_rows + rows
        halves = [training_rows(config, step, Ranks(rank, 2)) for rank in range(2)]
        assert np.array_equal(torch.cat(halves).numpy(), found)
    assert n_once / n_rows == pytest.approx(0.25, abs=0.03)


def test_a_share_of_one_is_the_distribution_itself() -> None:
    config = MICRO.with_changes(once_share=1.0)
    expected = sample("once", 8, 8, config.seed, config.world, stream="train/once", start=16).tokens
    assert np.array_equal(training_rows(config, 2, Ranks()).numpy(), expected)


@pytest.mark.parametrize("broken_off", [2, 5, 10])
def test_a_resumed_run_of_mixed_lengths_is_the_uninterrupted_run(tmp_path: Path, broken_off: int) -> None:
    config = MIXED.with_changes(once_share=0.5, n_layers=4, n_loops=2)
    whole = train(config, tmp_path / "whole", device="cpu")

    def interrupt(record: dict, model: torch.nn.Module) -> None:
        if record["step"] == broken_off:
            raise Stopped

    with pytest.raises(Stopped):
        train(config, tmp_path / "run", device="cpu", callback=interrupt)
    resumed = train(resume=tmp_path / "run", device="cpu")
    assert same_weights(whole.model, resumed.model)
    assert records(tmp_path / "run") == records(tmp_path / "whole")
    for name in ("trainer.safetensors", "model.safetensors"):
        files = [tmp_path / run / "checkpoints/step_000012" / name for run in ("run", "whole")]
        assert files[0].read_bytes() == files[1].read_bytes()


class FakeGraph:
    """Stands for a CUDA graph: records which shape it was captured for, and runs the step when replayed."""

    def __init__(self, step: steps_module.TrainStep, batch: torch.Tensor) -> None:
        self.step, self.shape, self.replays = step, batch.shape, 0

    def replay(self, batch: torch.Tensor) -> torch.Tensor:
        assert batch.shape == self.shape
        self.replays += 1
        return self.step.run(batch)


def captured(config: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[int, FakeGraph], torch.nn.Module]:
    monkeypatch.setattr(steps_module, "CudaGraphStep", FakeGraph)
    trainer = Trainer(config, torch.device("cpu"), Ranks(), None)
    trainer.train_step.captures = True
    trainer.train(lambda record, model: False)
    return {shape[1] // 5: graph for shape, graph in trainer.train_step.captured.items()}, trainer.model


def test_a_graph_is_captured_for_every_length_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    config = MIXED.with_changes(steps=40, eval_every=0)
    graphs, model = captured(config, monkeypatch)
    lengths = [config.facts_at(step) for step in range(40)]
    assert {facts: graph.replays for facts, graph in graphs.items()} == {
        facts: lengths.count(facts) - steps_module.EAGER_STEPS for facts in (4, 8, 16)
    }
    assert same_weights(model, train(config, device="cpu").model)


def test_the_graph_of_a_short_phase_is_dropped_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, _ = captured(MICRO.with_changes(short_facts=4, short_steps=5, steps=12, eval_every=0), monkeypatch)
    assert list(graphs) == [8]


def test_a_warm_up_meets_every_length(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    monkeypatch.setattr(steps_module.TrainStep, "run", lambda self, batch: seen.add(tuple(batch.shape)) or batch.sum())
    warm_up(MIXED, "cpu")
    assert seen == {(16, 20), (8, 40), (4, 80)}


WRONG = {
    "the probabilities of lengths must add up to 1, not to 0.8": {"lengths": [[4, 0.5], [8, 0.3]]},
    "each number of facts may occur only once": {"lengths": [[4, 0.5], [4, 0.5]]},
    "give lengths or short_steps, not both": {"lengths": [[4, 1.0]], "short_facts": 4, "short_steps": 2},
    "lengths are pairs of facts": {"lengths": [[0, 1.0]]},
    r"lengths\[0\] must be a list of 2": {"lengths": [[4]]},
    "once_share is a probability": {"once_share": 1.5},
    "once_share is too small": {"once_share": -0.5},
    "a batch of 21 sequences cannot be split into 2 micro-batches": {"lengths": [[3, 1.0]], "micro_batches": 2},
}


@pytest.mark.parametrize("complaint", WRONG)
def test_a_law_of_lengths_that_makes_no_sense_is_refused(complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        MICRO.with_changes(**WRONG[complaint])


def test_a_config_with_lengths_travels_as_json() -> None:
    plain = MIXED.to_dict()
    assert plain["lengths"] == [[4, 0.5], [8, 0.3], [16, 0.2]]
    assert TrainConfig.from_dict(plain) == MIXED
    assert MIXED.matches(plain)
