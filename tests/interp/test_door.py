"""icalgebra.interp as users type it: names, heads as "2.1" or (2, 1), and sequences, text or tokens as input."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import icalgebra
from helpers import message_of, python_arguments
from icalgebra import InputError, counterfactual_pairs, sample
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.interp.patching import indirect_effects, target_probability

interp = icalgebra.interp
NAMES = (
    "cached", "hooked", "replace", "ablate", "logit_lens", "attention", "direct_logits", "patch", "steer", "subspace",
    "head_roles",
)  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return icalgebra.load_model("small").requires_grad_(False)


@pytest.fixture(scope="module")
def copied():
    return sample("copy", n=4, n_facts=12, seed=3)


def test_every_name_is_listed_and_documented():
    assert set(NAMES) <= set(dir(interp))
    assert all(getattr(interp, name).__doc__ for name in interp.__all__)
    assert all(name in interp.__doc__ for name in interp.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = interp.nonsense


def test_no_module_has_the_name_of_a_function():
    """Importing such a module would put it in the function's place."""
    modules = {path.stem for path in Path(interp.__file__).parent.glob("*.py")}
    assert not modules & set(interp.__all__)


def test_the_door_is_lazy():
    code = "import sys, icalgebra; icalgebra.interp; assert 'torch' not in sys.modules"
    subprocess.run(python_arguments(code), check=True)


def test_a_head_has_two_spellings_and_inputs_have_four(model, copied):
    expected = interp.attention(model, copied, (2, 1))
    run = cache_last_token_batched(model, copied.prompts, pattern=True)
    texts = [row.prompt for row in copied]
    for given in (copied, copied.prompts, torch.tensor(copied.prompts), texts, run):
        torch.testing.assert_close(interp.attention(model, given, "2.1"), expected)
    one = interp.attention(model, copied[2], "2.1")
    torch.testing.assert_close(one[0], expected[2], atol=1e-5, rtol=0)
    torch.testing.assert_close(interp.attention(model, copied)[:, 2, 1], expected)
    torch.testing.assert_close(expected.sum(1), torch.ones(len(copied)))


def test_attention_is_that_of_the_model(model, copied):
    _, cache = model.run_with_cache(copied.prompts, "blocks.3.attn.hook_pattern")
    torch.testing.assert_close(
        interp.attention(model, copied, "3.5"), cache["pattern", 3][:, 5, -1], atol=1e-5, rtol=1e-4
    )


def test_the_lens_ends_at_the_models_logits(model, copied):
    lens = interp.logit_lens(model, copied)
    assert lens.shape == (4, model.config.n_layers + 1, 18)
    torch.testing.assert_close(lens[:, -1], model(copied.prompts)[:, -1], atol=1e-4, rtol=1e-4)
    with interp.cached(model, "blocks.1.hook_resid_post", positions=-1) as cache:
        model(copied.prompts)
    torch.testing.assert_close(lens[:, 2], model.read_out(cache["blocks.1.hook_resid_post"]), atol=1e-4, rtol=1e-4)


def test_ablating_a_head_is_setting_its_output_to_zero(model, copied):
    with interp.cached(model, "2.1") as cache, interp.hooked(model, interp.ablate("2.1", (1, 4))):
        found = model(copied.prompts)

    handles = []
    for layer, head in ((2, 1), (1, 4)):
        point = model.hook_points()[f"blocks.{layer}.attn.hook_z"]
        handles.append(point.register_forward_hook(lambda p, a, v, head=head: v.index_fill(2, torch.tensor(head), 0.0)))
    expected = model(copied.prompts)
    for handle in handles:
        handle.remove()
    torch.testing.assert_close(found, expected)
    assert cache["2.1"].shape == (4, 59, 32)  # its own value, before the ablation
    assert cache["2.1"].abs().max() > 0
    assert not torch.allclose(found, model(copied.prompts))


def test_mean_ablation_acts_at_the_last_position(model, copied):
    average = interp.mean_outputs(model, sample("train", n=6, n_facts=12))
    ablated = interp.hooked(model, interp.ablate("2.1", to=average))
    with ablated, interp.cached(model, "blocks.2.hook_attn_out") as cache:
        model(copied.prompts)
    with interp.cached(model, "blocks.2.hook_attn_out") as plain:
        model(copied.prompts)
    changed = (cache["blocks.2.hook_attn_out"] - plain["blocks.2.hook_attn_out"]).abs().amax((0, 2))
    assert changed[:-1].max() == 0
    assert changed[-1] > 0


