"""A two-layer transformer whose weights are written by hand, so that its circuit is known: it copies, and nothing else.

    layer 0   head 0, 1, 2, 3 attend to the token 1, 2, 3, 4 places back and write it to a subspace of their own.
              At the ',' behind a fact xy=z that is z, '=', y, x; at the query's '=' it is y, x, …
    layer 1   head 0 compares x and y at '=' with x and y at every ',': it attends to the ',' behind the fact xy=…
              and writes that fact's z to the logits. With `shared`, heads 0 and 1 do so with half the strength each.

Queries and keys are turned by RoPE, so offsets are told by the fast pairs of dimensions and contents by the slow ones.
"""

from __future__ import annotations

import torch

from icalgebra.model.transformer import Attention, Block, ModelConfig, Transformer

N_VARIABLES, N_HEADS, D_HEAD = 16, 4, 64
D_MODEL = N_HEADS * D_HEAD
N_TOKENS = N_VARIABLES + 2
HALF = D_HEAD // 2  # a pair of dimensions is (i, i + HALF)
FAST = 6  # pairs that turn fast enough to tell offsets apart
SLOW = [half + pair for half in (0, HALF) for pair in range(12, HALF)]  # dimensions that hardly turn: contents
SHARPNESS = 4.0  # a match more makes attention e^24 times stronger


def subspace(i: int) -> slice:
    """The token itself (0), or what head i − 1 of layer 0 has read."""
    return slice(i * N_TOKENS, (i + 1) * N_TOKENS)


def planted_model(shared: bool = False) -> Transformer:
    model = Transformer(ModelConfig(2, N_HEADS, D_MODEL, N_VARIABLES, N_VARIABLES, 1e8)).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.zero_()
    for norm in [module for module in model.modules() if type(module).__name__ == "LayerNorm"]:
        norm.w.fill_(1.0)
    model.embed.weight[:, subspace(0)] = torch.eye(N_TOKENS)
    first, second = (block for block in model.blocks if isinstance(block, Block))
    for head in range(N_HEADS):
        _read_back(first.attn, head, offset=head + 1)
    for head in range(2 if shared else 1):
        _copy(second.attn, head, strength=0.5 if shared else 1.0)
    return model


def _read_back(attention: Attention, head: int, offset: int) -> None:
    """Attend `offset` tokens back whatever they are, and write what stands there to the head's subspace."""
    frequencies = 1e8 ** (-torch.arange(0, D_HEAD, 2) / D_HEAD)
    rows = head * D_HEAD
    for pair in range(FAST):
        angle = frequencies[pair] * offset  # the query is turned back, so that the score is highest at this distance
        attention.q.bias[rows + pair] = 40 * torch.cos(angle)
        attention.q.bias[rows + HALF + pair] = -40 * torch.sin(angle)
        attention.k.bias[rows + pair] = 1.0
    attention.v.weight[rows : rows + N_TOKENS, subspace(0)] = torch.eye(N_TOKENS)
    attention.o.weight[subspace(head + 1), rows : rows + N_TOKENS] = torch.eye(N_TOKENS)


def _copy(attention: Attention, head: int, strength: float) -> None:
    """q: x and y at '=' (2 and 1 tokens back); k: x and y at ',' (4 and 3 back); v: z (1 back), to the logits."""
    rows = head * D_HEAD
    variables = torch.arange(N_VARIABLES)
    for back_at_query, back_at_comma, first in ((2, 4, 0), (1, 3, N_VARIABLES)):
        dimensions = rows + torch.tensor(SLOW[first : first + N_VARIABLES])
        attention.q.weight[dimensions, subspace(back_at_query).start + variables] = SHARPNESS
        attention.k.weight[dimensions, subspace(back_at_comma).start + variables] = 1.0
    on_comma = rows + SLOW[2 * N_VARIABLES]
    attention.q.bias[on_comma] = 30.0
    attention.k.weight[on_comma, subspace(0).start + N_TOKENS - 1] = 1.0
    attention.v.weight[rows : rows + N_TOKENS, subspace(1)] = torch.eye(N_TOKENS)
    attention.o.weight[subspace(0), rows : rows + N_TOKENS] = strength * torch.eye(N_TOKENS)
