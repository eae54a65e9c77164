"""Reliance: equal to plain masks, and what it must say where the answer's source is known."""

import numpy as np
import pytest
import torch

from icalgebra import load_model, sample
from icalgebra.interp.fact_reliance import attention_mask, logits_without, reliance
from icalgebra.interp.minimal_pairs import minimal_pairs
from icalgebra.model.predict import on_device


@pytest.fixture(scope="module")
def model():
    return load_model("small")


def test_runs_without_facts_equal_plain_masks(model):
    prompt = sample("holdout", 1, 12, seed=3).prompts[0]
    sets = [(), (0,), (10,), (4,), (2, 7), (9, 1, 5), tuple(range(11))]
    mask = attention_mask(len(prompt), sets)
    with torch.no_grad():
        plain = model(on_device(model, np.tile(prompt, (len(sets), 1))), mask=mask[:, None])[:, -1, :16].numpy()
    np.testing.assert_allclose(logits_without(model, prompt, sets), plain, atol=2e-4)


def test_the_mask_hides_a_fact_from_later_tokens_only():
    (mask,) = attention_mask(14, [(1,)])  # ,ab=c,de=f,xy=
    hidden = [6, 7, 8, 9]  # d, e, =, f: its comma carries the fact before it
    assert not mask[10:][:, hidden].any()
    rest = torch.ones(14, 14, dtype=torch.bool).tril()
    rest[10:, 6:10] = False
    assert torch.equal(mask, rest)


def test_a_copied_answer_rests_on_the_fact_it_is_copied_from(model):
    pairs = minimal_pairs("copy", 8, 20, seed=1)  # the planted answer has no other support
    for prompt, place, answer in zip(pairs.clean_prompts, pairs.place, pairs.clean_answer, strict=True):
        falls = reliance(model, prompt, int(answer))
        assert falls.argmax() == place
        assert falls[place] > 2 * np.sort(falls)[-2]


def test_the_answer_is_the_models_own_by_default(model):
    prompt = sample("holdout", 1, 15, seed=5).prompts[0]
    answer = int(logits_without(model, prompt, [()])[0].argmax())
    np.testing.assert_array_equal(reliance(model, prompt), reliance(model, prompt, answer))
