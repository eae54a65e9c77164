"""Cancellation (L5): do the heads that attend to facts sharing a variable with the query lower those facts' answers?

Three distributions. `cancel` holds only facts that share the query's left or right variable; `cancel_embedded` has the
same facts among others, so that a head can also attend to something else. In both, each side rules out every wrong
answer once all facts fit. In short `holdout` sequences the sides differ, and only answers that one side alone rules out
are counted there. What is measured for each head: interp/cancellation.py.

attention.<side>                    most attention of any head on the answer slots, on `cancel`: the published number
both_demote                         whether both of these heads have a negative change
reads.<side>.<distribution>.<slot>  the side's reader: the final layer's head with most attention on the side's facts,
                                    in any slot, on `cancel_embedded`
change.<side>.<distribution>        its change; .group: relative to open members; .queries: share of queries with a
                                    demotion; .other_heads: the mean over all other heads, a control
demotes.<side>.<what>               the converse, on `holdout`: the head with the strongest .group demotion of the
                                    side's answers, and its attention on those facts and on the query's own tokens
attend_and_demote.<side>.<distribution>
                                    the correlation across heads of attention on those facts with demotion
without.<heads>.<distribution>      accuracy with these heads mean-ablated (mean over `train` sequences)
Heads are chosen on one half of the sequences and scored on the other, or ablated on fresh ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from icalgebra.errors import InputError
from icalgebra.experiments.shared.estimates import boolean_estimate
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.interp.ablation import mean_ablate, other_heads
from icalgebra.interp.attention_mass import by_fact
from icalgebra.interp.cancellation import COUNTED_SLOTS, SIDES, HeadStats, head_stats, ruled_out
from icalgebra.interp.heads import Head, cancellation, head_name, query_sampler
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.interp.lens import direct_logits
from icalgebra.interp.query_batch import QueryBatch
from icalgebra.model.accuracy import accuracy_estimate
from icalgebra.results import Result
from icalgebra.statistics import CHOOSING, JUDGING, Estimate, correlation_of_means, mean

Values = dict[str, Estimate]
DISTRIBUTIONS = ("cancel", "cancel_embedded", "holdout")
EXAMPLE_ORDER = 6  # members of the example's group: answers to rule out, and few enough to see in the strips
ABLATED_ON = ("cancel", "cancel_embedded", "copy")  # copy: a control, since copying needs no cancellation


@torch.no_grad()
def run(tier: str, seed: int, loaded: LoadedModel, n: int, n_ablate: int, n_facts: int, short_facts: int) -> Result:
    n_facts, short_facts = loaded.facts(n_facts), loaded.facts(short_facts)
    lengths = {name: short_facts if name == "holdout" else n_facts for name in DISTRIBUTIONS}
    drawn = {name: draw_queries(loaded, name, n, length, seed) for name, length in lengths.items()}
    stats = {name: head_stats(loaded.model, queries, apart=name == "holdout") for name, queries in drawn.items()}
    chosen = {name: found.rows(CHOOSING) for name, found in stats.items()}
    # Readers come from the final layer: earlier heads also act through later layers, which direct logits do not show.
    readers = {side: _most(chosen["cancel_embedded"].mass[side, "fact"], final=True) for side in SIDES}
    answer_heads = {side: _most(chosen["cancel"].mass[side, "answer"]) for side in SIDES}
    # The converse search, over all layers: in `small` the strongest demoter hardly attends to the facts it acts on.
    demoters = {side: _most(-chosen["holdout"].change_in_group[side]) for side in SIDES}
    judged = {name: found.rows(JUDGING) for name, found in stats.items()}
    found = _with_a_role(loaded, drawn["holdout"])
    values = _published(judged["cancel"], answer_heads)
    for name in DISTRIBUTIONS:
        values |= _reading(name, judged[name], readers) | _across_heads(name, stats[name])
    values |= _demoting(judged["holdout"], demoters)
    sets = {"readers": readers.values(), "demoters": demoters.values(), "found": found}
    values |= _ablated(loaded, {name: sorted(set(heads)) for name, heads in sets.items()}, n_ablate, n_facts, seed)
    return result_about(
        loaded, "cancellation", tier, seed,
        config={"n": n, "n_ablate": n_ablate, "n_facts": n_facts, "short_facts": short_facts},
        values=values,
        details={"readers": _named(readers), "answer_heads": _named(answer_heads), "demoters": _named(demoters),
                 "found": [head_name(head) for head in found], "tables": _tables(stats),
                 "example": _example(loaded, readers, short_facts, seed)},
    )  # fmt: skip


def draw_queries(loaded: LoadedModel, distribution: str, n: int, n_facts: int, seed: int) -> QueryBatch:
    """At most n queries without the identity for which each side rules something out."""
    # In short hold-out sequences a side may rule nothing out alone; these are dropped, so more are drawn.
    draw = query_sampler(loaded.world, n_facts, seed, "cancellation")
    queries = draw(distribution, 4 * n if distribution == "holdout" else n)
    ruled = ruled_out(queries, distribution == "holdout")
    kept = queries[ruled["left"].any(1) & ruled["right"].any(1) & ~queries.is_identity][:n]
    if len(kept) < 4:  # heads are chosen on one half and scored on the other
        raise InputError(f"too few {distribution} sequences of {n_facts} facts share both variables with their query")
    return kept


# --- choosing heads ---------------------------------------------------------------------------------------------------


def _most(observed: np.ndarray, final: bool = False) -> Head:
    """The head with the largest mean; final: among those of the final layer."""
    means = observed.mean(0)
    if final:
        means[:-1] = -np.inf
    layer, head = np.unravel_index(means.argmax(), means.shape)
    return int(layer), int(head)


def _with_a_role(loaded: LoadedModel, queries: QueryBatch) -> list[Head]:
    """All heads that have a cancellation role by attention times demotion (interp/heads.py)."""
    run = cache_last_token_batched(loaded.model, queries.prompts, pattern=True)
    scores = [cancellation(loaded.model, run, queries, side) for side in SIDES]
    return sorted({head for score in scores for head in score.heads or [score.best]})


# --- values -----------------------------------------------------------------------------------------------------------


def _published(stats: HeadStats, heads: dict[str, Head]) -> Values:
    """For each side's head with most attention on the answer slots: attention, chance, and the change it makes."""
    values = {}
    for side, (layer, head) in heads.items():
        values[f"attention.{side}"] = mean(stats.mass[side, "answer"][:, layer, head])
        values[f"attention.{side}.chance"] = mean(stats.chance[side, "answer"])
        values[f"attention.{side}.change"] = mean(stats.change[side][:, layer, head])
    changes = [values[f"attention.{side}.change"] for side in SIDES]
    values["both_demote"] = boolean_estimate(all(change.high < 0 for change in changes), changes[0].n)
    return values


