"""A partial pass gives what the whole one gives, and gives way to it where anything looks at the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import icalgebra
from icalgebra.interp import ablate, hooked
from icalgebra.language.vocabulary import EQUALS, FACT_LENGTH
from icalgebra.model import predict
from icalgebra.model.partial_pass import Branches, can_be_partial, partial_logits
from icalgebra.model.predict import on_device, variable_logits
from icalgebra.model.transformer import Transformer
from training_helpers import MICRO

PROMPTS = icalgebra.sample("holdout", 5, 8, world=MICRO.world).prompts
LENGTH = PROMPTS.shape[1]
PLACES = [slice(-1, None), slice(EQUALS, None, FACT_LENGTH), slice(None), slice(7, 9), slice(LENGTH - 12, None, 4)]
SHAPES = [MICRO.model, replace(MICRO.model, n_layers=1), replace(MICRO.model, n_layers=4, n_loops=2)]


@pytest.fixture(params=SHAPES, ids=["micro", "one layer", "looped"])
def model(request: pytest.FixtureRequest) -> Transformer:
    return Transformer(request.param, seed=1).eval()


def branches(n_trunk: int) -> Branches:
    """Each token behind the trunk attends to itself and to a part of what comes before."""
    chosen = torch.rand(LENGTH - n_trunk, LENGTH, generator=torch.Generator().manual_seed(0)) < 0.5
    mask = chosen.tril(n_trunk)
    mask[:, n_trunk:] |= torch.eye(LENGTH - n_trunk, dtype=torch.bool)
    return Branches(n_trunk, mask)


@torch.no_grad()
@pytest.mark.parametrize("places", PLACES, ids=str)
@pytest.mark.parametrize("n_trunk", [LENGTH, 30, 8])
def test_it_equals_the_whole_pass(model: Transformer, places: slice, n_trunk: int) -> None:
    tokens, behind = on_device(model, PROMPTS), None if n_trunk == LENGTH else branches(n_trunk)
    for positions in (None, 2 * torch.arange(LENGTH) + 5):
        mask = None if behind is None else behind.full_mask()
        whole = model(tokens, positions=positions, mask=mask)[:, places]
        torch.testing.assert_close(partial_logits(model, tokens, places, positions, behind), whole, atol=1e-5, rtol=0)


def test_the_shipped_model_gives_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped, prompts = icalgebra.load_model("small"), icalgebra.sample("holdout", 96, 40, seed=5).prompts
    partly = variable_logits(shipped, prompts)
    monkeypatch.setattr(predict, "can_be_partial", lambda model: False)
    wholly = variable_logits(shipped, prompts)
    assert np.array_equal(partly.argmax(-1), wholly.argmax(-1))
    np.testing.assert_allclose(partly, wholly, atol=1e-4)


@torch.no_grad()
def test_a_hooked_model_runs_as_a_whole() -> None:
    model = Transformer(MICRO.model, seed=1).eval()
    plain = variable_logits(model, PROMPTS)
    last = MICRO.model.n_layers - 1
    with hooked(model, ablate((last, 0))):
        assert not can_be_partial(model)
        changed = model(on_device(model, PROMPTS))[:, -1, : MICRO.n_variables].numpy()
        assert np.array_equal(variable_logits(model, PROMPTS)[:, 0], changed)
    assert can_be_partial(model)
    assert not np.allclose(plain[:, 0], changed, atol=1e-4)
    model.hook_points()["hook_embed"].watched = True
    assert not can_be_partial(model)
    assert not can_be_partial(Transformer(MICRO.model).train())


@torch.no_grad()
def test_bf16_passes_are_partial_too(model: Transformer) -> None:
    tokens = on_device(model, PROMPTS)
    with torch.autocast("cpu", torch.bfloat16):
        assert can_be_partial(model)
        partly, wholly = partial_logits(model, tokens, slice(-1, None)), model(tokens)[:, -1:]
    torch.testing.assert_close(partly, wholly, atol=0.02, rtol=0)
    assert not torch.equal(partly, model(tokens)[:, -1:])
