"""Which components carry a mechanism: every head and MLP at every token of the query, alone and in sets.

All interventions are patches between the two sides of minimal pairs (minimal_pairs.py), in one batch of resumed runs:

    denoise   clean values into the corrupt run: does the component suffice to bring the clean answer back?
    noise     corrupt values into the clean run: is it necessary?

An effect is a change towards the clean answer (denoise) or away from it (noise), so that both have the sign of the
total effect, metric(clean) − metric(corrupt). A component's effect alone says little where several share the work or
step in for each other. Sets show that: the smallest set that carries most of the total effect is found on one half of
the pairs and judged on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from icalgebra.interp.hooks import Change
from icalgebra.interp.minimal_pairs import MinimalPairs
from icalgebra.interp.patching import target_logit, target_probability
from icalgebra.interp.query_cache import N_QUERY, QUERY_TOKENS, QueryCache, cache_query, resume_query, variants_per_pass
from icalgebra.model.predict import chunks, on_device, passes
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Float

Direction = Literal["denoise", "noise"]
METRICS = ("probability", "logit_difference")


@dataclass(frozen=True, order=True)
class Component:
    """A head, or (head None) an MLP, of a layer at one token of the query."""

    layer: int
    head: int | None
    token: int = N_QUERY - 1

    def __str__(self) -> str:
        name = f"mlp {self.layer}" if self.head is None else f"{self.layer}.{self.head}"
        return name if self.token == N_QUERY - 1 else f"{name} at {QUERY_TOKENS[self.token]}"


ComponentSet = Sequence[Component]


def all_components(model: Transformer, tokens: Sequence[int] = range(N_QUERY)) -> list[Component]:
    """Layer by layer; in the last layer only what stands at '=' can matter."""
    config = model.config
    return [
        Component(layer, head, token)
        for layer in range(config.n_layers)
        for token in tokens
        if layer < config.n_layers - 1 or token == N_QUERY - 1
        for head in (*range(config.n_heads), None)
    ]


@dataclass(frozen=True, eq=False)
class Effects:
    """By metric, what every set does on every pair, [n, sets]; the metric of the unpatched runs, [n]."""

    effect: dict[str, Float[np.ndarray, "n sets"]]
    clean: dict[str, Float[np.ndarray, " n"]]
    corrupt: dict[str, Float[np.ndarray, " n"]]

    def total(self, metric: str) -> Float[np.ndarray, " n"]:
        return self.clean[metric] - self.corrupt[metric]

    def share(self, metric: str) -> Float[np.ndarray, " sets"]:
        """Of the total effect, over all pairs."""
        return self.effect[metric].mean(0) / self.total(metric).mean()


@torch.no_grad()
def component_effects(
    model: Transformer, pairs: MinimalPairs, sets: Sequence[ComponentSet], direction: Direction = "denoise"
) -> Effects:
    """Patch every set of components at once, on every pair."""
    masks = Masks.of_sets(model, sets)
    first_layers = [min((component.layer for component in components), default=0) for components in sets]
    return _effects(model, pairs, first_layers, direction, masks.changes)


@torch.no_grad()
def residual_effects(model: Transformer, pairs: MinimalPairs) -> tuple[list[tuple[str, int]], Effects]:
    """The residual stream itself, behind every attention (resid_mid) and every MLP (resid_post), at every token."""
    places = [
        (f"blocks.{layer}.{point}", token)
        for layer in range(model.config.n_layers)
        for point in ("hook_resid_mid", "hook_resid_post")
        for token in range(N_QUERY)
    ]

    def changes(source: QueryCache, variants: slice) -> dict[str, Change]:
        chosen = places[variants]
        names = dict.fromkeys(name for name, _ in chosen)
        return {name: _swap_tokens(source.value(name), [t if n == name else None for n, t in chosen]) for name in names}

    first_layers = [int(name.split(".")[1]) for name, _ in places]
    return places, _effects(model, pairs, first_layers, "denoise", changes)


def _swap_tokens(source: Tensor, tokens: Sequence[int | None]) -> Change:
    """In variant i the token's value is the source's; None: nothing."""
    chosen = torch.zeros(len(tokens), N_QUERY, dtype=torch.bool, device=source.device)
    for i, token in enumerate(tokens):
        if token is not None:
            chosen[i, token] = True
    return set_where(chosen[None, :, :, None], source[:, None])


@dataclass(frozen=True)
class Masks:
    """Sets of components as masks."""

    heads: Tensor  # [sets, n_layers, 4, n_heads]
    mlps: Tensor  # [sets, n_layers, 4]

    @staticmethod
    def of_sets(model: Transformer, sets: Sequence[ComponentSet]) -> Masks:
        config, device = model.config, model.unembedding.device
        heads = torch.zeros(len(sets), config.n_layers, N_QUERY, config.n_heads, dtype=torch.bool)
        mlps = torch.zeros(len(sets), config.n_layers, N_QUERY, dtype=torch.bool)
        for i, components in enumerate(sets):
            for component in components:
                if component.head is None:
                    mlps[i, component.layer, component.token] = True
                else:
                    heads[i, component.layer, component.token, component.head] = True
        return Masks(heads.to(device), mlps.to(device))

    def changes(self, source: QueryCache, variants: slice) -> dict[str, Change]:
        """Chosen components take the source's values."""
        found: dict[str, Change] = {}
        for layer in range(self.heads.shape[1]):
            heads, mlps = self.heads[variants, layer], self.mlps[variants, layer]
            if heads.any():
                found[f"blocks.{layer}.attn.hook_z"] = set_where(heads[None, ..., None], source.z[:, layer, None])
            if mlps.any():
                found[f"blocks.{layer}.hook_mlp_out"] = set_where(mlps[None, ..., None], source.mlp_out[:, layer, None])
        return found


