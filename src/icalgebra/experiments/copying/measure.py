"""Copying (K1, K2, K3): which heads copy, what they attend to, and what they promote.

K1  average indirect effects: changes of the clean answer's probability
K2  attention and direct logits of the copying head on variants of the same sequences (interp/query_batch.py)
K3  how often it decodes the answer, on cyclic and dihedral groups alone; direct logits in the plain form
The copying head is the one that most often attends to the copied fact more than to any other and has its answer as its
highest direct logit (interp/heads.py); nothing depends on its index, nor on its effect. The head with the largest
effect need not copy: between unrelated sequences effects also carry the closure set. All heads are chosen on one half
of the sequences and scored on the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from icalgebra.errors import InputError
from icalgebra.experiments.shared.estimates import boolean_estimate
from icalgebra.experiments.shared.families import family_world
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.interp.ablation import head_masks, with_heads_replaced
from icalgebra.interp.attention_mass import (
    FACT_SLOTS,
    attention_mass,
    by_fact,
    most_attended_variable,
    partition,
    relations,
)
from icalgebra.interp.heads import (
    Head,
    RoleScores,
    copying_effect,
    copying_signs,
    head_name,
    identity_roles,
    query_sampler,
)
from icalgebra.interp.last_token_cache import LastTokenCache, cache_last_token, cache_last_token_batched
from icalgebra.interp.lens import direct_logits, path_to_logits
from icalgebra.interp.patching import target_probability
from icalgebra.interp.query_batch import QueryBatch, at_least_two, pairs, planted_variants
from icalgebra.model.accuracy import accuracy_estimate
from icalgebra.model.predict import on_device, passes, top_variable
from icalgebra.results import Result
from icalgebra.statistics import CHOOSING, JUDGING, Estimate, mean

Values = dict[str, Estimate]
CHOSEN_BY = "what it decodes and attends to"  # results without this judged the head with the largest effect
DECODED = {
    "cyclic": {"copy": "copy", "commute": "commute", "none": "holdout"},
    "dihedral": {"copy": "copy", "commute_any": "commute_any", "none": "holdout"},
}


@torch.no_grad()
def run(
    tier: str, seed: int, loaded: LoadedModel, n_pairs: int, n_sets: int, n_decode: int, n_variants: int, n_facts: int
) -> Result:
    n_facts = loaded.facts(n_facts)
    draw = query_sampler(loaded.world, n_facts, seed, "copying")
    values: Values = {}
    tables: dict[str, Any] = {}
    found = {}
    base = _commuting(loaded, draw("holdout", 6 * n_variants, "variants"))[:n_variants]
    drawn = {kind: pairs(draw(kind, n_pairs), draw("holdout", 2 * n_pairs + 16, kind)) for kind in ("copy", "commute")}
    drawn["flipped"] = _flipped(loaded, n_pairs, n_facts, seed)
    for kind, (clean, corrupt) in drawn.items():
        found[kind] = _effects(loaded, kind, clean, corrupt, n_sets, seed, values, tables)
    head = _copying_head(loaded, drawn["copy"][0], values)
    _identity_demotion(loaded, head, n_decode, draw, values)
    for kind, (_, judged) in found.items():
        values[f"aie.{kind}.copying_head"] = judged.score(head)
    leading = {kind: chosen.best for kind, (chosen, _) in found.items()}
    values["same_head"] = boolean_estimate(leading["copy"] == leading["commute"], n_pairs)
    examples = _variants(loaded, head, base, seed, values)
    decode = _decoded(loaded, head, n_decode, n_facts, seed, values)
    return result_about(
        loaded, "copying", tier, seed,
        config={"n_pairs": n_pairs, "n_sets": n_sets, "n_decode": n_decode, "n_variants": n_variants,
                "n_facts": n_facts, "chosen_by": CHOSEN_BY},
        values=values,
        details={"head": head_name(head), "effects": tables, "decode": decode, "examples": examples,
                 "leading": {kind: head_name(best) for kind, best in leading.items()}},
    )  # fmt: skip


# --- K1: indirect effects -------------------------------------------------------------------------------------------


def _effects(
    loaded: LoadedModel,
    kind: str,
    clean: QueryBatch,
    corrupt: QueryBatch,
    n_sets: int,
    seed: int,
    values: Values,
    tables: dict[str, Any],
) -> tuple[RoleScores, RoleScores]:
    """The sweep over all heads, on the half that ranks them and on the other.

    On n_sets of the pairs, also the leading heads together and the direct paths.
    """
    scores, effects = copying_effect(loaded.model, clean, corrupt, kind)
    chosen, judged = scores.halves()
    ranked, n_heads = chosen.ranked, loaded.model.config.n_heads
    for name, head in zip(("first", "second", "third"), ranked):
        values[f"aie.{kind}.{name}"] = judged.score(head)
    leading = ranked[0][0] * n_heads + ranked[0][1]
    if len(ranked) > 1:
        values[f"aie.{kind}.random_other"] = _random_other(effects[:, JUDGING], leading, seed)
    sets = {name: ranked[:size] for size, name in enumerate(("one", "two", "three"), 1) if size <= len(ranked)}
    sets["all"] = ranked
    together = _together(loaded, clean[JUDGING][:n_sets], corrupt[JUDGING][:n_sets], list(sets.values()))
    for name, column in zip(sets, together["heads"].T):
        values[f"aie.{kind}.together.{name}"] = mean(column)
    values[f"path.{kind}.first"] = mean(together["path"][:, leading])
    tables[kind] = scores.table()
    tables[f"{kind}.path"] = together["path"].mean(0).reshape(-1, n_heads).tolist()
    return chosen, judged


def _copying_head(loaded: LoadedModel, copies: QueryBatch, values: Values) -> Head:
    """The head that copies, and how often it shows it on the other half."""
    signs = copying_signs(loaded.model, copies.prompts, copies.answer, relations(copies)["same pair"])
    head = signs.best(CHOOSING)
    values |= {
        "copying_head.decodes": accuracy_estimate(signs.decodes[JUDGING, *head]),
        "copying_head.looks": accuracy_estimate(signs.looks[JUDGING, *head]),
    }
    return head


def _identity_demotion(
    loaded: LoadedModel, head: Head, n: int, draw: Callable[..., QueryBatch], values: Values
) -> None:
    """How often the copying head demotes the identity as well; a world without identities has no such queries."""
    try:
        queries = draw("identity", n, "demotion")
    except InputError:
        return
    if queries.distinct.any():
        demotion = identity_roles(loaded.model, queries[queries.distinct])["identity demotion"]
        values["copying_head.demotes_identity"] = demotion.score(head)


def _random_other(effects: np.ndarray, leading: int, seed: int) -> Estimate:
    """The control: for every pair, the effect of one random head other than the leading one."""
    rest = np.delete(effects, leading, axis=0)
    chosen = np.random.Generator(np.random.PCG64(seed % 2**64)).integers(len(rest), size=rest.shape[1])
    return mean(rest[chosen, np.arange(rest.shape[1])])


def _together(
    loaded: LoadedModel, clean: QueryBatch, corrupt: QueryBatch, sets: list[list[Head]]
) -> dict[str, np.ndarray]:
    """Effects of whole sets of heads, [n, sets], and of every head's direct path to the logits, [n, heads]."""
    model, masks = loaded.model, head_masks(loaded.model, sets)
    found: dict[str, list[np.ndarray]] = {"heads": [], "path": []}
    for rows in passes(model, clean.prompts):
        source = cache_last_token(model, on_device(model, clean.prompts[rows]))
        base = cache_last_token(model, on_device(model, corrupt.prompts[rows]), keys=True)
        targets = on_device(model, clean.answer[rows])
        before = target_probability(base.logits[:, None], targets)
        patched = {
            "heads": with_heads_replaced(model, base, source.z, masks),
            "path": path_to_logits(model, source, base).flatten(1, 2),
        }
        for name, logits in patched.items():
            found[name].append((target_probability(logits, targets) - before).cpu().numpy())
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _flipped(loaded: LoadedModel, n: int, n_facts: int, seed: int) -> tuple[QueryBatch, QueryBatch]:
    """One context for both. It contains the clean query but not its reverse, the corrupt one, whose answer differs."""
    world = family_world(loaded.world, "dihedral")
    corrupt = query_sampler(world, n_facts, seed, "copying")("commute_any", 4 * n, "flipped")
    corrupt = at_least_two(corrupt[~corrupt.commutes][:n], world, "a query that does not commute")
    return corrupt.reversed(), corrupt


