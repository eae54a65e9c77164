"""Shared parts (H1): one demotion mechanism for identity and cancellation, one closure circuit for two tokens?

The paper suspects that identity demotion and cancellation share a "demotion" mechanism (§5, Figure 6), since both
appear at the same time in training, and says that the same circuitry computes closure at the left slot and at '='.

demotion.<mechanism>.lost.<distribution>     accuracy lost without the component that identity (cancel) needs most,
                                             among those whose ablation spares copying; a component is a head or an MLP
                                             at '=', set to its mean; chosen on one half, judged on the other
demotion.<mechanism>.control.<distribution>  the same without another head of its layer
demotion.<mechanism>.demotes                 its direct logits of what the query rules out (the identity, the cancelled
                                             answers) minus that of the answer; negative: it lowers them itself
demotion.shared                              both mechanisms need both components, and copying neither
demotion.correlation                         over components that spare copying: of what identity and cancel lose
closure.correlation                          over heads: of what they add to the logits of the group's members, above
                                             those of other variables, at the left slot and at '='
closure.same_head                            whether the best head is the same
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from icalgebra.experiments.shared.estimates import boolean_estimate
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.interp.ablation import ablate_each, other_heads
from icalgebra.interp.components import Component, all_components
from icalgebra.interp.heads import closure_promotion, head_name, query_sampler
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.interp.lens import components as residual_summands
from icalgebra.interp.lens import read_logits
from icalgebra.interp.probes import sets_of_queries
from icalgebra.interp.query_batch import QueryBatch
from icalgebra.interp.query_cache import N_QUERY
from icalgebra.language.vocabulary import FACT_LENGTH, LEFT
from icalgebra.model.accuracy import accuracy_estimate, strictly_best
from icalgebra.results import Result
from icalgebra.statistics import CHOOSING, JUDGING, Estimate, correlation_of_means, difference, mean

Values = dict[str, Estimate]
MECHANISMS = ("identity", "cancel")
DISTRIBUTIONS = (*MECHANISMS, "copy", "commute", "associate")
SPARED = 0.1  # loss on copy up to which an ablation counts as sparing it
NEEDED = 0.25  # loss above which a mechanism needs a component


@torch.no_grad()
def run(tier: str, seed: int, loaded: LoadedModel, n: int, n_facts: int) -> Result:
    n_facts = loaded.facts(n_facts)
    draw = query_sampler(loaded.world, n_facts, seed, "shared parts")
    queries = {name: draw(name, n) for name in DISTRIBUTIONS}
    donors = cache_last_token_batched(loaded.model, draw("train", n, "donors").prompts)
    components = all_components(loaded.model, [N_QUERY - 1])
    plain = {name: strictly_best(loaded.predictor(found.prompts), found.answer) for name, found in queries.items()}
    right = {name: ablate_each(loaded.model, found, donors, components) for name, found in queries.items()}
    lost = {name: plain[name][:, None].astype(float) - right[name] for name in DISTRIBUTIONS}
    values: Values = {f"plain.{name}": accuracy_estimate(found) for name, found in plain.items()}
    chosen = {name: _most_needed(lost, name) for name in MECHANISMS}
    for name, place in chosen.items():
        values |= _component(loaded, name, place, components, plain, right, queries, seed)
    values |= _together(lost, chosen)
    closure = _closure(loaded, draw("holdout", n, "closure"), values)
    return result_about(
        loaded, "shared_parts", tier, seed,
        config={"n": n, "n_facts": n_facts},
        values=values,
        details={"components": [str(component) for component in components],
                 "lost": {name: found.mean(0).tolist() for name, found in lost.items()},
                 "chosen": {name: str(components[place]) for name, place in chosen.items()},
                 "closure": closure},
    )  # fmt: skip


# --- demotion ---------------------------------------------------------------------------------------------------------


def _spares_copying(lost: dict[str, np.ndarray], rows: slice) -> np.ndarray:
    return lost["copy"][rows].mean(0) <= SPARED


def _most_needed(lost: dict[str, np.ndarray], mechanism: str) -> int:
    """The place of the component whose ablation costs most, among those that spare copying; of all if none does."""
    losses, spares = lost[mechanism][CHOOSING].mean(0), _spares_copying(lost, CHOOSING)
    return int(np.where(spares, losses, -np.inf).argmax() if spares.any() else losses.argmax())


def _component(
    loaded: LoadedModel,
    mechanism: str,
    place: int,
    components: list[Component],
    plain: dict[str, np.ndarray],
    right: dict[str, np.ndarray],
    queries: dict[str, QueryBatch],
    seed: int,
) -> Values:
    """What every distribution loses without the component, and without another head of its layer (control)."""
    component, name = components[place], f"demotion.{mechanism}"
    head = (component.layer, component.head if component.head is not None else 0)
    others = other_heads(loaded.model, [head], seed)
    values: Values = {}
    for distribution in DISTRIBUTIONS:
        before = accuracy_estimate(plain[distribution][JUDGING])
        after = accuracy_estimate(right[distribution][JUDGING, place])
        values[f"{name}.lost.{distribution}"] = difference(before, after)
        for layer, other in others:
            control = right[distribution][JUDGING, components.index(Component(layer, other))]
            values[f"{name}.control.{distribution}"] = difference(before, accuracy_estimate(control))
    values[f"{name}.demotes"] = mean(_demotion(loaded, component, queries[mechanism], mechanism)[JUDGING])
    return values


def _demotion(loaded: LoadedModel, component: Component, queries: QueryBatch, mechanism: str) -> np.ndarray:
    """The component's direct logit of what should be ruled out minus that of the answer, by query."""
    run = cache_last_token_batched(loaded.model, queries.prompts)
    vector: Tensor = residual_summands(loaded.model, run)[str(component)]
    logits = read_logits(loaded.model, run, vector)[:, : loaded.world.n_variables].cpu().numpy()
    if mechanism == "identity":
        out = np.eye(loaded.world.n_variables, dtype=bool)[queries.identity]
    else:
        out = sets_of_queries(queries.tokens, loaded.world.n_variables)["cancellation"]
    out = out & (np.arange(loaded.world.n_variables) != queries.answer[:, None])  # ee= has the identity as its answer
    ruled_out = (logits * out).sum(1) / np.maximum(out.sum(1), 1)
    change = ruled_out - logits[np.arange(len(logits)), queries.answer]
    return change[out.any(1)]


