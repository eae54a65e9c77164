"""The query's four tokens of a run, and how to resume the run from there after an intervention.

An intervention at the query's tokens (',', left, right, '=') changes nothing before them, since earlier tokens do not
see it. So a patched run needs no forward pass. It resumes from the residual stream at the four tokens and the keys and
values of the context:

    run = cache_query(model, tokens)                                          # one forward pass
    resume_query(model, run, {"blocks.2.attn.hook_z": change}, variants=32)   # [n, 32, d_vocab], a few small products

A change gets values [n, variants, 4, …]; before the first change the axis of variants has length one. With `blocked`
the query's tokens may not attend to some slots of the context (attention knock-out).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from icalgebra.interp.hooks import Change, cached, check_unhooked
from icalgebra.interp.last_token_cache import blocks, rows_of, run_on
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.model.transformer import Attention, Transformer, rotate

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

N_QUERY = FACT_LENGTH - 1
QUERY_TOKENS = ("comma", "left", "right", "equals")  # the query's tokens; '=' is the predictive one


@dataclass(frozen=True)
class QueryCache:
    """What a run leaves at the query's tokens, by layer, and the keys and values of its context."""

    resid_pre: Float[Tensor, "n n_layers 4 d_model"]
    z: Float[Tensor, "n n_layers 4 n_heads d_head"]
    attn_out: Float[Tensor, "n n_layers 4 d_model"]
    mlp_out: Float[Tensor, "n n_layers 4 d_model"]
    logits: Float[Tensor, "n d_vocab"]
    keys: list[Tensor]  # per layer, [n, n_heads, T−4, d_head]
    values: list[Tensor]
    length: int

    def __len__(self) -> int:
        return len(self.logits)

    def __getitem__(self, rows: Any) -> QueryCache:
        """The runs of some rows."""
        return QueryCache(**{item.name: rows_of(getattr(self, item.name), rows) for item in fields(self)})

    def value(self, name: str) -> Tensor:
        """The value at a hook point, `blocks.2.hook_resid_mid`: [n, 4, …]."""
        _, layer, point = name.split(".", 2)
        held = {"attn.hook_z": self.z, "hook_resid_pre": self.resid_pre, "hook_attn_out": self.attn_out,
                "hook_mlp_out": self.mlp_out}  # fmt: skip
        if point in held:
            return held[point][:, int(layer)]
        middle = self.resid_pre[:, int(layer)] + self.attn_out[:, int(layer)]
        return middle if point == "hook_resid_mid" else middle + self.mlp_out[:, int(layer)]


# Attention scores of one batch of variants, the largest array there is: about 130 MB.
SCORES_PER_PASS = 32_000_000
KEPT = ("hook_resid_pre", "attn.hook_rot_k", "attn.hook_v", "attn.hook_z", "hook_attn_out", "hook_mlp_out")


@torch.no_grad()
def cache_query(model: Transformer, tokens: Int[Tensor, "n T"]) -> QueryCache:
    """One forward pass over prompts that end in the query's '='."""
    check_unhooked(model)
    with cached(model, *(f"blocks.*.{point}" for point in KEPT)) as cache:
        logits = model(tokens)[:, -1]
    return query_part(cache, logits)


def query_part(cache: Mapping[str, Tensor], logits: Float[Tensor, "n d_vocab"]) -> QueryCache:
    """From the activations of a whole run (the hook points KEPT) what resuming needs."""
    n_layers = sum(name.endswith(KEPT[0]) for name in cache)

    def layers(point: str) -> list[Tensor]:
        return [cache[f"blocks.{layer}.{point}"] for layer in range(n_layers)]

    def at_query(point: str) -> Tensor:
        return torch.stack([value[:, -N_QUERY:] for value in layers(point)], 1)

    return QueryCache(
        resid_pre=at_query("hook_resid_pre"),
        z=at_query("attn.hook_z"),
        attn_out=at_query("hook_attn_out"),
        mlp_out=at_query("hook_mlp_out"),
        logits=logits,
        keys=[value[:, :-N_QUERY].transpose(1, 2) for value in layers("attn.hook_rot_k")],
        values=[value[:, :-N_QUERY].transpose(1, 2) for value in layers("attn.hook_v")],
        length=cache["blocks.0.hook_resid_pre"].shape[1],
    )