def _reading(distribution: str, stats: HeadStats, readers: dict[str, Head]) -> Values:
    values: Values = {}
    for side, (layer, head) in readers.items():
        for slot in COUNTED_SLOTS:
            values[f"reads.{side}.{distribution}.{slot}"] = mean(stats.mass[side, slot][:, layer, head])
            values[f"reads.{side}.{distribution}.neither.{slot}"] = mean(stats.mass["neither", slot][:, layer, head])
            values[f"chance.{side}.{distribution}.{slot}"] = mean(stats.chance[side, slot])
            values[f"chance.neither.{distribution}.{slot}"] = mean(stats.chance["neither", slot])
        other = SIDES[1 - SIDES.index(side)]
        values[f"reads.{side}.{distribution}.other_side"] = mean(stats.mass[other, "fact"][:, layer, head])
        values |= _change(f"change.{side}.{distribution}", stats, side, (layer, head))
    return values


def _change(name: str, stats: HeadStats, side: str, head: Head) -> Values:
    change, place = stats.change[side], head[0] * stats.change[side].shape[2] + head[1]
    values = {
        name: mean(change[:, *head]),
        f"{name}.queries": accuracy_estimate(change[:, *head] < 0),
        f"{name}.group": mean(stats.change_in_group[side][:, *head]),
    }
    others = np.delete(_flat(change), place, axis=1)
    return values | ({f"{name}.other_heads": mean(others.mean(1))} if others.size else {})


def _demoting(stats: HeadStats, demoters: dict[str, Head]) -> Values:
    values = {}
    for side, head in demoters.items():
        values[f"demotes.{side}.group"] = mean(stats.change_in_group[side][:, *head])
        values[f"demotes.{side}.attention"] = mean(stats.mass[side, "fact"][:, *head])
        values[f"demotes.{side}.attention_on_query"] = mean(stats.mass["self", "fact"][:, *head])
    return values


