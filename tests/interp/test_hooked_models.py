"""Hooks and what resumes runs from cached activations: no function measures half of a changed model."""

from functools import partial

import numpy as np
import pytest
import torch

from icalgebra import InputError, interp, sample
from icalgebra.interp import ablate, cached, hooked
from icalgebra.interp.hooks import add, replace
from icalgebra.interp.knockout import Reads, answers_without
from icalgebra.interp.patching import Site, indirect_effects
from icalgebra.model.checkpoints import load_model

PATTERN = "blocks.2.attn.hook_pattern"


@pytest.fixture(scope="module")
def model():
    return load_model("small").requires_grad_(False)


@pytest.fixture(scope="module")
def copied():
    return sample("copy", n=3, n_facts=10, seed=1)


@pytest.fixture(scope="module")
def held_out():
    return sample("holdout", n=3, n_facts=10, seed=2)


def test_effects_in_a_changed_model_are_those_of_plain_passes(model, copied, held_out):
    measure = partial(indirect_effects, model, copied, held_out, copied.answers, ["2.2", "3.1"])
    with hooked(model, ablate("2.1")):
        found, expected = measure(), measure(resumed=False)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(found - measure()).max() > 1e-3  # not those of the model as it is


@pytest.mark.parametrize(
    "use",
    [
        interp.logit_lens,
        interp.attention,
        interp.direct_logits,
        interp.mean_outputs,
        lambda model, rows: interp.patch(model, rows, rows, "0.0"),
        lambda model, rows: interp.steer(model, rows, torch.zeros(256)),
        lambda model, rows: interp.reliance(model, rows[0]),
        lambda model, rows: interp.explain(model, rows[0]),
        lambda model, rows: answers_without(model, rows.prompts, [Reads()]),
    ],
)
def test_what_would_skip_hooks_says_so(model, copied, use):
    with hooked(model, ablate("3.1")), pytest.raises(InputError, match="this model has hooks"):
        use(model, copied)
    handle = model.blocks[0].register_forward_hook(lambda module, inputs, value: None)  # torch's own, on any module
    with pytest.raises(InputError, match="this model has hooks"):
        use(model, copied)
    handle.remove()
    use(model, copied)


def test_positions_of_attention_are_queries(model, copied):
    with cached(model, PATTERN, positions=-1) as cache:
        model(copied.prompts)
    torch.testing.assert_close(cache[PATTERN], interp.attention(model, copied)[:, 2], atol=1e-5, rtol=0)


@pytest.mark.parametrize("positions", [-1, slice(40, None), None])
@pytest.mark.parametrize("head", [1, None])
def test_attention_is_changed_in_the_named_head_and_queries(model, copied, positions, head):
    with cached(model, PATTERN) as plain:
        model(copied.prompts)
    with hooked(model, {PATTERN: add(torch.ones(()), positions, head)}), cached(model, PATTERN) as cache:
        model(copied.prompts)
    expected = torch.zeros_like(plain[PATTERN])
    queries = slice(None) if positions is None else positions
    expected[:, slice(None) if head is None else head, queries] = 1.0
    torch.testing.assert_close(cache[PATTERN] - plain[PATTERN], expected, atol=1e-5, rtol=0)


def test_patching_attention_takes_the_heads_last_row(model, copied, held_out):
    with cached(model, PATTERN) as clean:
        model(copied.prompts)

    def change(value):
        value = value.clone()
        value[:, 1, -1] = clean[PATTERN][:, 1, -1]
        return value

    before = model(held_out.prompts)[:, -1].softmax(-1)
    with hooked(model, {PATTERN: change}):
        after = model(held_out.prompts)[:, -1].softmax(-1)
    with hooked(model, {PATTERN: replace(clean[PATTERN][:, 1, -1], positions=-1, head=1)}):
        again = model(held_out.prompts)[:, -1].softmax(-1)
    torch.testing.assert_close(again, after)
    expected = (after - before)[torch.arange(3), torch.from_numpy(copied.answers.astype(int))]
    found = indirect_effects(model, copied, held_out, copied.answers, [Site(PATTERN, 1)])
    np.testing.assert_allclose(found[0], expected.numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (Site("blocks.2.hook_mlp_out", 1), "not divided into heads"),
        (Site("blocks.2.attn.hook_z", 8), "its heads 0 to 7"),
        (Site("blocks.2.attn.hook_z", -1), "its heads 0 to 7"),
    ],
)
def test_a_site_names_a_head_that_is_there(model, copied, held_out, site, said):
    with pytest.raises(InputError, match=said):
        indirect_effects(model, copied, held_out, copied.answers, [site])
