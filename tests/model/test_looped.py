"""Blocks that run several times with the same weights: every tool agrees with the unrolled model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from icalgebra import load_model
from icalgebra.bridges.huggingface import from_huggingface, to_huggingface
from icalgebra.bridges.nnsight import watched_copy
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.interp.ablation import head_masks, mean_outputs, with_heads_replaced
from icalgebra.interp.hooks import ablate, cached, hooked
from icalgebra.interp.last_token_cache import as_run, cache_last_token
from icalgebra.interp.patching import Site, head_sites, indirect_effects, patch
from icalgebra.interp.query_cache import cache_query, resume_query
from icalgebra.language.world import World
from icalgebra.model.flops import flops_a_sequence
from icalgebra.model.looped import rolled_weights, unrolled, unrolled_weights
from icalgebra.model.transformer import ModelConfig, Transformer
from icalgebra.train import train
from icalgebra.train.float8 import Float8Linear, use_float8
from icalgebra.train.optimisers import Optimisers
from icalgebra.train.step import NextTokenLoss
from training_helpers import MICRO, same_weights

WORLD = World(("C3", "C4", "D3"), n_variables=10)
CONFIG = ModelConfig(n_layers=6, n_heads=2, d_model=16, n_variables=10, n_loops=3)


@pytest.fixture(scope="module")
def model() -> Transformer:
    made = Transformer(CONFIG, seed=1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter))))
    return made.eval().requires_grad_(False)


def prompts(name: str = "holdout", seed: int = 0) -> torch.Tensor:
    return torch.as_tensor(sample(name, 5, 8, seed, WORLD).prompts).long()


def test_a_looped_model_is_the_unrolled_one_with_copied_weights(model: Transformer) -> None:
    """Unrolled by hand: block i has the weights of block i mod 2."""
    plain = Transformer(replace(CONFIG, n_loops=1))
    assert len(plain.blocks) == len(model.blocks) == 6
    plain.embed.load_state_dict(model.embed.state_dict())
    plain.ln_final.load_state_dict(model.ln_final.state_dict())
    for i, block in enumerate(plain.blocks):
        block.load_state_dict(model.blocks[i % 2].state_dict())
    tokens = prompts()
    expected = plain.eval()(tokens)
    assert torch.equal(model(tokens), expected)
    assert torch.equal(unrolled(model)(tokens), expected)
    once = Transformer(replace(CONFIG, n_layers=2, n_loops=1))
    once.load_state_dict(model.state_dict())
    assert (once.eval()(tokens) - expected).abs().max() > 1e-2, "the later passes do something"


def test_weights_are_there_once_and_so_is_their_gradient(model: Transformer) -> None:
    two_layers = Transformer(replace(CONFIG, n_layers=2, n_loops=1))
    assert model.state_dict().keys() == two_layers.state_dict().keys()
    assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in two_layers.parameters())
    looped = Transformer(CONFIG, seed=1)
    plain = unrolled(looped)
    tokens = torch.as_tensor(sample("train", 4, 6, 0, WORLD).tokens)
    for each in (looped, plain):
        NextTokenLoss(each)(tokens)[0].backward()
    theirs = dict(plain.named_parameters())
    for name, parameter in looped.named_parameters():
        passes = [theirs[name.replace(f"blocks.{i}.", f"blocks.{i + 2 * k}.")] for i in range(2) for k in range(3)
                  if name.startswith(f"blocks.{i}.")] or [theirs[name]]  # fmt: skip
        summed = sum(one.grad for one in passes)
        torch.testing.assert_close(parameter.grad, summed, atol=1e-6, rtol=1e-4)


def test_compiling_changes_no_gradient() -> None:
    looped, compiled = Transformer(CONFIG, seed=1), Transformer(CONFIG, seed=1)
    tokens = torch.as_tensor(sample("train", 4, 6, 0, WORLD).tokens)
    NextTokenLoss(looped)(tokens)[0].backward()
    torch.compile(NextTokenLoss(compiled), dynamic=False, backend="aot_eager")(tokens)[0].backward()
    for ours, theirs in zip(looped.parameters(), compiled.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-6, rtol=1e-4)


def test_every_pass_has_hook_points_of_its_own(model: Transformer) -> None:
    tokens = prompts()
    with cached(model, "*") as ours:
        model(tokens)
    plain = unrolled(model)
    with cached(plain, "*") as theirs:
        plain(tokens)
    assert list(ours) == list(theirs)
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    names = [f"blocks.{i}.attn.hook_z" for i in range(6)]
    assert names == [name for name in ours if name.endswith("hook_z")]
    assert not torch.equal(ours["blocks.0.attn.hook_z"], ours["blocks.2.attn.hook_z"])
    for layer in (0, 2, 4):  # a change in one pass is not one in the others
        with hooked(model, ablate((layer, 1))):
            changed = model(tokens)
        with hooked(plain, ablate((layer, 1))):
            torch.testing.assert_close(changed, plain(tokens))
    assert set(watched_copy(model).hook_points()) == set(model.hook_points())


def test_patching_is_a_plain_hook_in_every_pass(model: Transformer) -> None:
    clean, corrupt = prompts("copy", 1), prompts("holdout", 2)
    targets = sample("copy", 5, 8, 1, WORLD).answers
    fast = indirect_effects(model, clean, corrupt, targets)
    slow = indirect_effects(model, clean, corrupt, targets, [replace(s, position=None) for s in head_sites(model)])
    assert fast.shape == slow.shape == (12, 5)
    plain = indirect_effects(unrolled(model), clean, corrupt, targets)
    torch.testing.assert_close(torch.as_tensor(fast), torch.as_tensor(plain), atol=1e-6, rtol=1e-4)
    source = as_run(model, clean)
    for layer in range(6):
        with hooked(model, {f"blocks.{layer}.attn.hook_z": swapped(source.z[:, layer], head=1)}):
            expected = model(corrupt)[:, -1]
        torch.testing.assert_close(patch(model, clean, corrupt, (layer, 1)), expected, atol=1e-5, rtol=1e-4)
        assert Site(f"blocks.{layer}.attn.hook_z", 1) in head_sites(model)


def swapped(source: torch.Tensor, head: int):
    def change(value: torch.Tensor) -> torch.Tensor:
        value = value.clone()
        value[:, -1, head] = source[:, head]
        return value

    return change


@pytest.mark.parametrize("layer", range(6))
def test_a_resumed_query_is_a_plain_run_with_a_hook(model: Transformer, layer: int) -> None:
    tokens, name = prompts(), f"blocks.{layer}.hook_mlp_out"
    found = resume_query(model, cache_query(model, tokens), {name: lambda value: 0.5 * value})[:, 0]
    with hooked(model, {name: lambda value: torch.cat([value[:, :-4], 0.5 * value[:, -4:]], 1)}):
        expected = model(tokens)[:, -1]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_ablation_is_a_plain_hook(model: Transformer) -> None:
    tokens = prompts()
    means = mean_outputs(model, prompts("train", 3))
    run = cache_last_token(model, tokens, keys=True)
    heads = [(0, 1), (2, 0), (5, 1)]
    found = with_heads_replaced(model, run, means[None].expand(5, -1, -1, -1), head_masks(model, [heads]))[:, 0]
    changes = {f"blocks.{layer}.attn.hook_z": at_the_end(means, layer, head) for layer, head in heads}
    with hooked(model, changes):
        expected = model(tokens)[:, -1]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def at_the_end(means: torch.Tensor, layer: int, head: int):
    return swapped(means[layer][None], head)


def test_checkpoints_optimisers_and_8_bits(tmp_path: Path) -> None:
    config = MICRO.with_changes(n_layers=4, n_loops=2, steps=3)
    result = train(config, tmp_path / "run", device="cpu")
    loaded = load_model(tmp_path / "run")
    assert loaded.config == config.model
    assert same_weights(loaded, result.model)
    tokens = torch.zeros(1, 5, dtype=torch.long)
    assert torch.equal(loaded(tokens), result.model.eval()(tokens))
    with torch.no_grad():  # still one weight after loading
        before = loaded(tokens)
        loaded.blocks[0].mlp.down.weight.zero_()
        assert torch.equal(loaded.blocks[2].mlp.down.weight, torch.zeros_like(loaded.blocks[2].mlp.down.weight))
        assert not torch.equal(before, loaded(tokens))
    assert len(Optimisers(result.model, config).names["muon"]) == 6 * 2
    use_float8(result.model)
    assert sum(isinstance(module, Float8Linear) for module in result.model.modules()) == 2 * 4
    assert flops_a_sequence(config.model, 8) == flops_a_sequence(replace(config.model, n_loops=1), 8)


def test_an_export_writes_the_passes_out_and_comes_back_looped(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    config = MICRO.with_changes(n_layers=4, n_loops=2, steps=2)
    model = train(config, tmp_path / "run", device="cpu").model.eval()
    assert to_huggingface(tmp_path / "run", tmp_path / "out") <= 1e-4
    assert "2 passes over the same weights" in (tmp_path / "out" / "README.md").read_text()
    back = from_huggingface(tmp_path / "out")
    assert back.config == config.model
    assert same_weights(back, model)
    to_huggingface(model, tmp_path / "from_memory")  # which knows no run, and so no loops
    plain = from_huggingface(tmp_path / "from_memory")
    assert plain.config.n_loops == 1
    assert torch.equal(plain(prompts() % 8), model(prompts() % 8))


def test_passes_that_differ_are_not_rolled_up(model: Transformer) -> None:
    weights = unrolled_weights(model.state_dict(), CONFIG)
    assert rolled_weights(weights, CONFIG).keys() == model.state_dict().keys()
    weights["blocks.3.mlp.up.bias"] = weights["blocks.3.mlp.up.bias"] + 1
    assert rolled_weights(weights, CONFIG) is None


@pytest.mark.parametrize("n_loops", [0, 4, 7])
def test_layers_must_be_a_multiple_of_loops(n_loops: int) -> None:
    with pytest.raises(InputError, match="n_layers must be a multiple of n_loops"):
        replace(CONFIG, n_loops=n_loops)
