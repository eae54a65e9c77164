"""nnsight: every hook point can be read and replaced, and its patching agrees with ours."""

import sys

import numpy as np
import pytest
import torch

import icalgebra
from icalgebra.bridges.nnsight import to_nnsight
from icalgebra.errors import InputError
from icalgebra.interp.hooks import cached, hooked
from icalgebra.interp.patching import head_sites, indirect_effects, target_probability
from icalgebra.model.predict import on_device
from icalgebra.model.transformer import ModelConfig, Transformer

WORLD = icalgebra.World(("C3", "C4"), n_variables=10)
LAZY = ("hook_attn_scores", "hook_pattern", "hook_result", "hook_scale", "hook_normalized")


@pytest.fixture(scope="module")
def model() -> Transformer:
    made = Transformer(ModelConfig(n_layers=2, n_heads=2, d_model=16, n_variables=10), seed=1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter))))
    return made.eval().requires_grad_(False)


def prompts(name: str, seed: int = 0) -> np.ndarray:
    return icalgebra.sample(name, n=4, n_facts=6, seed=seed, world=WORLD).prompts


def test_every_hook_point_can_be_read(model: Transformer) -> None:
    pytest.importorskip("nnsight")
    traced, tokens = to_nnsight(model), on_device(model, prompts("holdout"))
    with cached(model, "*") as cache:
        model(tokens)
    assert {name.split(".")[-1] for name in cache} >= set(LAZY)
    for name, ours in cache.items():
        with traced.trace(tokens):
            theirs = traced.get(name).output.save()
        assert torch.equal(theirs, ours), name


@pytest.mark.parametrize("name", LAZY)
def test_points_computed_on_demand_can_be_replaced(model: Transformer, name: str) -> None:
    pytest.importorskip("nnsight")
    part = "ln2" if name in ("hook_scale", "hook_normalized") else "attn"
    traced, tokens = to_nnsight(model), on_device(model, prompts("holdout"))
    with hooked(model, {f"blocks.1.{part}.{name}": lambda value: 0.5 * value}):
        ours = model(tokens)
    with traced.trace(tokens):
        point = traced.get(f"blocks.1.{part}.{name}")
        point.output = 0.5 * point.output
        theirs = traced.output.save()
    assert (ours - model(tokens)).abs().max() > 1e-3
    torch.testing.assert_close(theirs, ours, atol=1e-5, rtol=0)


def test_the_given_model_keeps_its_fused_kernels_and_shares_its_weights(model: Transformer) -> None:
    pytest.importorskip("nnsight")
    traced = to_nnsight(model)
    assert not any(point.is_hooked for point in model.hook_points().values())
    assert traced.embed.weight is model.embed.weight
    assert torch.equal(to_nnsight("small").embed.weight, icalgebra.load_model("small").embed.weight)


def test_every_heads_indirect_effect_is_the_same(model: Transformer) -> None:
    pytest.importorskip("nnsight")
    clean = icalgebra.sample("copy", n=4, n_facts=6, seed=1, world=WORLD)
    corrupt, targets = prompts("holdout", seed=2), torch.as_tensor(clean.answers).long()
    traced, before = to_nnsight(model), target_probability(model(on_device(model, corrupt))[:, -1:], targets)[:, 0]
    ours = indirect_effects(model, clean.prompts, corrupt, clean.answers)
    for site, effect in zip(head_sites(model), ours, strict=True):
        with traced.trace(on_device(model, clean.prompts)):
            value = traced.get(site.name).output[:, -1, site.head].save()
        with traced.trace(on_device(model, corrupt)):
            traced.get(site.name).output[:, -1, site.head] = value
            logits = traced.output.save()
        after = target_probability(logits[:, -1:], targets)[:, 0]
        np.testing.assert_allclose((after - before).numpy(), effect, atol=1e-5)


def test_a_missing_extra_is_named(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nnsight", None)
    with pytest.raises(InputError, match=r"icalgebra\[nnsight\]"):
        to_nnsight(model)
