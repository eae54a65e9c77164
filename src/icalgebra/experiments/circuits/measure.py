"""Circuits (K4): which heads and MLPs, at which of the query's tokens, carry each mechanism.

On minimal pairs (interp/minimal_pairs.py), for each mechanism that the model's world has:

<mechanism>.clean_right, .corrupt_right           how often the model gives each side the mechanism's answer
<mechanism>.total.probability, .logit_difference  the whole effect of the changed fact
<mechanism>.set.share                             of the logit difference, by the smallest set that has 90 % of it;
                                                  .noise: the share lost without it; .random: that of random sets
<mechanism>.strongest.share                       of the strongest component alone
copying_head.…                                    copying_head.py
knockout.<distribution>.<slot>.<token>            accuracy where this token of the query, both `operands`, or `all` four
                                                  may not attend to this slot of the context; .plain: where all may

Whatever is chosen (sets, strongest components, the copying head) is chosen on one half of the pairs and scored on the
other. Shares are of the total effect. Where a changed fact has no effect in the expected direction there is no share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments.circuits.copying_head import copying_head
from icalgebra.experiments.shared.estimates import point_estimate, share
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.interp.components import (
    METRICS,
    Component,
    Effects,
    all_components,
    component_effects,
    residual_effects,
    smallest_set,
    without_each,
)
from icalgebra.interp.knockout import Reads, answers_without, by_layer_and_head, by_slot
from icalgebra.interp.minimal_pairs import MinimalPairs, minimal_pairs
from icalgebra.interp.paths import EMBEDDING, N_FACT, TOKENS, Edge, circuit
from icalgebra.interp.query_cache import N_QUERY, QUERY_TOKENS
from icalgebra.language.vocabulary import MECHANISMS, SLOTS
from icalgebra.model.accuracy import accuracy_estimate, hits, strictly_best
from icalgebra.model.transformer import Transformer
from icalgebra.randomness import numpy_generator
from icalgebra.results import Result
from icalgebra.statistics import CHOOSING, JUDGING, Estimate, mean

Values = dict[str, Estimate]
Maps = dict[str, Effects]  # by direction: every component alone, on every pair
ENOUGH = 0.9  # of the logit difference, for a set
LEAST_EDGE = 0.1  # of the logit difference, for a path that is kept
N_RANDOM = 8  # random sets behind the control
# Who may not read: each token of the query, both operands (either may do what the other cannot), all four.
READERS = {**{token: (token,) for token in QUERY_TOKENS}, "operands": ("left", "right"), "all": ()}
KNOCKED_OUT = ("copy", "commute", "identity", "cancel")
READ_SLOT = (
    "comma"  # the slot whose reads are also blocked by layer and head: facts are finished at the ',' behind them
)


@dataclass(frozen=True)
class SetSizes:
    """How sets are searched: candidates before '=' have at least this effect alone; the largest set."""

    least_single: float
    largest: int


@torch.no_grad()
def run(
    tier: str,
    seed: int,
    loaded: LoadedModel,
    n_pairs: int,
    facts_by_mechanism: tuple[int, ...],
    least_single: float,
    largest: int,
    n_knockout: int,
    knockout_facts: int,
) -> Result:
    values: Values = {}
    found: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    details: dict[str, Any] = {"mechanisms": found, "left_out": left_out}
    facts = [loaded.facts(wanted) for wanted in facts_by_mechanism]
    for mechanism, n_facts in zip(MECHANISMS, facts, strict=True):
        try:
            pairs = minimal_pairs(mechanism, n_pairs, n_facts, seed, loaded.world)
        except InputError as error:  # the world has no such pairs: no identity, or too few members
            left_out[mechanism] = str(error)
            continue
        maps = _maps(loaded.model, pairs)
        found[mechanism] = _mechanism(loaded, pairs, maps, SetSizes(least_single, largest), seed, values)
        if mechanism == "copy":
            details["copying_head"] = copying_head(loaded, pairs, maps, largest, seed, values)
    knockout_facts = loaded.facts(knockout_facts)
    details["knockout"] = _knockout(loaded, n_knockout, knockout_facts, seed, values)
    return result_about(
        loaded, "circuits", tier, seed,
        config={"n_pairs": n_pairs, "facts_by_mechanism": facts, "least_single": least_single, "largest": largest,
                "n_knockout": n_knockout, "knockout_facts": knockout_facts},
        values=values,
        details=details,
    )  # fmt: skip


def _mechanism(
    loaded: LoadedModel, pairs: MinimalPairs, maps: Maps, sizes: SetSizes, seed: int, values: Values
) -> dict[str, Any]:
    model, name = loaded.model, pairs.mechanism
    sides = {
        "clean": (pairs.clean_prompts, pairs.clean_answer),
        "corrupt": (pairs.corrupt_prompts, pairs.corrupt_answer),
    }
    for side, (prompts, answers) in sides.items():
        values[f"{name}.{side}_right"] = accuracy_estimate(strictly_best(loaded.predictor(prompts), answers))
    for metric in METRICS:
        values[f"{name}.total.{metric}"] = mean(maps["denoise"].total(metric))
    tables = {direction: _tables(model, effects) for direction, effects in maps.items()}
    details: dict[str, Any] = {"maps": tables, "residual": _residual(model, pairs), "set": [], "edges": []}
    if all(maps["denoise"].total("logit_difference")[half].mean() > 0 for half in (CHOOSING, JUDGING)):
        chosen, details["set"] = _set(model, pairs, maps["denoise"], sizes, seed, values)
        edges = _circuit(model, pairs[JUDGING], chosen, 2 * sizes.largest)
        details["edges"] = [_edge(edge, model) for edge in edges]
    return details


# --- every component alone --------------------------------------------------------------------------------------------


def _maps(model: Transformer, pairs: MinimalPairs) -> Maps:
    """`reversed`: from the clean to the corrupt answer. `noise`: the same patched runs, scored by the clean answer.

    In logit difference the two are equal, in probability they are not.
    """
    alone = [[component] for component in all_components(model)]
    return {
        "denoise": component_effects(model, pairs, alone),
        "reversed": component_effects(model, pairs.reversed(), alone),
        "noise": component_effects(model, pairs, alone, "noise"),
    }


def component_rows(model: Transformer) -> list[str]:
    """The rows of a map, layer by layer: '0.0', '0.1', …, 'mlp 0', …"""
    return [str(component) for component in all_components(model, [N_QUERY - 1])]


def _tables(model: Transformer, effects: Effects) -> dict[str, Any]:
    """By metric the mean effect of every component (rows) at every token of the query; None where it cannot matter."""
    rows = component_rows(model)
    found: dict[str, Any] = {"rows": rows, "tokens": QUERY_TOKENS}
    for metric in METRICS:
        table: list[list[float | None]] = [[None] * N_QUERY for _ in rows]
        for component, effect in zip(all_components(model), effects.effect[metric].mean(0), strict=True):
            table[rows.index(_name(component))][component.token] = float(effect)
        found[metric] = table
    return found


def _name(component: Component) -> str:
    """Without its token."""
    return str(Component(component.layer, component.head))


def _residual(model: Transformer, pairs: MinimalPairs) -> dict[str, Any]:
    """The same for the residual stream behind every attention and every MLP."""
    places, effects = residual_effects(model, pairs)
    rows = list(dict.fromkeys(name for name, _ in places))
    tables = {metric: effects.effect[metric].mean(0).reshape(len(rows), N_QUERY).tolist() for metric in METRICS}
    return {"rows": [_residual_name(row) for row in rows], "tokens": QUERY_TOKENS, **tables}


def _residual_name(hook: str) -> str:
    """'blocks.2.hook_resid_mid' to 'resid_mid 2'."""
    _, layer, point = hook.split(".")
    return f"{point.removeprefix('hook_')} {layer}"


# --- sets and paths ---------------------------------------------------------------------------------------------------


def _set(
    model: Transformer, pairs: MinimalPairs, single: Effects, sizes: SetSizes, seed: int, values: Values
) -> tuple[list[Component], list[dict[str, Any]]]:
    """The smallest set, found on one half and judged on the other: all of it, each member alone and given the rest."""
    choosing, judging, name = pairs[CHOOSING], pairs[JUDGING], pairs.mechanism
    components = all_components(model)
    alone = single.effect["logit_difference"][CHOOSING].mean(0) / single.total("logit_difference")[CHOOSING].mean()
    candidates = [
        component
        for component, effect in zip(components, alone, strict=True)
        if component.token == N_QUERY - 1 or abs(effect) >= sizes.least_single
    ]
    found = smallest_set(model, choosing, ENOUGH, sizes.largest, candidates)
    chosen, strongest = found.components, int(alone.argmax())
    random = _random_sets(components, chosen, seed, name)
    sets = [chosen, *([component] for component in chosen), *without_each(chosen), *random]
    effects = component_effects(model, judging, sets)
    total, effect = effects.total("logit_difference"), effects.effect["logit_difference"]
    lost = component_effects(model, judging, [chosen], "noise").effect["logit_difference"][:, 0]
    values |= {
        f"{name}.set.size": point_estimate(float(len(chosen)), len(choosing)),
        f"{name}.set.share": share(effect[:, 0], total),
        f"{name}.set.share.probability": share(effects.effect["probability"][:, 0], effects.total("probability")),
        f"{name}.set.noise": share(lost, total),
        f"{name}.strongest.share": share(single.effect["logit_difference"][JUDGING, strongest], total),
    }
    if random:
        values[f"{name}.set.random"] = share(effect[:, -len(random) :].mean(1), total)
    shares, size = effects.share("logit_difference"), len(chosen)
    members = [
        {
            **_place(component),
            "name": str(component),
            "reached": reached,
            "alone": float(alone),
            "given_rest": float(rest),
        }
        for component, reached, alone, rest in zip(
            chosen, found.shares, shares[1 : size + 1], shares[0] - shares[size + 1 : 2 * size + 1], strict=True
        )
    ]
    return chosen, members


def _random_sets(components: list[Component], chosen: list[Component], seed: int, name: str) -> list[list[Component]]:
    """The control: sets of the same size from the other components. None where there are too few."""
    others = [component for component in components if component not in chosen]
    if len(others) < len(chosen):
        return []
    generator = numpy_generator(seed, f"circuits/{name}/random sets")
    return [[others[i] for i in generator.permutation(len(others))[: len(chosen)]] for _ in range(N_RANDOM)]


def _circuit(model: Transformer, pairs: MinimalPairs, chosen: list[Component], most: int) -> list[Edge]:
    """Paths into the set and the logits, then into what sends along these at the query: back towards the fact.

    At most this many receivers: one costs as much as two runs of every pair.
    """
    receivers: list[Component | None] = [None, *chosen]
    edges: list[Edge] = []
    for receiver in receivers:  # grows in the loop
        found = circuit(model, pairs, [receiver], LEAST_EDGE)
        edges += found
        senders = [edge.sender for edge in found if edge.sender.token >= N_FACT and edge.sender.layer != EMBEDDING]
        for component in [Component(item.layer, item.head, item.token - N_FACT) for item in senders]:
            if component not in receivers and len(receivers) < most:
                receivers.append(component)
    return edges


def _place(component: Component) -> dict[str, Any]:
    return {
        "component": _name(component),
        "layer": component.layer,
        "token": f"the query's {QUERY_TOKENS[component.token]}",
    }


def _edge(edge: Edge, model: Transformer) -> dict[str, Any]:
    """In words and numbers that a figure can place: a node is a component at a token; the logits come last."""
    token = TOKENS[edge.sender.token]
    sender = {"component": str(edge.sender).removesuffix(f" at {token}"), "layer": edge.sender.layer, "token": token}
    logits = {"component": "logits", "layer": model.config.n_layers, "token": TOKENS[-1]}
    receiver = logits if edge.receiver is None else _place(edge.receiver)
    return {"sender": sender, "receiver": receiver, "input": edge.input, "share": edge.share}


# --- attention knock-out ----------------------------------------------------------------------------------------------


def _knockout(loaded: LoadedModel, n: int, n_facts: int, seed: int, values: Values) -> dict[str, Any]:
    """By slot and token as values; the reads of ',' also by layer, and by layer and head, as tables."""
    model, tables = loaded.model, {}
    slots, layers = (
        by_slot(list(READERS.values())),
        [Reads((READ_SLOT,), layers=(layer,)) for layer in range(model.config.n_layers)],
    )
    reads = [*slots, *layers, *by_layer_and_head(model, READ_SLOT)]
    for name in KNOCKED_OUT:
        try:
            sequences = sample(name, n, n_facts, seed, loaded.world, stream=f"circuits/knockout/{name}")
        except InputError:  # a world without identities has no such queries
            continue
        right = answers_without(model, sequences.prompts, reads) == sequences.answers[:, None]
        values[f"knockout.{name}.plain"] = accuracy_estimate(hits(loaded.predictor, sequences))
        names = [f"knockout.{name}.{slot}.{reader}" for slot in SLOTS for reader in READERS]
        values |= {key: accuracy_estimate(column) for key, column in zip(names, right.T[: len(slots)], strict=True)}
        shares = right[:, len(slots) :].mean(0)
        tables[name] = {
            "layers": shares[: len(layers)].tolist(),
            "heads": shares[len(layers) :].reshape(len(layers), -1).tolist(),
        }
    return {"slot": READ_SLOT, "tables": tables}
