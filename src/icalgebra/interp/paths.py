"""Path patching: which component feeds which, and through which input?

On minimal pairs (minimal_pairs.py), the output of a sender changes from its corrupt to its clean value on its way to
one input of one receiver, and on no other way: every component between the two keeps its corrupt value. The receiver's
new output then runs on to the logits.

    sender    the embedding, a head or an MLP, at a token of the changed fact (or the ',' behind it) or of the query
    receiver  a head (through its query, key or value input), an MLP, or the logits, at a token of the query

An edge's effect is a share of the total effect, the logit difference of the clean run minus that of the corrupt run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from icalgebra.interp.components import Component, measured
from icalgebra.interp.hooks import cached, check_unhooked
from icalgebra.interp.last_token_cache import blocks
from icalgebra.interp.minimal_pairs import MinimalPairs
from icalgebra.interp.query_cache import KEPT, N_QUERY, QUERY_TOKENS, QueryCache, query_part, resume_query
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.model.predict import on_device, passes
from icalgebra.model.transformer import Transformer, rotate

if TYPE_CHECKING:
    from jaxtyping import Float, Int

Input = Literal["query", "key", "value", "residual"]
FACT_TOKENS = ("left", "right", "equals", "answer", "comma behind")
TOKENS = (*(f"the fact's {name}" for name in FACT_TOKENS), *(f"the query's {name}" for name in QUERY_TOKENS))
N_FACT = len(FACT_TOKENS)
EMBEDDING = -1  # the layer of a token's embedding
UNMOVED = 1e-6  # a sender whose output differs by less between the two runs has nothing to send


@dataclass(frozen=True, order=True)
class Sender:
    """A head, or (head None) an MLP, or (layer EMBEDDING) the embedding, at one of TOKENS."""

    layer: int
    head: int | None
    token: int

    def __str__(self) -> str:
        part = f"mlp {self.layer}" if self.head is None else f"{self.layer}.{self.head}"
        return f"{'embedding' if self.layer == EMBEDDING else part} at {TOKENS[self.token]}"


@dataclass(frozen=True)
class Edge:
    """A path, and the share of the total effect that it carries by itself."""

    sender: Sender
    receiver: Component | None  # None: the logits
    input: Input
    share: float

    def __str__(self) -> str:
        receiver = "logits" if self.receiver is None else f"{self.receiver}, {self.input}"
        return f"{self.sender} → {receiver}: {self.share:.2f}"


@torch.no_grad()
def path_effects(model: Transformer, pairs: MinimalPairs, receiver: Component | None) -> list[Edge]:
    """Every path of one step into a receiver (None: the logits), the strongest first."""
    found: dict[tuple[Sender, Input], list[np.ndarray]] = {}
    totals = []
    for rows in passes(model, pairs.clean):
        part = pairs[rows]
        clean = _Run(model, on_device(model, part.clean_prompts), part.place)
        corrupt = _Run(model, on_device(model, part.corrupt_prompts), part.place)
        answers = [on_device(model, answer) for answer in (part.clean_answer, part.corrupt_answer)]
        before, after = (measured(run.query.logits[:, None], *answers)["logit_difference"] for run in (corrupt, clean))
        totals.append((after - before)[:, 0])
        for input_, senders, logits in _patched(model, clean, corrupt, receiver):
            effects = measured(logits, *answers)["logit_difference"] - before
            for sender, effect in zip(senders, effects.T):
                found.setdefault((sender, input_), []).append(effect)
    # A sender that did not move in some batches sent nothing there.
    total = np.concatenate(totals).sum()
    edges = [
        Edge(sender, receiver, input_, float(sum(effect.sum() for effect in effects) / total))
        for (sender, input_), effects in found.items()
    ]
    return sorted(edges, key=lambda edge: -abs(edge.share))


class _Run:
    """A run with its activations at the nine tokens that differ or are asked, and all keys and values."""

    def __init__(self, model: Transformer, tokens: Int[Tensor, "n T"], place: np.ndarray) -> None:
        check_unhooked(model)
        with cached(model, *(f"blocks.*.{point}" for point in KEPT)) as cache:
            logits = model(tokens)[:, -1]
        self.query: QueryCache = query_part(cache, logits)
        of_fact = torch.arange(1, N_FACT + 1, device=tokens.device)
        fact = torch.from_numpy(place).to(tokens.device)[:, None] * FACT_LENGTH + of_fact
        query = torch.arange(tokens.shape[1] - N_QUERY, tokens.shape[1]).expand(len(tokens), -1)
        self.positions = torch.cat([fact, query.to(tokens.device)], 1)
        rows = torch.arange(len(tokens), device=tokens.device)[:, None]
        self._at = {name: value[rows, self.positions] for name, value in cache.items() if "rot_k" not in name}
        self.keys = [cache[f"blocks.{i}.attn.hook_rot_k"].transpose(1, 2) for i in range(model.config.n_layers)]
        self.values = [cache[f"blocks.{i}.attn.hook_v"].transpose(1, 2) for i in range(model.config.n_layers)]

    def at(self, layer: int, point: str) -> Tensor:
        """[n, 9, …]"""
        return self._at[f"blocks.{layer}.{point}"]

    def resid_mid(self, layer: int) -> Tensor:
        return self.at(layer, "hook_resid_pre") + self.at(layer, "hook_attn_out")


def _patched(
    model: Transformer, clean: _Run, corrupt: _Run, receiver: Component | None
) -> Iterator[tuple[Input, list[Sender], Float[Tensor, "n senders d_vocab"]]]:
    """For every input of the receiver the senders that reach it, and the logits with each of them patched."""
    n_layers = model.config.n_layers
    token = N_FACT + (N_QUERY - 1 if receiver is None else receiver.token)
    before = n_layers if receiver is None else receiver.layer
    also_heads_of = before if receiver is not None and receiver.head is None else None
    moved = _moved(model, clean, corrupt, before, also_heads_of)
    here = {sender: delta for sender, delta in moved.items() if sender.token == token}
    if receiver is None:
        final = corrupt.at(n_layers - 1, "hook_mlp_out") + corrupt.resid_mid(n_layers - 1)
        yield "residual", list(here), model.read_out(_stacked(final[:, token], here))
    elif receiver.head is None:
        yield "residual", list(here), _into_mlp(model, corrupt, receiver, here)
    else:
        earlier = {sender: delta for sender, delta in moved.items() if sender.token <= token}
        inputs: dict[Input, dict[Sender, Tensor]] = {"query": here, "key": earlier, "value": earlier}
        for input_, senders in inputs.items():
            if senders:
                yield input_, list(senders), _into_head(model, corrupt, receiver, input_, senders)


def _moved(
    model: Transformer, clean: _Run, corrupt: _Run, before: int, also_heads_of: int | None
) -> dict[Sender, Float[Tensor, "n d_model"]]:
    """What every earlier component writes in the clean run minus what it writes in the corrupt one."""
    found: dict[Sender, Tensor] = {}
    embedded = clean.at(0, "hook_resid_pre") - corrupt.at(0, "hook_resid_pre")
    for token in range(len(TOKENS)):
        found[Sender(EMBEDDING, None, token)] = embedded[:, token]
    for layer in range(min(model.config.n_layers, before + (also_heads_of is not None))):
        attention = blocks(model)[layer].attn
        z = clean.at(layer, "attn.hook_z") - corrupt.at(layer, "attn.hook_z")
        wrote = torch.einsum("nthe,hed->nthd", z, attention.W_O)
        mlp = clean.at(layer, "hook_mlp_out") - corrupt.at(layer, "hook_mlp_out")
        for token in range(len(TOKENS)):
            found |= {Sender(layer, head, token): wrote[:, token, head] for head in range(attention.n_heads)}
            if layer != also_heads_of:
                found[Sender(layer, None, token)] = mlp[:, token]
    return {sender: delta for sender, delta in found.items() if delta.abs().max() > UNMOVED}


def _stacked(base: Tensor, senders: dict[Sender, Tensor]) -> Float[Tensor, "n senders d_model"]:
    return base[:, None] + torch.stack(list(senders.values()), 1)


def _into_mlp(model: Transformer, run: _Run, receiver: Component, senders: dict[Sender, Tensor]) -> Tensor:
    block = blocks(model)[receiver.layer]
    base = run.resid_mid(receiver.layer)[:, N_FACT + receiver.token]
    new = block.mlp(block.ln2(_stacked(base, senders)))

    def change(value: Tensor) -> Tensor:
        value = value.expand(-1, len(senders), -1, -1).clone()
        value[:, :, receiver.token] = new
        return value

    return resume_query(model, run.query, {f"blocks.{receiver.layer}.hook_mlp_out": change}, len(senders))


def _into_head(
    model: Transformer, run: _Run, receiver: Component, input_: Input, senders: dict[Sender, Tensor]
) -> Tensor:
    assert receiver.head is not None
    new = _head_output(model, run, receiver, input_, senders)

    def change(z: Tensor) -> Tensor:
        z = z.expand(-1, len(senders), -1, -1, -1).clone()
        z[:, :, receiver.token, receiver.head] = new
        return z

    return resume_query(model, run.query, {f"blocks.{receiver.layer}.attn.hook_z": change}, len(senders))


def _head_output(
    model: Transformer, run: _Run, receiver: Component, input_: Input, senders: dict[Sender, Tensor]
) -> Float[Tensor, "n senders d_head"]:
    """The receiver's output if one of its inputs read the sender's clean value."""
    block, head, layer = blocks(model)[receiver.layer], receiver.head, receiver.layer
    token, length = N_FACT + receiver.token, run.query.length
    visible = length - N_QUERY + receiver.token + 1
    keys, values = run.keys[layer][:, head, :visible], run.values[layer][:, head, :visible]
    cos, sin = (part[:, 0] for part in model.angles(length, None))  # [T, d_head / 2]
    base = run.at(layer, "hook_resid_pre")
    rows = torch.arange(len(base), device=base.device)

    def projected(linear: torch.nn.Linear, x: Tensor, position: Tensor | None) -> Tensor:
        """One head's share of a projection, rotated to its position [n, …]."""
        out = linear(block.ln1(x)).unflatten(-1, (block.attn.n_heads, block.attn.d_head))[..., head, :]
        if position is None:
            return out
        shape = (len(x), *[1] * (out.ndim - 2), -1)
        return rotate(out, cos[position].view(shape), sin[position].view(shape))

    q = projected(block.attn.q, base[:, token], run.positions[:, token])
    scale = block.attn.d_head**-0.5
    if input_ == "query":
        q = projected(block.attn.q, _stacked(base[:, token], senders), run.positions[:, token])
        return (q @ keys.transpose(1, 2) * scale).softmax(-1) @ values
    scores = torch.einsum("nd,ntd->nt", q, keys) * scale
    found = []
    for sender, delta in senders.items():
        position, x = run.positions[:, sender.token], base[:, sender.token] + delta
        if input_ == "key":
            changed = scores.clone()
            changed[rows, position] = (q * projected(block.attn.k, x, position)).sum(-1) * scale
            found.append(torch.einsum("nt,ntd->nd", changed.softmax(-1), values))
        else:
            new = values.clone()
            new[rows, position] = projected(block.attn.v, x, None)
            found.append(torch.einsum("nt,ntd->nd", scores.softmax(-1), new))
    return torch.stack(found, 1)


def circuit(
    model: Transformer, pairs: MinimalPairs, receivers: Sequence[Component | None], least: float = 0.1
) -> list[Edge]:
    """The edges into these receivers that carry at least this share of the total effect."""
    edges = [edge for receiver in receivers for edge in path_effects(model, pairs, receiver)]
    return [edge for edge in edges if abs(edge.share) >= least]
