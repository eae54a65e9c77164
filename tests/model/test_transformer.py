"""The model against a plain implementation written another way, and properties of its hook points."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from icalgebra.errors import InputError
from icalgebra.model.transformer import ModelConfig, Transformer

CONFIG = ModelConfig(n_layers=2, n_heads=4, d_model=32, n_variables=6)


@pytest.fixture
def model() -> Transformer:
    """Every parameter random, so that a forgotten bias shows."""
    model = Transformer(CONFIG, seed=1).eval()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return model


def tokens(n: int, length: int) -> torch.Tensor:
    return torch.randint(0, CONFIG.d_vocab, (n, length), generator=torch.Generator().manual_seed(3))


def plain_logits(model: Transformer, sequence: np.ndarray) -> np.ndarray:
    """One sequence, in double precision: RoPE as complex numbers, one head at a time, erf by the library."""
    w = {name: value.detach().numpy().astype(np.float64) for name, value in model.named_parameters()}

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(1, keepdims=True)
        return centred / np.sqrt(centred.var(1, keepdims=True) + 1e-5) * w[f"{name}.w"] + w[f"{name}.b"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def turned(x: np.ndarray) -> np.ndarray:
        half = x.shape[1] // 2
        turns = np.exp(1j * np.arange(len(x))[:, None] * CONFIG.rope_base ** (-np.arange(half) / half))
        z = (x[:, :half] + 1j * x[:, half:]) * turns
        return np.concatenate([z.real, z.imag], axis=1)

    def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        scores = turned(q) @ turned(k).T / math.sqrt(q.shape[1])
        scores[np.triu_indices(len(q), 1)] = -np.inf
        weights = np.exp(scores - scores.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True) @ v

    erf = np.vectorize(math.erf)
    x = w["embed.weight"][sequence]
    for layer in range(CONFIG.n_layers):
        block = f"blocks.{layer}"
        q, k, v = (linear(norm(x, f"{block}.ln1"), f"{block}.attn.{part}") for part in "qkv")
        slices = [slice(h * CONFIG.d_head, (h + 1) * CONFIG.d_head) for h in range(CONFIG.n_heads)]
        x = x + linear(np.concatenate([attend(q[:, s], k[:, s], v[:, s]) for s in slices], axis=1), f"{block}.attn.o")
        hidden = linear(norm(x, f"{block}.ln2"), f"{block}.mlp.up")
        x = x + linear(hidden * 0.5 * (1 + erf(hidden / math.sqrt(2))), f"{block}.mlp.down")
    return norm(x, "ln_final") @ w["embed.weight"].T


@pytest.mark.parametrize("length", [1, 9, 1000])
def test_logits_are_those_of_the_plain_implementation(model: Transformer, length: int) -> None:
    sequence = tokens(1, length)
    with torch.inference_mode():
        difference = model(sequence)[0].numpy() - plain_logits(model, sequence[0].numpy())
    assert np.abs(difference).max() <= 1e-5


def test_reading_any_hook_point_changes_nothing(model: Transformer) -> None:
    sequence, seen = tokens(2, 12), {}
    expected = model(sequence)
    points = model.hook_points()
    for name, point in points.items():
        point.register_forward_hook(lambda _, __, value, name=name: seen.__setitem__(name, value))
    assert torch.allclose(model(sequence), expected, atol=1e-5)
    assert set(seen) == set(points)
    shape = {name: tuple(value.shape) for name, value in seen.items()}
    assert shape["blocks.1.attn.hook_pattern"] == shape["blocks.1.attn.hook_attn_scores"] == (2, 4, 12, 12)
    assert shape["blocks.1.attn.hook_z"] == shape["blocks.0.attn.hook_q"] == (2, 12, 4, 8)
    assert shape["blocks.1.attn.hook_result"] == (2, 12, 4, 32)
    assert shape["blocks.0.ln1.hook_scale"] == (2, 12, 1)
    assert shape["blocks.0.mlp.hook_pre"] == (2, 12, 128)
    assert shape["hook_embed"] == shape["blocks.1.hook_resid_post"] == shape["ln_final.hook_normalized"] == (2, 12, 32)
    pattern = seen["blocks.0.attn.hook_pattern"]
    assert torch.allclose(pattern.sum(-1), torch.ones(2, 4, 12))
    assert torch.equal(pattern, pattern.tril())


def test_a_hook_replaces_what_flows_on(model: Transformer) -> None:
    sequence = tokens(2, 10)
    other = tokens(4, 10)[2:]
    kept = {}
    point = model.hook_points()["blocks.0.hook_resid_post"]
    handle = point.register_forward_hook(lambda _, __, value: kept.__setitem__("x", value))
    expected = model(other)
    handle.remove()
    point.register_forward_hook(lambda _, __, value: kept["x"])
    assert torch.equal(model(sequence), expected)


def test_heads_write_through_their_own_part_of_w_o(model: Transformer) -> None:
    seen: dict[str, torch.Tensor] = {}
    for name in ("blocks.1.attn.hook_z", "blocks.1.hook_attn_out"):
        model.hook_points()[name].register_forward_hook(lambda _, __, v, name=name: seen.__setitem__(name, v))
    model(tokens(1, 7))
    attention = model.blocks[1].attn
    heads = torch.einsum("nthe,hed->nthd", seen["blocks.1.attn.hook_z"], attention.W_O)
    assert torch.allclose(heads.sum(2) + attention.o.bias, seen["blocks.1.hook_attn_out"], atol=1e-5)


def test_mask_and_positions_branch_a_sequence(model: Transformer) -> None:
    """Two continuations of one context in a single pass give what two passes give."""
    context, one, other = tokens(1, 10), tokens(1, 14)[:, 10:], tokens(1, 20)[:, 16:]
    packed = torch.cat([context, one, other], dim=1)
    positions = torch.cat([torch.arange(14), torch.arange(10, 14)])
    mask = torch.ones(18, 18, dtype=torch.bool).tril()
    mask[14:, 10:14] = False
    logits = model(packed, positions=positions, mask=mask)
    assert torch.allclose(logits[:, :14], model(torch.cat([context, one], dim=1)), atol=1e-5)
    assert torch.allclose(logits[:, 14:], model(torch.cat([context, other], dim=1))[:, 10:], atol=1e-5)


def test_logits_are_read_out_in_full_precision_outside_training(model: Transformer) -> None:
    """In 16 bits the best two are often equal, and a tie counts as wrong."""
    tokens = torch.arange(20).reshape(2, 10) % model.config.d_vocab
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert model.train()(tokens).dtype == torch.bfloat16
        logits = model.eval()(tokens)
    assert logits.dtype == torch.float32
    assert not torch.equal(logits, logits.bfloat16().float())


def test_the_compiler_sees_one_graph(model: Transformer) -> None:
    sequence = tokens(2, 10)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(sequence), model(sequence), atol=1e-5)


def test_the_seed_decides_the_weights() -> None:
    weights = [Transformer(CONFIG, seed=seed).embed.weight for seed in (0, 0, 1)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="even number of dimensions per head"):
        ModelConfig(n_heads=3, d_model=16)
    with pytest.raises(InputError, match="at least 1"):
        ModelConfig(n_layers=0)


def test_weights_of_another_size_are_refused_before_a_model_is_made() -> None:
    config = ModelConfig(n_variables=12, n_layers=2, n_heads=2, d_model=16, d_mlp=32)
    weights = Transformer(config).state_dict()
    assert torch.equal(Transformer.with_weights(config, weights).embed.weight, weights["embed.weight"])
    for change in ({"d_mlp": 10**15}, {"d_model": 8 * 10**14, "n_heads": 4 * 10**12}, {"n_layers": 10**9}):
        with pytest.raises(RuntimeError, match="its config asks for"):
            Transformer.with_weights(replace(config, **change), weights)
