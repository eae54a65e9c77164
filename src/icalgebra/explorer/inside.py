"""Inside the model on one sequence: heads, MLPs, logit lens; ablations of several parts at once; reliance on facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from icalgebra.errors import InputError, unknown
from icalgebra.explorer.contract import Ablation, Inside, PartInside, Reliance
from icalgebra.explorer.models import Known, Library
from icalgebra.explorer.sequence import shares
from icalgebra.interp.ablation import with_parts_replaced
from icalgebra.interp.attention_mass import attention, by_fact
from icalgebra.interp.components import Component, all_components
from icalgebra.interp.fact_reliance import logits_without
from icalgebra.interp.last_token_cache import as_run
from icalgebra.interp.lens import direct_logits, logit_lens, read_logits
from icalgebra.interp.query_cache import N_QUERY
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.model.predict import variable_logits

SLOT_SIGNS = "lr=a,"  # in the order of attention_mass.FACT_SLOTS
FACTS_PER_STEP = 10  # of reliance: one step is about a second of one core at 200 facts


def parts_of(known: Known) -> dict[str, Component]:
    """Every head and MLP at the query's '=', by name."""
    return {str(part): part for part in all_components(known.model, [N_QUERY - 1])}


@torch.no_grad()
def inside(library: Library, name: str, text: str) -> Inside:
    known = library.known(name)
    prompts = known.prompt(text)
    model, n_variables = known.model, known.world.n_variables
    with library.use():
        run = as_run(model, prompts, pattern=True)
        direct = direct_logits(model, run)[0]
        mlps = read_logits(model, run, run.mlp_out)[0, :, :n_variables]
        lens = logit_lens(model, run)[0, :, :n_variables].softmax(-1)
    weights = by_fact(attention(model, run)[0])
    answer = known.world.vocabulary.variables[int(run.logits[0, :n_variables].argmax())]
    parts = []
    for part, where in parts_of(known).items():
        if where.head is None:
            parts.append(PartInside(part, _centred(mlps[where.layer])))
        else:
            place = (where.layer, where.head)
            parts.append(PartInside(part, _centred(direct[place]), *_over_facts(weights[place])))
    return Inside(answer, parts, [shares(row.numpy(force=True)) for row in lens])


def _centred(direct: Tensor) -> list[float]:
    return shares((direct - direct.mean()).numpy(force=True))


def _over_facts(weights: Tensor) -> tuple[list[float], str]:
    slots = "".join(SLOT_SIGNS[i] for i in weights.argmax(-1).tolist())
    return shares(weights.sum(-1).numpy(force=True)), slots


@torch.no_grad()
def ablation(library: Library, name: str, text: str, ablated: Sequence[str]) -> Ablation:
    """The answers without a set of parts, and with each part toggled as well."""
    known, prompts = library.known(name), library.known(name).prompt(text)
    parts = parts_of(known)
    for part in ablated:
        if part not in parts:
            raise unknown("head or MLP", part, parts)
    means = library.mean_outputs(name, (prompts.shape[1] + 1) // FACT_LENGTH)
    chosen = set(ablated)
    sets = [chosen, *(chosen ^ {part} for part in parts)]
    with library.use():
        run = as_run(known.model, prompts, keys=True)
        components = [[parts[part] for part in members] for members in sets]
        logits = with_parts_replaced(known.model, run, means.z, means.mlp_out, components)[0]
    found = logits[:, : known.world.n_variables].softmax(-1).numpy(force=True)
    toggled = {part: shares(row) for part, row in zip(parts, found[1:], strict=True)}
    return Ablation([part for part in parts if part in chosen], shares(found[0], 6), toggled)


def reliance_steps(library: Library, name: str, text: str) -> Iterator[Reliance]:
    """Fact by fact, from the last, whose runs are shortest; the lock is free between two steps."""
    known, prompts = library.known(name), library.known(name).prompt(text)
    n_facts = prompts.shape[1] // FACT_LENGTH
    if not n_facts:
        raise InputError("this sequence has no fact that its answer could rest on; add one before the query")
    with library.use():
        whole = variable_logits(known.model, prompts)[0, 0]
    chosen = int(whole.argmax())
    falls: list[float | None] = [None] * n_facts
    letter = known.world.vocabulary.variables[chosen]
    for end in range(n_facts, 0, -FACTS_PER_STEP):
        step = range(max(0, end - FACTS_PER_STEP), end)
        with library.use():
            logits = logits_without(known.model, np.asarray(prompts[0]), [(i,) for i in step])
        for i, row in zip(step, logits, strict=True):
            falls[i] = round(float(whole[chosen] - row[chosen]), 4)
        yield Reliance(letter, list(falls), n_facts - step.start, n_facts)