def variants_per_pass(model: Transformer, run: QueryCache) -> int:
    """How many variants of these runs go into one batch."""
    return max(1, SCORES_PER_PASS // (len(run) * model.config.n_heads * N_QUERY * run.length))


@torch.no_grad()
def resume_query(
    model: Transformer,
    run: QueryCache,
    changes: Mapping[str, Change],
    variants: int = 1,
    blocked: Bool[Tensor, "variants n_layers n_heads 4 5"] | None = None,
) -> Float[Tensor, "n variants d_vocab"]:
    """The logits behind '=' if the named points had other values at the query's tokens.

    blocked: in each variant, layer and head, the slots of the context that each query token may not attend to.
    """
    check_unhooked(model)
    last = model.config.n_layers - 1
    first = 0 if blocked is not None else min((int(name.split(".")[1]) for name in changes), default=last)
    cos, sin = (part[-N_QUERY:] for part in model.angles(run.length, None))

    def heads(layer: int, x: Tensor) -> Tensor:
        if layer == first and blocked is None and f"blocks.{layer}.hook_resid_pre" not in changes:
            return run.z[:, layer, None]
        block, kept_out = blocks(model)[layer], None if blocked is None else blocked[:, layer]
        return attend(block.attn, block.ln1(x), run.keys[layer], run.values[layer], cos, sin, kept_out)

    x = run_on(model, run.resid_pre, first, changes, heads)
    return model.read_out(x[:, :, -1]).expand(-1, variants, -1)


def attend(
    attention: Attention,
    normed: Float[Tensor, "n before 4 d_model"],
    keys: Float[Tensor, "n n_heads past d_head"],
    values: Float[Tensor, "n n_heads past d_head"],
    cos: Tensor,
    sin: Tensor,
    blocked: Bool[Tensor, "variants n_heads 4 5"] | None = None,
) -> Float[Tensor, "n variants 4 n_heads d_head"]:
    """Head outputs at the query's tokens: every variant sees the same context, and its own tokens so far."""
    q, k, v = attention.queries_keys_values(normed)
    q, k = rotate(q, cos, sin), rotate(k, cos, sin)
    return mix(attention, q, k, v, keys, values, blocked)


def mix(
    attention: Attention, q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, blocked: Tensor | None = None
) -> Tensor:
    """Attention from rotated queries of the query's tokens to the context and to those tokens themselves."""
    variants = q.shape[1]
    q, k, v = (part.permute(0, 3, 1, 2, 4) for part in (q, k, v))  # [n, heads, variants, 4, d_head]
    past = (q.flatten(2, 3) @ keys.transpose(2, 3)).unflatten(2, (variants, N_QUERY))
    if blocked is not None:
        slots = torch.arange(keys.shape[2], device=q.device) % FACT_LENGTH
        past = past.masked_fill(blocked.transpose(0, 1)[..., slots], float("-inf"))
    own = q @ k.transpose(3, 4)
    future = torch.ones(N_QUERY, N_QUERY, dtype=torch.bool, device=q.device).triu(1)
    own = own.masked_fill(future, float("-inf")).expand(-1, -1, past.shape[2], -1, -1)
    weights = (torch.cat([past, own], -1) * attention.d_head**-0.5).softmax(-1)
    from_past = (weights[..., :-N_QUERY].flatten(2, 3) @ values).unflatten(2, past.shape[2:4])
    return (from_past + weights[..., -N_QUERY:] @ v).permute(0, 2, 3, 1, 4)