# --- K2: attention and direct logits on variants of the same sequences ------------------------------------------------


def _commuting(loaded: LoadedModel, queries: QueryBatch) -> QueryBatch:
    """The queries to whose context both the fact and its reverse can be added."""
    chosen = queries[queries.commutes & queries.distinct & ~queries.is_identity]
    return at_least_two(chosen, loaded.world, "a commuting query of two variables without the identity")


def _variants(
    loaded: LoadedModel, head: Head, base: QueryBatch, seed: int, values: Values
) -> dict[str, dict[str, Any]]:
    examples = {}
    for name, queries in planted_variants(base, seed).items():
        run = cache_last_token_batched(loaded.model, queries.prompts, pattern=True)
        assert run.pattern is not None
        pattern, direct = (
            run.pattern[:, head[0], head[1]],
            direct_logits(loaded.model, run, "plain")[:, head[0], head[1]],
        )
        masses = {
            key: attention_mass(pattern, facts).cpu().numpy() for key, facts in partition(relations(queries)).items()
        }
        values |= {f"variants.{name}.mass.{key.replace(' ', '_')}": mean(mass) for key, mass in masses.items()}
        predicted = top_variable(run.logits[:, : loaded.world.n_variables])
        values[f"variants.{name}.correct"] = accuracy_estimate(predicted == queries.answer)
        values[f"variants.{name}.top_is_answer"] = accuracy_estimate(top_variable(direct) == queries.answer)
        _variant_values(name, masses, direct.cpu().numpy(), predicted, queries, values)
        examples[name] = _example(loaded, queries, pattern, direct)
    return examples


