"""The copying head, chosen by what it promotes and attends to on one half of the pairs, and its effect on the other.

The head is the one that most often looks at the planted fact more than at any other and has that fact's answer as its
highest direct logit. Nothing depends on its index, nor on its effect, which is what is then asked:

copying_head.decodes, .looks, .attention    how often each holds; its attention on the planted fact
copying_head.<direction>.share, .effect     its part of the change in probability, and the change itself
copying_head.<direction>.other              the share of the strongest other head at '='
copying_head.heads_needed                   heads at '=' that together have 90 % of the reversed effect in probability
copying_head.ablated.clean_right, .corrupt_right   accuracy with its output set to the mean over `train` sequences;
                                            .plain: nothing ablated, .control: another head of its layer
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from icalgebra.experiments.shared.estimates import point_estimate, share
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.interp.ablation import head_masks, other_heads, with_heads_replaced
from icalgebra.interp.components import METRICS, Component, Effects, all_components, smallest_set
from icalgebra.interp.heads import Head, copying_signs, head_name, query_sampler
from icalgebra.interp.last_token_cache import cache_last_token, cache_last_token_batched
from icalgebra.interp.minimal_pairs import MinimalPairs
from icalgebra.interp.query_cache import N_QUERY
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.model.accuracy import accuracy_estimate
from icalgebra.model.predict import on_device, passes, top_variable
from icalgebra.model.transformer import Transformer
from icalgebra.statistics import CHOOSING, JUDGING, Estimate, mean

Values = dict[str, Estimate]
ENOUGH = 0.9  # of the change in probability, for the heads that are needed


def copying_head(
    loaded: LoadedModel, pairs: MinimalPairs, maps: dict[str, Effects], largest: int, seed: int, values: Values
) -> dict[str, Any]:
    model = loaded.model
    facts = np.arange(pairs.clean.shape[1] // FACT_LENGTH) == pairs.place[:, None]
    signs = copying_signs(model, pairs.clean_prompts, pairs.clean_answer, facts)
    head = signs.best(CHOOSING)
    for name, estimate in (("decodes", accuracy_estimate), ("looks", accuracy_estimate), ("attention", mean)):
        values[f"copying_head.{name}"] = estimate(getattr(signs, name)[JUDGING][:, head[0], head[1]])
    others = {name: _effect(model, head, effects, name, values) for name, effects in maps.items()}
    needed = _heads_needed(model, pairs[CHOOSING].reversed(), maps["reversed"], largest, values)
    control = _ablation(loaded, head, pairs[JUDGING], seed, values)
    return {"head": head_name(head), "others": others, "needed": needed, "control": control,
            "decodes_and_looks": (signs.decodes & signs.looks).mean(0).tolist()}  # fmt: skip


def _effect(model: Transformer, head: Head, effects: Effects, direction: str, values: Values) -> str:
    """The head's effect on the judging half; the name of the strongest other head of the choosing half."""
    components, total = all_components(model), effects.total("probability")
    places = {item: i for i, item in enumerate(components) if item.token == N_QUERY - 1 and item.head is not None}
    column = effects.effect["probability"][:, places.pop(Component(*head))]
    values[f"copying_head.{direction}.effect"] = mean(column[JUDGING])
    values[f"copying_head.{direction}.share"] = share(column[JUDGING], total[JUDGING])
    if not places:
        return ""
    means = effects.effect["probability"][CHOOSING].mean(0)
    other = max(places, key=lambda item: means[places[item]])
    values[f"copying_head.{direction}.other"] = share(
        effects.effect["probability"][JUDGING, places[other]], total[JUDGING]
    )
    return str(other)


def _heads_needed(
    model: Transformer, choosing: MinimalPairs, effects: Effects, largest: int, values: Values
) -> dict[str, list[str]]:
    """The smallest sets of heads at '='. A set that stays short of the share counts one head more than were tried."""
    heads = [item for item in all_components(model, [N_QUERY - 1]) if item.head is not None]
    needed = {}
    for metric, key in zip(METRICS, ("heads_needed", "heads_needed.logit_difference"), strict=True):
        if effects.total(metric)[CHOOSING].mean() <= 0:
            continue
        found = smallest_set(model, choosing, ENOUGH, largest, heads, metric)
        short = found.shares[-1] < ENOUGH
        values[f"copying_head.{key}"] = point_estimate(float(len(found.components) + short), len(choosing))
        needed[metric] = [str(item) for item in found.components]
    return needed


def _ablation(loaded: LoadedModel, head: Head, judging: MinimalPairs, seed: int, values: Values) -> str:
    """Accuracy on both sides; on the corrupt side only the copied fact gives the answer. The control head's name."""
    model, n_facts = loaded.model, judging.clean.shape[1] // FACT_LENGTH
    donors = query_sampler(loaded.world, n_facts, seed, "circuits")("train", 2 * len(judging), "donors")
    average = cache_last_token_batched(model, donors.prompts).z.mean(0, keepdim=True)
    control = other_heads(model, [head], seed)
    sets = {"plain": [], "ablated": [head], **({"control": control} if control else {})}
    sides = {"clean": (judging.clean_prompts, judging.clean_answer),
             "corrupt": (judging.corrupt_prompts, judging.corrupt_answer)}  # fmt: skip
    for side, (prompts, answers) in sides.items():
        given = _answers(model, prompts, average, list(sets.values()))
        for name, column in zip(sets, given.T, strict=True):
            values[f"copying_head.{name}.{side}_right"] = accuracy_estimate(column == answers)
    return head_name(control[0]) if control else ""


def _answers(model: Transformer, prompts: np.ndarray, average: Tensor, sets: list[list[Head]]) -> np.ndarray:
    """What the model answers with each set of heads set to an average output, [n, sets]."""
    masks, found = head_masks(model, sets), []
    for rows in passes(model, prompts):
        run = cache_last_token(model, on_device(model, prompts[rows]), keys=True)
        logits = with_heads_replaced(model, run, average.expand(len(run), -1, -1, -1), masks)
        found.append(top_variable(logits[..., : model.config.n_variables]))
    return np.concatenate(found)