def set_where(mask: Tensor, new: Tensor) -> Change:
    return lambda value: torch.where(mask, new, value)


Changes = Callable[[QueryCache, slice], dict[str, Change]]


def _effects(
    model: Transformer, pairs: MinimalPairs, first_layers: Sequence[int], direction: Direction, changes: Changes
) -> Effects:
    """In batches of pairs and of sets; changes(source, variants) says what is patched.

    A batch resumes at its earliest change, so neighbouring sets that begin in the same layer share one.
    """
    device = model.unembedding.device
    parts: list[dict[str, dict[str, np.ndarray]]] = []
    for rows in passes(model, pairs.clean):
        part = pairs[rows]
        clean, corrupt = (
            cache_query(model, on_device(model, side)) for side in (part.clean_prompts, part.corrupt_prompts)
        )
        answers = [torch.from_numpy(answer).to(device) for answer in (part.clean_answer, part.corrupt_answer)]
        base, source = (corrupt, clean) if direction == "denoise" else (clean, corrupt)
        patched = [
            measured(resume_query(model, base, changes(source, sets), sets.stop - sets.start), *answers)
            for sets in _batches(first_layers, variants_per_pass(model, base))
        ]
        plain = {
            name: measured(run.logits[:, None], *answers) for name, run in (("clean", clean), ("corrupt", corrupt))
        }
        before, sign = (plain["corrupt"], 1) if direction == "denoise" else (plain["clean"], -1)
        effect = {m: sign * (np.concatenate([found[m] for found in patched], 1) - before[m]) for m in METRICS}
        parts.append({"effect": effect, **{side: {m: plain[side][m][:, 0] for m in METRICS} for side in plain}})
    return Effects(
        **{name: {m: np.concatenate([part[name][m] for part in parts]) for m in METRICS} for name in parts[0]}
    )


def _batches(first_layers: Sequence[int], size: int) -> Iterator[slice]:
    begin = 0
    for _, group in groupby(first_layers):
        end = begin + len(list(group))
        yield from (slice(begin + part.start, begin + part.stop) for part in chunks(end - begin, size))
        begin = end


def measured(logits: Float[Tensor, "n variants d_vocab"], clean: Tensor, corrupt: Tensor) -> dict[str, np.ndarray]:
    """The clean answer's probability (over all tokens), and how far its logit is above the corrupt answer's."""
    return {
        "probability": target_probability(logits, clean).cpu().numpy(),
        "logit_difference": (target_logit(logits, clean) - target_logit(logits, corrupt)).cpu().numpy(),
    }


@dataclass(frozen=True)
class FoundSet:
    """A greedy set: its components in the order they were added, and its share of the total effect after each."""

    components: list[Component]
    shares: list[float]  # on the pairs that chose it


def smallest_set(
    model: Transformer,
    pairs: MinimalPairs,
    share: float = 0.9,
    largest: int = 12,
    candidates: Sequence[Component] | None = None,
    metric: str = "logit_difference",
) -> FoundSet:
    """Greedily add the component that brings most, until the set has this share of the total effect."""
    rest = list(all_components(model) if candidates is None else candidates)
    chosen: list[Component] = []
    shares: list[float] = []
    while rest and len(chosen) < largest and (not shares or shares[-1] < share):
        reached = component_effects(model, pairs, [[*chosen, extra] for extra in rest]).share(metric)
        best = int(reached.argmax())
        chosen.append(rest.pop(best))
        shares.append(float(reached[best]))
    return FoundSet(chosen, shares)


def without_each(components: ComponentSet) -> list[list[Component]]:
    """The set without each of its members: what each adds, given the rest."""
    return [[other for other in components if other != component] for component in components]
