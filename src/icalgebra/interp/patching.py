"""Activation patching: how a metric changes if a site of the corrupt run gets its value from the clean run.

    IE(site) = metric(corrupt run with the clean value at the site) − metric(corrupt run)

If all sites are at the last position, runs are resumed (last_token_cache.py) with all heads of a layer in one batch:
the sweep over all heads costs about two forward passes. Otherwise every site takes a forward pass with a hook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from icalgebra.errors import InputError, unknown
from icalgebra.interp.head_names import HeadLike, as_head, looks_like_head
from icalgebra.interp.hooks import ATTENTION, Change, cached, hooked, place_of, replace
from icalgebra.interp.last_token_cache import LastTokenCache, as_run, cache_last_token, resumable, resume
from icalgebra.language.parsing import as_prompts, is_text
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.model.partial_pass import is_hooked
from icalgebra.model.predict import on_device, passes
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

Metric = Callable[[Tensor, Tensor], Tensor]  # logits [n, variants, d_vocab] and targets [n] to scores [n, variants]

HEADED = (*ATTENTION, *(f"attn.hook_{name}" for name in ("q", "k", "v", "rot_q", "rot_k", "z", "result")))


@dataclass(frozen=True)
class Site:
    """A hook point: one head or (None) all, at one position or (None) all."""

    name: str
    head: int | None = None
    position: int | None = -1


def head_sites(model: Transformer) -> list[Site]:
    """Every head's output at the last position, layer by layer."""
    config = model.config
    return [Site(f"blocks.{i}.attn.hook_z", head) for i in range(config.n_layers) for head in range(config.n_heads)]


def as_site(model: Transformer, given: HeadLike | Site) -> Site:
    """A head's output, or a hook point by its name, at the last position."""
    if looks_like_head(given):
        layer, head = as_head(model, given)  # type: ignore[arg-type]
        return Site(f"blocks.{layer}.attn.hook_z", head)
    site = given if isinstance(given, Site) else Site(str(given))
    if site.name not in model.hook_points():
        raise unknown("head or hook point", site.name, model.hook_points())
    if site.head is not None and not site.name.endswith(HEADED):
        raise InputError(f"{site.name} is not divided into heads; leave the site's head out")
    if site.head is not None:
        as_head(model, (0, site.head))
    return site


def target_probability(logits: Float[Tensor, "n variants d_vocab"], targets: Int[Tensor, " n"]) -> Tensor:
    """Probability of the target under the softmax over all tokens."""
    return logits.softmax(-1).gather(-1, _column(logits, targets))[..., 0]


def target_logit(logits: Float[Tensor, "n variants d_vocab"], targets: Int[Tensor, " n"]) -> Tensor:
    return logits.gather(-1, _column(logits, targets))[..., 0]


def _column(logits: Tensor, targets: Tensor) -> Tensor:
    return targets.view(-1, 1, 1).expand(-1, logits.shape[1], 1)


@torch.no_grad()
def patch(model: Transformer, clean: Any, corrupt: Any, *sites: HeadLike | Site) -> Float[Tensor, "n d_vocab"]:
    """Logits of the corrupt run with some sites' values at the last position taken from the clean run, all at once.

    clean, corrupt: sequences, text or token rows that end in their query's '='; or cached runs, corrupt with keys=True.
    A site is a head ("2.1") or a hook point ("blocks.2.hook_mlp_out"). indirect_effects patches every head alone.
    """
    source, base = as_run(model, clean), as_run(model, corrupt, keys=True)
    if len(source) != len(base):
        raise InputError(f"patching needs as many clean as corrupt prompts, not {len(source)} and {len(base)}")
    chosen: dict[str, list[int | None]] = {}
    for site in (as_site(model, given) for given in sites):
        if site.position != -1:
            raise InputError("patch acts at the last position; for others use hooked and replace")
        chosen.setdefault(site.name, []).append(site.head)
    changes = {name: _swap(value_of(source, name), [heads]) for name, heads in chosen.items() if resumable(name)}
    if len(changes) < len(chosen):
        resume(model, base, dict.fromkeys(chosen, lambda value: value))  # says which points can be patched
    return resume(model, base, changes)[:, 0]


@torch.no_grad()
def indirect_effects(
    model: Transformer,
    clean: Any,
    corrupt: Any,
    targets: np.ndarray,
    sites: Sequence[HeadLike | Site] | None = None,
    metric: Metric = target_probability,
    resumed: bool | None = None,
) -> Float[np.ndarray, "sites n"]:
    """The effect of every site (by default every head) on every pair of prompts [n, T], with one target token per pair.

    clean, corrupt: sequences, text or token rows. The metric is of the logits after the last token, so prompts end in
    their query's '='. sites: heads ("2.1"), names of hook points at the last position, or Site values.
    resumed: None resumes runs where that is possible; False makes plain forward passes, which tests compare with.
    Inside `hooked` they are plain, so that the effects are those of the changed model.
    """
    clean, corrupt, targets = _checked(model, clean, corrupt, targets)
    sites = head_sites(model) if sites is None else [as_site(model, site) for site in sites]
    if not sites:
        raise InputError("name at least one site to patch, such as ['2.1']")
    if resumed is None:
        resumed = not is_hooked(model) and all(site.position == -1 and resumable(site.name) for site in sites)
    effects = [
        _effects(
            model, on_device(model, clean[rows]), on_device(model, corrupt[rows]), on_device(model, targets[rows]),
            sites, metric, resumed,
        )
        for rows in passes(model, clean)
    ]  # fmt: skip
    return torch.cat(effects, dim=1).cpu().numpy()