def test_patching_one_head_is_its_indirect_effect(model, copied):
    held_out = sample("holdout", n=4, n_facts=12, seed=4)
    targets = torch.tensor(copied.answers.astype(np.int64))
    effects = indirect_effects(model, copied.prompts, held_out.prompts, copied.answers)

    def probability(logits):
        return target_probability(logits[:, None], targets)[:, 0]

    before = probability(model(held_out.prompts)[:, -1])
    after = probability(interp.patch(model, copied, held_out, "2.1"))
    np.testing.assert_allclose((after - before).numpy(), effects[2 * model.config.n_heads + 1], atol=1e-5)
    same = indirect_effects(model, copied, [row.prompt for row in held_out], copied.answers, ["2.1", (3, 5)])
    np.testing.assert_allclose(same, effects[[17, 29]], atol=1e-6)
    whole = interp.patch(model, copied, held_out, "blocks.3.hook_resid_post")
    torch.testing.assert_close(whole, model(copied.prompts)[:, -1], atol=1e-4, rtol=1e-4)
    heads = [(3, head) for head in range(8)]
    every = interp.patch(model, copied, held_out, *heads)
    torch.testing.assert_close(
        every, interp.patch(model, copied, held_out, "blocks.3.hook_attn_out"), atol=1e-4, rtol=1e-4
    )


def test_direct_logits_of_one_head_and_steering_by_nothing(model, copied):
    torch.testing.assert_close(
        interp.direct_logits(model, copied, head="3.5"), interp.direct_logits(model, copied)[:, 3, 5]
    )
    steered = interp.steer(model, copied, torch.zeros(256))
    torch.testing.assert_close(steered[:, 0], model(copied.prompts)[:, -1], atol=1e-4, rtol=1e-4)


def test_the_subspace_of_all_dimensions_is_the_whole_site(model):
    pairs = counterfactual_pairs("closure", n=8, n_facts=20)
    found = interp.subspace(model, pairs, size=256, layer=3, steps=0)
    torch.testing.assert_close(found.basis.T @ found.basis, torch.eye(256), atol=1e-5, rtol=0)
    patched = interp.patch(model, pairs.source, pairs.base, found.site)[:, :16].argmax(-1).numpy()
    assert found.site == "blocks.3.hook_attn_out"
    assert found.accuracy(model, pairs).value == (patched == pairs.targets).mean()


def test_head_roles_uses_the_models_own_world(model):
    from icalgebra.model.inputs import trained_world
    from icalgebra.model.transformer import ModelConfig, Transformer

    assert trained_world(model) == icalgebra.World()
    stranger = Transformer(ModelConfig(n_layers=1, n_heads=2, d_model=8, n_variables=8))
    with pytest.raises(InputError, match="which world"):
        interp.head_roles(stranger)
    with pytest.raises(InputError, match="must agree"):
        interp.head_roles(stranger, icalgebra.World())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m, s: interp.attention(m, s, "9.1"), "layers are 0 to 3 and its heads 0 to 7"),
        (lambda m, s: interp.attention(m, s, "head 1"), "write '2.1' or \\(2, 1\\)"),
        (lambda m, s: interp.attention(m, s.tokens, "2.1"), "5k−1"),
        (lambda m, s: interp.attention(m, ",ab=c", "2.1"), "must lack its answer"),
        (lambda m, s: interp.patch(m, s, s[:2], "2.1"), "as many clean as corrupt"),
        (lambda m, s: interp.patch(m, s, s, "blocks.2.hok_mlp"), "did you mean"),
        (lambda m, s: interp.patch(m, s, s, "blocks.2.attn.hook_q"), "cannot be resumed"),
        (lambda m, s: interp.steer(m, s, torch.zeros(256), layer=4), "0 to 3"),
        (lambda m, s: interp.subspace(m, counterfactual_pairs("closure", 2), 900), "1 to 256"),
    ],
)
def test_wrong_calls_are_one_sentence(model, copied, call, said):
    with pytest.raises(InputError, match=said) as caught:
        call(model, copied)
    assert len(message_of(caught.value)) <= 300