def _together(lost: dict[str, np.ndarray], chosen: dict[str, int]) -> Values:
    """Whether the two components serve both mechanisms; the correlation over components."""
    judged = {name: found[JUDGING].mean(0) for name, found in lost.items()}
    needed = all(judged[mechanism][place] >= NEEDED for mechanism in MECHANISMS for place in chosen.values())
    spared = all(judged["copy"][place] <= SPARED for place in chosen.values())
    n, rest = len(lost["identity"]), _spares_copying(lost, CHOOSING)
    values = {
        "demotion.shared": boolean_estimate(needed and spared, n),
        "demotion.same_component": boolean_estimate(len(set(chosen.values())) == 1, n),
    }
    if rest.sum() > 1:
        for name, other in (("demotion.correlation", "cancel"), ("demotion.correlation.copy", "copy")):
            values[name] = correlation_of_means(lost["identity"][JUDGING][:, rest], lost[other][JUDGING][:, rest])
    return values


# --- closure at two tokens --------------------------------------------------------------------------------------------


def _closure(loaded: LoadedModel, queries: QueryBatch, values: Values) -> dict[str, Any]:
    """Closure promotion of every head, with the sequence cut behind the query's left variable and behind its '='."""
    ends = {"left": queries.tokens[:, : LEFT - FACT_LENGTH + 1], "equals": queries.prompts}
    runs = {name: cache_last_token_batched(loaded.model, prompts) for name, prompts in ends.items()}
    scores = {name: closure_promotion(loaded.model, run, queries) for name, run in runs.items()}
    if len(scores["left"].observed) < 2:  # a group that fills the alphabet leaves no other variables
        return {}
    flat = {name: found.observed.reshape(len(found.observed), -1) for name, found in scores.items()}
    best = {name: found.halves()[0].best for name, found in scores.items()}
    if flat["left"].shape[1] > 1:
        values["closure.correlation"] = correlation_of_means(flat["left"], flat["equals"])
    values["closure.same_head"] = boolean_estimate(best["left"] == best["equals"], len(flat["left"]))
    for name, found in scores.items():
        for other, head in best.items():
            values[f"closure.{name}.best_at_{other}"] = found.halves()[1].score(head)
    return {"best": {name: head_name(head) for name, head in best.items()},
            **{name: found.table() for name, found in scores.items()}}  # fmt: skip
