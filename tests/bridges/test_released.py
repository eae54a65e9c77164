"""Released checkpoints: state dicts made here in that layout, against a slow forward pass of the layout itself."""

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import icalgebra
from helpers import message_of, with_sizes
from icalgebra.bridges import released
from icalgebra.bridges.importing import import_model
from icalgebra.bridges.released import Released, read_released, to_halves
from icalgebra.errors import InputError
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.loaded_model import load_with_config
from icalgebra.model.checkpoints import find_checkpoint
from icalgebra.model.transformer import ModelConfig, Transformer

THEIR_TOKENS = {**{i: i for i in range(17)}, 17: 18}  # ours -> theirs: ',' is one later, after '^'
VOCABULARY = 32


def slow_logits(weights: dict[str, torch.Tensor], tokens: list[int], n_head: int) -> np.ndarray:
    """One sequence through the released layout, in float64, one head and one position at a time."""
    w = {name: value.double().numpy() for name, value in weights.items()}

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean()
        return centred / math.sqrt((centred**2).mean() + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return w[f"{name}.weight"] @ x + w[f"{name}.bias"]

    def turned(x: np.ndarray, position: int) -> np.ndarray:
        result = x.copy()
        for i in range(len(x) // 2):
            angle = position * 10_000.0 ** (-2 * i / len(x))
            even, odd = x[2 * i], x[2 * i + 1]
            result[2 * i] = even * math.cos(angle) - odd * math.sin(angle)
            result[2 * i + 1] = even * math.sin(angle) + odd * math.cos(angle)
        return result

    stream = [w["transformer.wte.weight"][token].copy() for token in tokens]
    width, layer = len(stream[0]), 0
    d_head = width // n_head
    while f"transformer.h.{layer}.ln_1.weight" in w:
        block = f"transformer.h.{layer}"
        mixed = [linear(norm(x, f"{block}.ln_1"), f"{block}.attn.c_attn") for x in stream]
        written = [np.zeros(width) for _ in stream]
        for head in range(n_head):
            begin = [part * width + head * d_head for part in range(3)]
            queries, keys, values = ([x[b : b + d_head] for x in mixed] for b in begin)
            queries, keys = ([turned(x, t) for t, x in enumerate(side)] for side in (queries, keys))
            for t, query in enumerate(queries):
                scores = np.array(keys[: t + 1]) @ query / math.sqrt(d_head)
                pattern = np.exp(scores - scores.max())
                written[t][head * d_head : (head + 1) * d_head] = pattern / pattern.sum() @ np.array(values[: t + 1])
        stream = [x + linear(z, f"{block}.attn.c_proj") for x, z in zip(stream, written)]
        for t, x in enumerate(stream):
            hidden = linear(norm(x, f"{block}.ln_2"), f"{block}.mlp.c_fc")
            hidden = np.array([value * 0.5 * (1 + math.erf(value / math.sqrt(2))) for value in hidden])
            stream[t] = x + linear(hidden, f"{block}.mlp.c_proj")
        layer += 1
    return np.stack([w["lm_head.weight"] @ norm(x, "transformer.ln_f") for x in stream])


def released_layout(model: Transformer) -> dict[str, torch.Tensor]:
    """A model of ours as the authors' code would have saved it. The unused rows are random."""
    generator = torch.Generator().manual_seed(5)
    ours, n_heads = model.state_dict(), model.config.n_heads
    table = torch.randn(VOCABULARY, model.config.d_model, generator=generator) * 0.1
    for our, their in THEIR_TOKENS.items():
        table[their] = ours["embed.weight"][our]

    def to_pairs(rows: torch.Tensor) -> torch.Tensor:
        d_head = rows.shape[0] // n_heads
        order = [
            head * d_head + i + part * (d_head // 2)
            for head in range(n_heads)
            for i in range(d_head // 2)
            for part in (0, 1)
        ]
        return rows[order]

    weights = {"transformer.wte.weight": table, "lm_head.weight": table.clone()}
    weights["transformer.wpe.weight"] = torch.randn(1024, model.config.d_model, generator=generator)
    for part, our in (("weight", "w"), ("bias", "b")):
        weights[f"transformer.ln_f.{part}"] = ours[f"ln_final.{our}"]
        for layer in range(model.config.n_layers):
            here, there = f"blocks.{layer}", f"transformer.h.{layer}"
            q, k, v = (ours[f"{here}.attn.{name}.{part}"] for name in "qkv")
            weights |= {
                f"{there}.ln_1.{part}": ours[f"{here}.ln1.{our}"],
                f"{there}.ln_2.{part}": ours[f"{here}.ln2.{our}"],
                f"{there}.attn.c_attn.{part}": torch.cat([to_pairs(q), to_pairs(k), v]),
                f"{there}.attn.c_proj.{part}": ours[f"{here}.attn.o.{part}"],
                f"{there}.mlp.c_fc.{part}": ours[f"{here}.mlp.up.{part}"],
                f"{there}.mlp.c_proj.{part}": ours[f"{here}.mlp.down.{part}"],
            }
    for layer in range(model.config.n_layers):
        weights[f"transformer.h.{layer}.attn.bias"] = torch.ones(1, 1, 1024, 1024).tril()
    return weights


def write_run(folder: Path, model: Transformer, weights: dict[str, torch.Tensor], **changes: object) -> Path:
    config = model.config
    params = {
        "n_layer": config.n_layers, "n_head": config.n_heads, "n_embd": config.d_model, "block_size": 1024,
        "vocab_size": VOCABULARY, "bias": True, "dropout": 0.0, "positional_encoding": "rope", "attention_type": "soft",
    }  # fmt: skip
    task = {"num_symbols": 16, "max_order": 10, "mix": 0.7, "holdout_zero": True}
    (folder / "models").mkdir(parents=True)
    metadata = {"model_params": {**params, **changes}, "args": {"task_config": task}}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    for name in ("best", "2000"):
        torch.save(weights, folder / "models" / f"algebra_gpt_{name}.pt")
    return folder


@pytest.fixture(scope="module")
def small() -> Transformer:
    return icalgebra.load_model("small")


@pytest.fixture(scope="module")
def run(small: Transformer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("released") / "run", small, released_layout(small))


@pytest.fixture(scope="module")
def imported(run: Path) -> Released:
    return read_released(run)


def test_logits_are_those_of_the_released_layout(run: Path, imported: Released) -> None:
    prompt = icalgebra.sample("train", n=1, n_facts=6, seed=4).tokens[0].astype(int)
    # Both in float64, with angles in float64 too: what is left is the order of the sums.
    model, d_head = copy.deepcopy(imported.model).double(), imported.config.model.d_head
    angles = torch.arange(len(prompt)).double()[:, None] * 10_000.0 ** (-torch.arange(0, d_head, 2).double() / d_head)
    model.cos, model.sin = angles.cos()[:, None], angles.sin()[:, None]
    with torch.inference_mode():
        ours = model(torch.as_tensor(prompt)[None])[0].numpy()
    weights = torch.load(run / "models" / "algebra_gpt_best.pt", weights_only=True)
    theirs = slow_logits(weights, [THEIR_TOKENS[token] for token in prompt], imported.config.n_heads)
    assert np.abs(ours - theirs[:, list(THEIR_TOKENS.values())]).max() < 1e-10
    # What the dropped rows held there, at the predictive tokens of these facts.
    probabilities = np.exp(theirs - theirs.max(1, keepdims=True))
    probabilities /= probabilities.sum(1, keepdims=True)
    dropped = [row for row in range(VOCABULARY) if row not in THEIR_TOKENS.values()]
    assert 0 < probabilities[3::5, dropped].sum(1).mean() < 1
    assert 0 < imported.dropped_mass < 1


def test_the_import_is_the_model_it_was_made_from(imported: Released, small: Transformer) -> None:
    for name, value in small.state_dict().items():
        assert torch.equal(imported.model.state_dict()[name], value), name
    assert imported.config.world == icalgebra.World()
    assert imported.config.n_facts == 200
    assert imported.accuracy.value > 0.75


def test_neighbouring_pairs_become_halves() -> None:
    rows = torch.arange(8).float()[:, None]
    assert to_halves(rows, n_heads=2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_an_imported_checkpoint_is_a_model_for_every_experiment(run: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(released, "CHECKED", {"n": 2, "n_facts": 5})
    assert isinstance(icalgebra.from_released(run / "models" / "algebra_gpt_best.pt"), Transformer)
    found = import_model(run, tmp_path / "imported", step=2000)
    assert find_checkpoint(tmp_path / "imported").step == 2000
    assert found["kind"] == "released"
    loaded = load_with_config(str(tmp_path / "imported"))
    assert loaded.world == icalgebra.World()
    assert loaded.name == "imported"
    with_sizes(monkeypatch, "copying", {"n_pairs": 8, "n_sets": 4, "n_decode": 6, "n_variants": 5, "n_facts": 12})
    assert run_experiment("copying", "quick", 0, loaded).values
    with pytest.raises(InputError, match="already exists"):
        import_model(run, tmp_path / "imported")


TINY = Transformer(ModelConfig(n_layers=1, n_heads=2, d_model=8))


@pytest.mark.parametrize(
    ("changes", "damage", "reason"),
    [
        ({"positional_encoding": "learned"}, {}, "only 'rope' exists here"),
        ({"attention_type": "hard"}, {}, "only softmax attention exists here"),
        ({"bias": False}, {}, "it has no biases"),
        ({"n_layer": 2}, {}, r"no transformer\.h\.1"),
        ({"n_embd": 16}, {}, r"embed\.weight is \(18, 8\); its config asks for \(18, 16\)"),
        ({}, {"lm_head.weight": torch.zeros(VOCABULARY, 8)}, "lm_head and its embedding differ"),
        ({}, {"transformer.h.0.attn.bias": torch.ones(1, 1, 4, 4)}, "not a causal mask"),
        ({}, {"transformer.ln_f.weight": torch.full((8,), torch.nan)}, "not finite"),
        ({}, {"transformer.h.0.attn.gate": torch.zeros(2)}, "without a counterpart"),
        ({}, {"transformer.wte.weight": 3}, "not a dict of tensors"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_the_reason(tmp_path, changes, damage, reason) -> None:
    run = write_run(tmp_path / "run", TINY, {**released_layout(TINY), **damage}, **changes)
    with pytest.raises(InputError, match=reason) as caught:
        read_released(run)
    assert "algebra_gpt_best.pt" in message_of(caught.value)


def test_files_that_are_not_checkpoints_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", TINY, released_layout(TINY))
    with pytest.raises(InputError, match="its steps are 2000, best"):
        read_released(run, step=7)
    torch.save({"hook": print}, run / "models" / "algebra_gpt_9.pt")  # a function: more than tensors
    with pytest.raises(InputError, match="more than tensors"):
        read_released(run, step=9)
    with pytest.raises(InputError, match="neither a Hugging Face folder"):
        import_model(tmp_path, tmp_path / "out")
