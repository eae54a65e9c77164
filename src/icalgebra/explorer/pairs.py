"""Two sequences of one length: what patching from the clean run into the corrupt one does to the answer.

A site is a head ("2.1") or MLP ("mlp 2") at the query's '=', or the residual stream of one token behind a layer
("token 34 after 2"; tokens and layers are counted from 0).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from icalgebra.errors import InputError, unknown
from icalgebra.explorer.contract import PairAnswer, Patched
from icalgebra.explorer.inside import parts_of
from icalgebra.explorer.models import Known, Library
from icalgebra.explorer.sequence import shares
from icalgebra.interp.hooks import Change, cached, hooked
from icalgebra.interp.patching import Site, indirect_effects
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.model.predict import as_predictor, chunks, on_device, rows_per_pass
from icalgebra.model.transformer import Transformer

TOKEN = re.compile(r"token (\d{1,4}) after (\d{1,2})")
MAX_TOKENS = 16  # of which the map shows the residual stream


def pair_answer(library: Library, name: str, clean: str, corrupt: str) -> PairAnswer:
    """The answers of both runs, and the effect of every head and MLP at '=', and of the tokens that differ."""
    known = library.known(name)
    prompts = _both(known, clean, corrupt)
    with library.use():
        answers = as_predictor(known.model)(prompts)
        targets = answers[:1].argmax(1)
        sites = {part: _site(where.layer, where.head) for part, where in parts_of(known).items()}
        n_variables = known.world.n_variables

        def probability(logits: Tensor, targets: Tensor) -> Tensor:
            return logits[..., :n_variables].softmax(-1)[..., int(targets[0])]

        found = indirect_effects(
            known.model, prompts[:1], prompts[1:], targets, list(sites.values()), probability
        )[:, 0]  # fmt: skip
        effects = dict(zip(sites, map(float, found), strict=True))
        before = float(answers[1, targets[0]])
        effects |= {site: p - before for site, p in _token_effects(known, prompts, int(targets[0])).items()}
    letters = known.world.vocabulary.variables
    differing = sorted({int(i) // FACT_LENGTH for i in np.flatnonzero(prompts[0] != prompts[1])})
    return PairAnswer(
        shares(answers[0], 6), shares(answers[1], 6), letters[int(targets[0])], letters[int(answers[1].argmax())],
        differing, {site: round(effect, 4) for site, effect in effects.items()},
    )  # fmt: skip


def patched(library: Library, name: str, clean: str, corrupt: str, sites: Sequence[str]) -> Patched:
    """The corrupt run's answers with all these sites taken from the clean run at once."""
    known = library.known(name)
    prompts, model = _both(known, clean, corrupt), known.model
    places = [_place(known, site, prompts.shape[1]) for site in sites]
    points = sorted({point for point, _, _ in places})
    with library.use(), torch.no_grad():
        values: dict[str, Tensor] = {}
        if points:
            with cached(model, *points) as values:
                model(on_device(model, prompts[:1]))
        changes = {point: _take(values[point], [(t, h) for p, t, h in places if p == point]) for point in points}
        with hooked(model, changes):
            logits = model(on_device(model, prompts[1:]))[0, -1]
    return Patched(list(sites), shares(logits[: known.world.n_variables].softmax(-1).numpy(force=True), 6))


def _both(known: Known, clean: str, corrupt: str) -> np.ndarray:
    rows = [known.prompt(clean)[0], known.prompt(corrupt)[0]]
    if len(rows[0]) != len(rows[1]):
        counts = [(len(row) + 1) // FACT_LENGTH for row in rows]
        raise InputError(
            f"patching needs two sequences of the same number of facts, not {counts[0]} and {counts[1]}; "
            "add or remove facts in one of them"
        )
    return np.stack(rows)


def _site(layer: int, head: int | None) -> Site:
    return Site(f"blocks.{layer}.hook_mlp_out") if head is None else Site(f"blocks.{layer}.attn.hook_z", head)


def _place(known: Known, site: str, length: int) -> tuple[str, int, int | None]:
    """Hook point, token and head of a site."""
    parts = parts_of(known)
    if site in parts:
        found = _site(parts[site].layer, parts[site].head)
        return found.name, length - 1, found.head
    token = TOKEN.fullmatch(site)
    if not token:
        raise unknown("site", site, [*parts, "token 0 after 0"])
    if int(token[1]) >= length or int(token[2]) >= known.model.config.n_layers:
        raise InputError(
            f"{site!r} is not there: tokens are 0 to {length - 1}, layers 0 to {known.model.config.n_layers - 1}"
        )
    return f"blocks.{int(token[2])}.hook_resid_post", int(token[1]), None


def _take(source: Tensor, where: Sequence[tuple[int, int | None]]) -> Change:
    """The value with these tokens (of one head, or whole) taken from the source."""

    def change(value: Tensor) -> Tensor:
        result = value.clone()
        for token, head in where:
            index = (0, token) if head is None else (0, token, head)
            result[index] = source[index]
        return result

    return change


def _token_effects(known: Known, prompts: np.ndarray, target: int) -> dict[str, float]:
    """P(clean answer) with the residual stream of one token behind one layer from the clean run.

    The tokens: those of the facts that differ, with the ',' behind, and the query's. One row of a batch per token.
    """
    model, length = known.model, prompts.shape[1]
    differ = {int(i) // FACT_LENGTH for i in np.flatnonzero(prompts[0] != prompts[1])}
    tokens = {t for fact in differ for t in range(fact * FACT_LENGTH + 1, (fact + 1) * FACT_LENGTH + 1) if t < length}
    tokens |= set(range(length - FACT_LENGTH + 1, length))
    if len(tokens) > MAX_TOKENS:
        return {}
    rows = [(layer, token) for layer in range(model.config.n_layers) for token in sorted(tokens)]
    found: list[float] = []
    with torch.no_grad(), cached(model, "blocks.*.hook_resid_post") as values:
        model(on_device(model, prompts[:1]))
        clean = dict(values)
    for part in chunks(len(rows), rows_per_pass(model, length)):
        found += _one_token_per_row(model, clean, prompts[1], rows[part], target, known.world.n_variables)
    return {f"token {token} after {layer}": p for (layer, token), p in zip(rows, found, strict=True)}


@torch.no_grad()
def _one_token_per_row(
    model: Transformer, clean: dict[str, Tensor], corrupt: np.ndarray, rows: Sequence[tuple[int, int]], target: int,
    n_variables: int,
) -> list[float]:  # fmt: skip
    def change(layer: int, source: Tensor) -> Change:
        def apply(value: Tensor) -> Tensor:
            result = value.clone()
            for row, (at, token) in enumerate(rows):
                if at == layer:
                    result[row, token] = source[0, token]
            return result

        return apply

    layers = {layer for layer, _ in rows}
    points = {f"blocks.{i}.hook_resid_post": change(i, clean[f"blocks.{i}.hook_resid_post"]) for i in layers}
    with hooked(model, points):
        logits = model(on_device(model, np.repeat(corrupt[None], len(rows), 0)))[:, -1, :n_variables]
    return [float(p) for p in logits.softmax(-1)[:, target]]
