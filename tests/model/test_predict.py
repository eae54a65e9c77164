"""Running a model: one rule for batch sizes, one readout of logits."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import icalgebra
from icalgebra.language.vocabulary import EQUALS, FACT_LENGTH
from icalgebra.model.partial_pass import Branches
from icalgebra.model.predict import FORWARD, RESUMED, chunks, on_device, rows_per_pass, variable_logits
from icalgebra.model.transformer import Transformer
from training_helpers import MICRO

PROMPTS = icalgebra.sample("holdout", 11, 6, world=MICRO.world).prompts


@pytest.fixture(scope="module")
def model() -> Transformer:
    return Transformer(MICRO.model, seed=1).eval()


def placed(device: str) -> Transformer:
    """A model that claims to be on a device which this machine may lack."""

    class Placed(Transformer):
        unembedding = SimpleNamespace(device=torch.device(device))

    return Placed(MICRO.model)


@pytest.mark.parametrize("budget", [FORWARD, RESUMED])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("tokens", [1, 4, 99, 999, 10**6])
def test_a_pass_holds_as_many_rows_as_the_devices_budget_and_at_least_one(device: str, tokens: int, budget) -> None:
    rows = rows_per_pass(placed(device), tokens, budget)
    assert rows >= 1
    assert rows * tokens <= budget[device] or rows == 1
    assert (rows + 1) * tokens > budget[device]


def test_other_devices_take_the_cpus_budget() -> None:
    assert rows_per_pass(placed("mps"), 100) == rows_per_pass(placed("cpu"), 100)
    assert rows_per_pass(placed("cuda"), 100) > rows_per_pass(placed("cpu"), 100)


@pytest.mark.parametrize("n, size", [(0, 3), (2, 3), (6, 3), (7, 3), (7, 1)])
def test_chunks_go_through_all_rows_in_order(n: int, size: int) -> None:
    found = [np.arange(n)[rows] for rows in chunks(n, size)]
    assert np.concatenate([[], *found]).tolist() == list(range(n))
    assert all(0 < len(part) <= size for part in found)


@torch.no_grad()
def test_logits_are_the_models_own_at_the_chosen_places(model: Transformer) -> None:
    plain = model(on_device(model, PROMPTS))[..., : MICRO.n_variables].numpy()
    np.testing.assert_allclose(variable_logits(model, PROMPTS)[:, 0], plain[:, -1], atol=1e-5)
    every = slice(EQUALS, None, FACT_LENGTH)
    np.testing.assert_allclose(variable_logits(model, PROMPTS, every), plain[:, every], atol=1e-5)
    np.testing.assert_allclose(variable_logits(model, PROMPTS, every, batch_size=2), plain[:, every], atol=1e-5)
    assert variable_logits(model, PROMPTS[:0], every).shape == (0, 6, MICRO.n_variables)


@torch.no_grad()
def test_positions_and_branches_reach_the_model(model: Transformer) -> None:
    length, n_trunk = PROMPTS.shape[1], 20
    positions, blind = 3 * torch.arange(length), torch.eye(length, dtype=torch.bool)[n_trunk:]
    branches = Branches(n_trunk, blind)
    for given, plainly in (
        ({"positions": positions}, {"positions": positions}),
        ({"branches": branches}, {"mask": branches.full_mask()}),
    ):
        plain = model(on_device(model, PROMPTS), **plainly)[:, -1, : MICRO.n_variables].numpy()
        np.testing.assert_allclose(variable_logits(model, PROMPTS, **given)[:, 0], plain, atol=1e-5)
        assert not np.allclose(variable_logits(model, PROMPTS)[:, 0], plain, atol=1e-4)


def test_a_predictor_gives_the_softmax_of_these_logits(model: Transformer) -> None:
    logits = variable_logits(model, PROMPTS)[:, 0].astype(np.float64)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(icalgebra.as_predictor(model)(PROMPTS), odds / odds.sum(1, keepdims=True), atol=1e-6)


def test_bf16_is_an_option_that_agrees_where_the_model_is_sure() -> None:
    model, prompts = icalgebra.load_model("small"), icalgebra.sample("holdout", 24, 60, seed=3).prompts
    exact, quick = (icalgebra.as_predictor(model, precision=p)(prompts) for p in ("fp32", "bf16"))
    assert not np.array_equal(exact, quick)  # it does run in 16 bits
    sure = exact.max(axis=1) > 0.9
    assert sure.sum() >= 10
    assert (exact.argmax(axis=1) == quick.argmax(axis=1))[sure].all()
