"""Which facts an answer rests on: take facts away and see how far the answer's logit falls.

For every query that the model answers, each mechanism that has the answer is a candidate. The model uses the one whose
facts the answer misses most, if the logit falls by more than MARGIN further than without as many other facts of the
same structure (the worst of several draws). Beyond the mechanisms the facts of the ladder's proof take their place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from icalgebra.data.distributions import sample
from icalgebra.experiments.reliance.evidence import evidence
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.interp.ablation import head_masks, with_heads_replaced
from icalgebra.interp.fact_reliance import logits_without
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.language.world import World
from icalgebra.model.predict import on_device
from icalgebra.model.transformer import Transformer
from icalgebra.results import Result
from icalgebra.solvers import MECHANISMS
from icalgebra.solvers.ladder import prove, rules_hold
from icalgebra.solvers.ladder.membership import components
from icalgebra.statistics import Estimate, mean, proportion

KINDS = ("train", "holdout")
USED = (*MECHANISMS, "any", "none")
FEWEST = 5  # answers that rest on a mechanism, below which no head is named for it
CONTROLS = 3  # draws of other facts, where the settings do not say
MARGIN = 1.0  # logits: the answer's odds fall by a further factor of e


@dataclass(frozen=True)
class Asked:
    """One query that the model answers, and what happens without some of its facts."""

    kind: str
    n_context: int
    candidates: dict[str, tuple[int, ...]]
    used: str  # a mechanism; any: only without the facts of all candidates; none; '' if there is no candidate
    premises: tuple[int, ...]  # of the ladder's proof, with repeats; empty if it has none
    falls: np.ndarray  # of the answer's logit without each fact
    proof_breaks: bool | None = None  # the answer is gone without the premises, and
    control_breaks: float | None = None  # how often without as many other facts
    # of the answer's logit with each head's output at '=' averaged, [layers, heads]
    head_falls: np.ndarray | None = None


def run(tier: str, seed: int, loaded: LoadedModel, n: int, sizes: tuple[int, ...], n_controls: int) -> Result:
    sizes = tuple(size for size in sizes if size < loaded.config.n_facts) or (loaded.config.n_facts - 1,)
    asked: list[Asked] = []
    for kind in KINDS:
        for size in sizes:
            sequences = sample(kind, n, size + 1, seed, loaded.world, stream=f"reliance/{kind}")
            random = np.random.default_rng((seed, size))
            rows = zip(sequences.prompts, sequences.answers, strict=True)
            found = [ask(loaded, prompt, int(answer), kind, random, n_controls) for prompt, answer in rows]
            falls = head_falls(loaded.model, sequences.prompts, sequences.answers)
            asked += [replace(a, head_falls=fall) for a, fall in zip(found, falls, strict=True) if a is not None]
    values, heads = by_use(asked, sizes) | by_proof(asked), strongest_heads(asked)
    for name, (_, own, other) in heads.items():
        values |= {f"head.{name}.fall": own, f"head.{name}.other": other}
    details = {"counts": counts(asked), "heads": {name: head for name, (head, *_) in heads.items()}}
    config = {"n": n, "sizes": list(sizes), "n_controls": n_controls}
    return result_about(loaded, "reliance", tier, seed, config, values, {}, details)


def ask(
    loaded: LoadedModel, prompt: np.ndarray, answer: int, kind: str, random: np.random.Generator, n_controls: int
) -> Asked | None:
    """None if the model's answer is wrong."""
    world, n_context = loaded.world, len(prompt) // FACT_LENGTH
    if int(logits_without(loaded.model, prompt, [()])[0].argmax()) != answer:
        return None
    *facts, query = [fact.replace("=", "") for fact in world.vocabulary.decode(prompt)[0][1:].split(",")]
    candidates = evidence(facts, query, world.vocabulary.variables[answer])
    provable = rules_hold(world) and not (kind == "train" and "copy" in candidates)
    proof = prove(prompt, world) if provable else None
    cited = set() if proof is None else {facts[i] for i in proof.premises}
    premises = tuple(i for i, fact in enumerate(facts) if fact in cited)
    sets = dict(candidates)
    if len(candidates) > 1:
        sets["any"] = tuple(sorted(set().union(*candidates.values())))
    if premises:
        sets["proof"] = premises
    others = {name: controls(facts, query, chosen, world, random, n_controls) for name, chosen in sets.items()}
    flat = [(i,) for i in range(n_context)] + list(sets.values()) + [c for drawn in others.values() for c in drawn]
    logits = logits_without(loaded.model, prompt, [(), *flat])
    falls = logits[0, answer] - logits[1 : n_context + 1, answer]
    gone = logits[n_context + 1 :].argmax(1) != answer
    fall = logits[0, answer] - logits[n_context + 1 :, answer]
    excess, place = {}, len(sets)
    for i, (name, drawn) in enumerate(others.items()):
        if drawn:
            excess[name] = float(fall[i] - fall[place : place + len(drawn)].max())
        if name == "proof":
            proof_gone, control_gone = bool(gone[i]), gone[place : place + len(drawn)]
        place += len(drawn)
    return Asked(
        kind, n_context, candidates, used(excess, candidates), premises, falls,
        proof_gone if premises else None,
        float(control_gone.mean()) if premises and len(control_gone) else None,
    )  # fmt: skip


