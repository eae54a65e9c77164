"""Which facts does an answer rest on? The answer's logit if no later token may attend to a fact.

A fact is taken away by blocking its left, right, '=' and answer tokens for all tokens behind them, in every layer and
head, so positions stay as they are. Its leading ',' stays visible: models read the fact before it there.

    ,ab=c,de=f,xy=        without fact 0:  no token from the second ',' on attends to a, b, =, c

Tokens before the fact do not change. So a run without some facts resumes behind the first of them, from the keys and
values of the whole run; many such runs make one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from icalgebra.errors import InputError
from icalgebra.interp.hooks import cached, check_unhooked
from icalgebra.language.vocabulary import FACT_LENGTH, LEFT
from icalgebra.model.inputs import one_prompt
from icalgebra.model.predict import chunks, on_device, rows_per_pass
from icalgebra.model.transformer import Block, Transformer, rotate
from icalgebra.records import argument

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Integer

KEPT = ("blocks.*.attn.hook_rot_k", "blocks.*.attn.hook_v")


def reliance(model: Transformer, prompt: Any, answer: int | None = None) -> Float[np.ndarray, " facts"]:
    """How far the answer's logit falls without each fact of one prompt; by default the answer that the model gives.

    prompt: text that ends in '=', a Sequence, or tokens.
    """
    prompts = one_prompt(model, prompt, "reliance takes one prompt at a time")
    n_facts = prompts.shape[1] // FACT_LENGTH
    whole, *without = logits_without(model, prompts[0], [(), *((i,) for i in range(n_facts))])
    chosen = int(whole.argmax()) if answer is None else argument(int, answer, "answer")
    if not 0 <= chosen < len(whole):
        raise InputError(f"the answer is a variable's token, 0 to {len(whole) - 1}, not {chosen}")
    return np.array([whole[chosen] - logits[chosen] for logits in without])


@torch.no_grad()
def logits_without(
    model: Transformer, prompt: Integer[np.ndarray, " T"], sets: Sequence[Sequence[int]]
) -> Float[np.ndarray, "sets N"]:
    """Logits of the variables behind the last '=', without each set of facts (their indices) of one prompt."""
    check_unhooked(model)
    tokens = on_device(model, prompt[None])
    with cached(model, *KEPT) as cache:
        whole = model(tokens)[0, -1]
    found = np.empty((len(sets), model.config.n_variables), dtype=np.float32)
    first_changed = [(min(facts) + 1) * FACT_LENGTH if len(facts) else len(prompt) for facts in sets]
    order = np.argsort(first_changed, kind="stable")
    untouched = [i for i in order if not len(sets[i])]
    found[untouched] = whole[: model.config.n_variables].float().cpu().numpy()
    order = order[: len(order) - len(untouched)]
    # Half the usual batch: sets of facts in order, so that later batches resume later (50 facts: .87 s, not 1.03 s).
    for part in chunks(len(order), rows_per_pass(model, 2 * len(prompt))):
        rows = order[part]
        start = first_changed[rows[0]]
        mask = attention_mask(len(prompt), [sets[i] for i in rows]).to(tokens.device)
        logits = _resume(model, tokens, cache, start, mask)
        found[rows] = logits[:, : model.config.n_variables].float().cpu().numpy()
    return found


def attention_mask(length: int, sets: Sequence[Sequence[int]]) -> Bool[Tensor, "sets T T"]:
    """Where a token may attend without each set of facts: True is allowed. A fact's own tokens still see each other."""
    mask = torch.ones(length, length, dtype=torch.bool).tril().repeat(len(sets), 1, 1)
    for row, facts in zip(mask, sets, strict=True):
        for fact in facts:
            begin, end = fact * FACT_LENGTH + LEFT, (fact + 1) * FACT_LENGTH
            row[end:, begin:end] = False
    return mask


def _resume(
    model: Transformer, tokens: Tensor, cache: dict[str, Tensor], start: int, mask: Bool[Tensor, "sets T T"]
) -> Float[Tensor, "sets d_vocab"]:
    """The run from token `start` on, once per mask; what comes before it is read from the cache."""
    cos, sin = (part[start:] for part in model.angles(tokens.shape[1], None))
    x = model.embedded(tokens)[:, start:].expand(len(mask), -1, -1)
    for layer, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        q, k, v = block.attn.queries_keys_values(block.ln1(x))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        allowed = mask[:, None, start:]
        if layer == model.config.n_layers - 1:  # only the last token is read
            x, q, allowed = x[:, -1:], q[:, -1:], allowed[:, :, -1:]
        past = [cache[f"blocks.{layer}.attn.{name}"][:, :start] for name in ("hook_rot_k", "hook_v")]
        keys, values = (
            torch.cat([before.expand(len(mask), -1, -1, -1), own], 1).transpose(1, 2)
            for before, own in zip(past, (k, v), strict=True)
        )
        z = F.scaled_dot_product_attention(q.transpose(1, 2), keys, values, attn_mask=allowed)
        x = x + block.attn.o(z.transpose(1, 2).flatten(2))
        x = x + block.mlp(block.ln2(x))
    return model.read_out(x[:, -1])
