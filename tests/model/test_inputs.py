"""The model takes what people have: text, lists of texts, and integers of any type; mistakes are one sentence."""

import numpy as np
import pytest
import torch

from helpers import message_of
from icalgebra import InputError, load_model, sample
from icalgebra.model.transformer import ModelConfig, Transformer

ROWS = sample("holdout", n=3, n_facts=4, seed=5)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Transformer(ModelConfig(n_layers=2, n_heads=2, d_model=16)).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def expected(model):
    return model(torch.tensor(ROWS.prompts.astype(np.int64)))


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32, np.uint32, np.int64, np.uint64])
def test_numpy_integers_of_every_type(model, expected, kind):
    assert torch.equal(model(ROWS.prompts.astype(kind)), expected)


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_torch_integers_of_every_type(model, expected, kind):
    assert torch.equal(model(torch.tensor(ROWS.prompts).to(kind)), expected)


def test_text_lists_of_texts_and_single_rows(model, expected):
    texts = [row.prompt for row in ROWS]
    assert torch.equal(model(texts), expected)
    assert torch.equal(model(tuple(texts)), expected)
    assert torch.equal(model(texts[0] + "?"), model(texts[0]))
    for one in (texts[1], ROWS.prompts[1], torch.tensor(ROWS.prompts[1]), ROWS.prompts[1].tolist()):
        assert torch.equal(model(one), expected[1:2])
    assert torch.equal(model(ROWS.prompts.tolist()), expected)


def test_what_training_gives_is_not_copied(model):
    from icalgebra.model.inputs import as_tokens

    tokens = torch.zeros(2, 5, dtype=torch.int64)
    assert as_tokens(tokens, 16, torch.device("cpu")) is tokens


def test_a_compiled_model_is_one_graph(model, expected):
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.tensor(ROWS.prompts.astype(np.int64))), expected)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (",ab=c,de", "line 1, column 9: the last fact is incomplete"),
        ("ab=c,xy=", "column 6: found 'x'"),
        ([",ab=", ",ab=c,cb="], "equally long, not 4 and 9 tokens"),
        ([",ab=", 3], "nothing but texts"),
        (np.array([[0.5, 1.0]]), "not float64"),
        (torch.tensor([[True]]), "not bool"),
        (torch.zeros(1, 2, dtype=torch.bfloat16), "integers or text"),
        ([[1, 2], [3]], "equally long"),
        (np.zeros((2, 0), dtype=int), "at least one token"),
        (np.zeros((1, 2, 3), dtype=int), r"\[1, 2, 3\]"),
        (np.array([[17, 25]]), "token 25 is outside 0 to 17"),
        (np.array([[-1, 2]]), "token -1 is outside"),
        (torch.tensor([[17, 25]]), "outside 0 to 17: this model knows the variables a to p"),
        (torch.zeros(1, 2, 3, dtype=torch.int64), "not of shape"),
        (ROWS, r"\.prompts"),
        (ROWS[0], r"\.prompts"),
        (None, "integers or text"),
        ("", "empty sequence"),
    ],
)
def test_mistakes_are_one_sentence(model, given, said):
    with pytest.raises(InputError, match=said) as caught:
        model(given)
    assert len(message_of(caught.value)) <= 300


def test_run_with_cache_as_in_transformer_lens(model, expected):
    logits, cache = model.run_with_cache(ROWS.prompts)
    torch.testing.assert_close(logits, expected)
    assert set(cache) == set(model.hook_points())
    assert cache["pattern", 1] is cache["blocks.1.attn.hook_pattern"]
    assert cache["post", 0] is cache["blocks.0.mlp.hook_post"]
    assert cache["resid_post", 1] is cache["blocks.1.hook_resid_post"]
    assert cache["resid_post", -1] is cache["blocks.1.hook_resid_post"]
    assert cache["scale", 0, "ln2"] is cache["blocks.0.ln2.hook_scale"]
    assert cache["embed"] is cache["hook_embed"]
    for wrong in (("resid_post", 2), ("resid_post", -3), ("scale", 0), ("pattern", "0"), ("pattern",)):
        with pytest.raises(KeyError):
            cache[wrong]
    torch.testing.assert_close(cache["pattern", 0].sum(-1), torch.ones(3, 2, 19))
    torch.testing.assert_close(model.read_out(cache["resid_post", 1]), logits)
    assert not any(point._forward_hooks for point in model.hook_points().values())
    _, few = model.run_with_cache(ROWS.prompts, names_filter=lambda name: name.endswith("hook_z"))
    assert list(few) == ["blocks.0.attn.hook_z", "blocks.1.attn.hook_z"]
    assert list(model.run_with_cache(ROWS.prompts, "hook_embed")[1]) == ["hook_embed"]


def test_mistakes_with_the_cache(model):
    with pytest.raises(InputError, match="did you mean"):
        model.run_with_cache(",ab=", ["blocks.0.attn.hook_pat"])
    with pytest.raises(InputError, match="accepts none"):
        model.run_with_cache(",ab=", lambda name: False)
    with pytest.raises(KeyError, match="unknown activation"):
        model.run_with_cache(",ab=")[1]["pattern", 7]


def test_a_loaded_model_knows_its_world():
    assert load_model("small").run_config["p_mix"] == 0.7
