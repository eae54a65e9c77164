"""TransformerLens 4: the same names, shapes and values at every hook point."""

import sys
from importlib.metadata import version

import pytest
import torch

import icalgebra
from icalgebra.bridges.transformer_lens import to_transformer_lens
from icalgebra.errors import InputError
from icalgebra.interp.hooks import cached, hooked
from icalgebra.model.predict import on_device


def test_logits_and_every_activation_agree_by_name() -> None:
    """Also that hook_normalized is before the norm's w and b, as in TransformerLens 3 and 4."""
    pytest.importorskip("transformer_lens")
    assert version("transformer-lens").split(".")[0] == "4"
    model = icalgebra.load_model("small")
    bridge = to_transformer_lens("small")
    tokens = on_device(model, icalgebra.sample("train", n=1, n_facts=200, seed=3).tokens)
    with torch.inference_mode():
        with cached(model, "*") as ours:
            logits = model(tokens)
        theirs, cache = bridge.run_with_cache(tokens)
    assert (theirs - logits).abs().max() <= 1e-4
    assert len(ours) == 83
    for name, value in ours.items():
        theirs = cache[name]
        if name.endswith("attn_scores"):  # at masked positions −inf here, the lowest finite number there
            assert (theirs[value.isinf()] < -1e30).all()
            theirs, value = theirs.tril(), value.tril()
        torch.testing.assert_close(theirs, value, atol=1e-4, rtol=0, msg=name)
    text = ",pf=p,ee=n,ae=f,pp=e,pn=f,pe="
    tokens = torch.as_tensor(icalgebra.Vocabulary().encode(text)[None]).long()
    assert torch.equal(bridge.to_tokens(text), tokens)
    with torch.inference_mode(), hooked(model, {"blocks.2.attn.hook_pattern": lambda value: value.flip(1)}):
        logits = model(tokens)
    theirs = bridge.run_with_hooks(
        tokens, fwd_hooks=[("blocks.2.attn.hook_pattern", lambda value, hook: value.flip(1))]
    )
    torch.testing.assert_close(theirs, logits, atol=1e-4, rtol=0)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformer_lens.model_bridge", None)
    with pytest.raises(InputError, match=r"icalgebra\[transformer-lens\]"):
        to_transformer_lens(icalgebra.load_model("small"))