def used(excess: dict[str, float], candidates: dict[str, tuple[int, ...]]) -> str:
    """What the answer rests on. excess: how much further it falls without a set of facts than without others."""
    if not candidates:
        return ""
    alone = {name: excess[name] for name in candidates if excess.get(name, 0.0) > MARGIN}
    if alone:
        return max(alone, key=alone.__getitem__)
    return "any" if excess.get("any", 0.0) > MARGIN else "none"


def controls(
    facts: list[str], query: str, chosen: tuple[int, ...], world: World, random: np.random.Generator, n_controls: int
) -> list[tuple[int, ...]]:
    """As many other facts, of the query's structure as far as there are enough; none if there are too few."""
    number = world.vocabulary.variables.index
    labels = components([tuple(map(number, fact)) for fact in (*facts, query)], world.n_variables)
    near = [labels[number(fact[0])] == labels[number(query[0])] for fact in facts]
    free = [i for i in range(len(facts)) if i not in chosen]
    if len(free) < len(chosen):
        return []
    drawn = []
    for _ in range(n_controls):
        order = sorted(random.permutation(free).tolist(), key=lambda i: not near[i])
        drawn.append(tuple(sorted(order[: len(chosen)])))
    return drawn


def by_use(asked: list[Asked], sizes: tuple[int, ...]) -> dict[str, Estimate]:
    """Of the answered queries with a candidate: what the answer rests on, by kind and number of facts."""
    values: dict[str, Estimate] = {}
    for kind in KINDS:
        for size in (*sizes, None):
            some = [a for a in asked if a.kind == kind and size in (a.n_context, None) and a.candidates]
            place = f"{kind}.{'all' if size is None else size}"
            for name in USED:
                values[f"{place}.used.{name}"] = proportion(sum(a.used == name for a in some), len(some))
            for name in MECHANISMS:
                having = [a for a in some if name in a.candidates]
                values[f"{place}.has.{name}"] = proportion(len(having), len(some))
                values[f"{place}.of.{name}"] = proportion(sum(a.used == name for a in having), len(having))
    return values


def by_proof(asked: list[Asked]) -> dict[str, Estimate]:
    """Do answers rest on the facts of the proof? Where a mechanism has the answer, and beyond the mechanisms."""
    values: dict[str, Estimate] = {}
    for name, some in (
        ("known", [a for a in asked if a.premises and a.candidates]),
        ("beyond", [a for a in asked if a.premises and not a.candidates]),
    ):
        compared = [a for a in some if a.control_breaks is not None]
        if not compared:
            continue
        values[f"proof.{name}.breaks"] = proportion(sum(bool(a.proof_breaks) for a in compared), len(compared))
        values[f"proof.{name}.control"] = mean(np.array([a.control_breaks for a in compared]))
        values[f"proof.{name}.top"] = proportion(sum(int(a.falls.argmax()) in a.premises for a in some), len(some))
        values[f"proof.{name}.chance"] = mean(np.array([len(a.premises) / a.n_context for a in some]))
        values[f"proof.{name}.fall"] = mean(np.array([a.falls[list(a.premises)].mean() for a in some]))
        others = [np.delete(a.falls, list(a.premises)) for a in some]
        values[f"proof.{name}.other_fall"] = mean(np.array([rest.mean() for rest in others if len(rest)]))
    return values


@torch.no_grad()
def head_falls(model: Transformer, prompts: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """How far the answer's logit falls if a head's output at '=' is averaged over the prompts, [n, layers, heads]."""
    config = model.config
    every = [[(layer, head)] for layer in range(config.n_layers) for head in range(config.n_heads)]
    run = cache_last_token_batched(model, prompts, keys=True)
    average = run.z.mean(0, keepdim=True).expand(len(run), -1, -1, -1)
    logits = with_heads_replaced(model, run, average, head_masks(model, every))
    answer = on_device(model, answers)
    rows = torch.arange(len(answers), device=answer.device)
    falls = run.logits[rows, answer][:, None] - logits[rows, :, answer]
    return falls.float().cpu().numpy().reshape(len(answers), config.n_layers, config.n_heads)


def strongest_heads(asked: list[Asked]) -> dict[str, tuple[str, Estimate, Estimate]]:
    """For every mechanism: the head that answers resting on it miss most, how much, and how much other answers do."""
    found = {}
    for name in MECHANISMS:
        own = [a.head_falls for a in asked if a.head_falls is not None and a.used == name]
        others = [a.head_falls for a in asked if a.head_falls is not None and a.used in MECHANISMS and a.used != name]
        if len(own) >= FEWEST and len(others) >= FEWEST:
            average = np.mean(own, axis=0)
            layer, head = np.unravel_index(average.argmax(), average.shape)
            fall, other = (mean(np.stack(part)[:, layer, head]) for part in (own, others))
            found[name] = (f"{layer}.{head}", fall, other)
    return found


def counts(asked: list[Asked]) -> dict[str, int]:
    """How many queries were asked: right answers, with a candidate, with a proof beyond the mechanisms."""
    return {
        "right": len(asked),
        "with_candidate": sum(bool(a.candidates) for a in asked),
        "beyond": sum(bool(a.premises) and not a.candidates for a in asked),
    }
