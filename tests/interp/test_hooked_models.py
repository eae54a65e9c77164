"""Hooks and what resumes runs from cached activations: no function measures half of a changed model."""

from functools import partial

import numpy as np
import pytest
import torch

from icalgebra import InputError, interp, sample
from icalgebra.interp import ablate, hooked
from icalgebra.interp.knockout import Reads, answers_without
from icalgebra.interp.patching import indirect_effects
from icalgebra.model.checkpoints import load_model


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