def _checked(
    model: Transformer, clean: Any, corrupt: Any, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    vocabulary = Vocabulary(model.config.n_variables)
    clean, corrupt = (
        as_prompts(given, vocabulary) if is_text(given) else vocabulary.rows(getattr(given, "prompts", given))
        for given in (clean, corrupt)
    )
    targets = np.asarray(targets)
    if not np.issubdtype(targets.dtype, np.integer):
        raise InputError(f"targets are token ids, such as sequences.answers, and not {targets.dtype}")
    if not len(clean) or clean.shape != corrupt.shape or targets.shape != clean.shape[:1]:
        raise InputError(
            "patching needs clean and corrupt prompts of one shape and one target per pair, "
            f"not {list(clean.shape)}, {list(corrupt.shape)} and {list(targets.shape)}"
        )
    if not 0 <= targets.min() <= targets.max() < vocabulary.size:
        raise InputError(f"targets must be token ids, 0 to {vocabulary.size - 1}")
    return clean, corrupt, targets


def _effects(
    model: Transformer, clean: Tensor, corrupt: Tensor, targets: Tensor, sites: Sequence[Site], metric: Metric,
    resumed: bool,
) -> Tensor:  # fmt: skip
    if resumed:
        base = cache_last_token(model, corrupt, keys=True)
        before = base.logits
        patched = _resumed(model, cache_last_token(model, clean), base, sites)
    else:
        before = model(corrupt)[:, -1]
        patched = list(_hooked(model, clean, corrupt, sites))
    scores = metric(torch.stack(patched, 1), targets) - metric(before[:, None], targets)
    return scores.T


def _resumed(model: Transformer, source: LastTokenCache, base: LastTokenCache, sites: Sequence[Site]) -> list[Tensor]:
    """Logits of every patched run, [n, d_vocab] each; sites of one hook point make one batch."""
    found: dict[Site, Tensor] = {}
    for name in dict.fromkeys(site.name for site in sites):
        heads = [site.head for site in sites if site.name == name]
        alone = [[head] for head in heads]
        logits = resume(model, base, {name: _swap(value_of(source, name), alone)}, len(heads))
        found |= {Site(name, head): logits[:, i] for i, head in enumerate(heads)}
    return [found[site] for site in sites]


def value_of(run: LastTokenCache, name: str) -> Tensor:
    """The cached value of a hook point at the last position."""
    _, layer, point = name.split(".", 2)
    place = int(layer)
    if point == "attn.hook_z":
        return run.z[:, place]
    if point == "hook_resid_mid":
        return run.resid_pre[:, place] + run.attn_out[:, place]
    if point == "hook_resid_post":
        return run.resid_final if place == run.z.shape[1] - 1 else run.resid_pre[:, place + 1]
    held = {"hook_resid_pre": run.resid_pre, "hook_attn_out": run.attn_out, "hook_mlp_out": run.mlp_out}
    return held[point][:, place]


def _swap(source: Tensor, variants: Sequence[Sequence[int | None]]) -> Change:
    """Each variant gets the source's value in its heads; None: the whole value."""
    if len(variants) == 1 and None in variants[0]:
        return lambda value: source[:, None].expand_as(value)
    chosen = torch.zeros(len(variants), source.shape[1], dtype=torch.bool, device=source.device)
    for i, heads in enumerate(variants):
        for head in heads:
            chosen[i, slice(None) if head is None else head] = True
    return swap_heads(source, chosen)


def swap_heads(source: Float[Tensor, "n n_heads d_head"], chosen: Bool[Tensor, "variants n_heads"]) -> Change:
    """Each variant takes its chosen heads of z from the source."""
    return lambda z: torch.where(chosen[None, :, :, None], source[:, None], z)


def _hooked(model: Transformer, clean: Tensor, corrupt: Tensor, sites: Iterable[Site]) -> Iterable[Tensor]:
    """One forward pass with a hook per site; sites of one hook point that follow each other share a clean pass."""
    values: dict[str, Tensor] = {}
    for site in sites:
        if site.name not in values:
            with cached(model, site.name) as cache:
                model(clean)
            values = cache
        value = values[site.name][place_of(site.name, site.position, site.head)]
        with hooked(model, {site.name: replace(value, site.position, site.head)}):
            yield model(corrupt)[:, -1]