def _variant_values(
    name: str,
    masses: dict[str, np.ndarray],
    direct: np.ndarray,
    predicted: np.ndarray,
    queries: QueryBatch,
    values: Values,
) -> None:
    n = len(queries)
    if name == "both":
        first = accuracy_estimate(masses["same pair"] > masses["reverse"])
        values |= {
            "exact_precedes_commutative": boolean_estimate(first.value > 0.5, n),
            "exact_over_commutative": first,
        }
    elif name == "neither":
        means = {key: float(mass.mean()) for key, mass in masses.items()}
        values["self_attends"] = boolean_estimate(max(means, key=lambda key: means[key]) == "self", n)
    elif name in ("corrupted", "conflicting"):
        wrong = _planted_wrong(queries)
        top = np.argsort(-direct, axis=1)[:, :2]
        both = (top == queries.answer[:, None]).any(1) & (top == wrong[:, None]).any(1)
        values[f"{name}.promotes_both"] = accuracy_estimate(both)
        values[f"{name}.predicts_wrong"] = accuracy_estimate(predicted == wrong)
        if name == "corrupted":
            values["promotes_both"] = boolean_estimate(float(both.mean()) > 0.5, n)


def _planted_wrong(queries: QueryBatch) -> np.ndarray:
    """The wrong answer of the planted duplicate, or reverse, of the query."""
    found = relations(queries)
    facts = (found["same pair"] | found["reverse"])[:, :-1] & (queries.context[:, :, 2] != queries.answer[:, None])
    return queries.context[np.arange(len(queries)), facts.argmax(1), 2].astype(np.int64)


def _example(loaded: LoadedModel, queries: QueryBatch, pattern: torch.Tensor, direct: torch.Tensor) -> dict[str, Any]:
    """The first sequence, for the strips: attention of the head by fact and slot, and its direct logits."""
    text = loaded.world.vocabulary.decode(queries.tokens[:1])[0]
    return {
        "text": text,
        "attention": by_fact(pattern[:1])[0].cpu().numpy().round(4).tolist(),
        "direct": direct[0].cpu().numpy().round(3).tolist(),
    }


# --- K3: what the heads promote, by family of groups ------------------------------------------------------------------


def _decoded(loaded: LoadedModel, head: Head, n: int, n_facts: int, seed: int, values: Values) -> dict[str, Any]:
    """Shares of queries whose answer has a head's top logit; for the copying head as values, for all as tables."""
    tables: dict[str, Any] = {}
    for family, kinds in DECODED.items():
        world = family_world(loaded.world, family)
        for kind, distribution in kinds.items():
            queries = query_sampler(world, n_facts, seed, "copying/decode")(distribution, n, family)
            run = cache_last_token_batched(loaded.model, queries.prompts, pattern=True)
            top = top_variable(direct_logits(loaded.model, run, "plain"))
            hit = top == queries.answer[:, None, None]
            values[f"decode.{family}.{kind}"] = accuracy_estimate(hit[:, head[0], head[1]])
            tables[f"{family}.{kind}"] = hit.mean(0).tolist()
            _attended(run, top, queries, head, family, kind, values, tables)
    return tables


def _attended(
    run: LastTokenCache,
    top: np.ndarray,
    queries: QueryBatch,
    head: Head,
    family: str,
    kind: str,
    values: Values,
    tables: dict[str, Any],
) -> None:
    """How often the top logit is that of the most attended variable; attention on the copied fact by slot."""
    assert run.pattern is not None
    attended = top == most_attended_variable(run.pattern, queries).cpu().numpy()
    if (family, kind) == ("dihedral", "commute_any"):
        values["decode.dihedral.attended"] = accuracy_estimate(attended[:, head[0], head[1]])
        tables["dihedral.attended"] = attended.mean(0).tolist()
    if (family, kind) == ("cyclic", "copy"):
        values["promotes_attended.copy"] = accuracy_estimate(attended[:, head[0], head[1]])
        facts, pattern = relations(queries)["same pair"], run.pattern[:, head[0], head[1]]
        masses = {
            name: mean(attention_mass(pattern, facts, slot).cpu().numpy()) for slot, name in enumerate(FACT_SLOTS)
        }
        values |= {f"copy.slot.{name.replace(' ', '_')}": mass for name, mass in masses.items()}
        most = max(masses, key=lambda name: masses[name].value)
        values["reads_answer_slot"] = boolean_estimate(most == "answer", len(queries))