def _across_heads(distribution: str, stats: HeadStats) -> Values:
    """Across heads: do those that attend also demote? Relative to all others or to open members.

    A correlation needs at least two heads.
    """
    compared = {}
    for side in SIDES:
        name, mass, in_group = (
            f"attend_and_demote.{side}.{distribution}",
            stats.mass[side, "fact"],
            stats.change_in_group[side],
        )
        compared[name] = _flat(mass), -_flat(stats.change[side])
        compared[f"{name}.group"] = _flat(mass), -_flat(in_group)
        compared[f"{name}.group.final_layer"] = mass[:, -1], -in_group[:, -1]
    return {name: correlation_of_means(*pair) for name, pair in compared.items() if pair[0].shape[1] > 1}


def _flat(observed: np.ndarray) -> np.ndarray:
    return observed.reshape(len(observed), -1)


# --- the causal check -------------------------------------------------------------------------------------------------


def _ablated(loaded: LoadedModel, chosen: dict[str, list[Head]], n: int, n_facts: int, seed: int) -> Values:
    """Accuracy with each set of heads mean-ablated, and with as many others of the same layers (control), if any."""
    model, draw = loaded.model, query_sampler(loaded.world, n_facts, seed, "cancellation/ablated")
    controls = {f"{name}.control": other_heads(model, heads, seed) for name, heads in chosen.items()}
    sets = chosen | {name: heads for name, heads in controls.items() if heads}
    average = cache_last_token_batched(model, draw("train", n).prompts).z.mean(0, keepdim=True)
    values: Values = {}
    for distribution in ABLATED_ON:
        plain, right = mean_ablate(model, draw(distribution, n), average, list(sets.values()))
        values[f"plain.{distribution}"] = accuracy_estimate(plain)
        values |= {f"without.{name}.{distribution}": accuracy_estimate(right[:, i]) for i, name in enumerate(sets)}
    return values


# --- details ----------------------------------------------------------------------------------------------------------


def _named(heads: dict[str, Head]) -> dict[str, str]:
    return {side: head_name(head) for side, head in heads.items()}


def _tables(stats: dict[str, HeadStats]) -> dict[str, Any]:
    """Means by layer and head, and the half-widths of the intervals that the figures draw."""
    tables: dict[str, Any] = {}
    for distribution, found in stats.items():
        for side in SIDES:
            shown = {slot: found.mass[side, slot] for slot in COUNTED_SLOTS}
            shown |= {"change": found.change[side], "change_in_group": found.change_in_group[side]}
            tables |= {f"{distribution}.{side}.{name}": observed.mean(0).tolist() for name, observed in shown.items()}
            tables |= {
                f"{distribution}.{side}.{name}.half": _half_widths(shown[name]) for name in ("fact", "change_in_group")
            }
    return tables


def _half_widths(observed: np.ndarray) -> list[list[float]]:
    estimates = [[mean(observed[:, i, j]) for j in range(observed.shape[2])] for i in range(observed.shape[1])]
    return [[estimate.high - estimate.value for estimate in row] for row in estimates]


def _example(loaded: LoadedModel, readers: dict[str, Head], n_facts: int, seed: int) -> dict[str, Any]:
    """One short sequence for the figure: both readers' attention by fact and slot, and their direct logits."""
    queries = query_sampler(loaded.world, n_facts, seed, "cancellation/example")("cancel_embedded", 64)
    # preferably x ≠ y in a group that is large enough; the first such query
    suitable = queries.distinct * (1 + np.minimum(queries.members.sum(1), EXAMPLE_ORDER))
    queries = queries[suitable.argmax() : suitable.argmax() + 1]
    run = cache_last_token_batched(loaded.model, queries.prompts, pattern=True)
    assert run.pattern is not None
    attention, direct = by_fact(run.pattern)[0].cpu().numpy(), direct_logits(loaded.model, run)[0].cpu().numpy()
    strips = {
        side: {"attention": attention[head].round(4).tolist(), "direct": direct[head].round(3).tolist()}
        for side, head in readers.items()
    }
    return {"text": loaded.world.vocabulary.decode(queries.tokens)[0], "strips": strips}
