"""Cancellation (L5): do the heads that attend to facts sharing a variable with the query lower those facts' answers?

Three laws. `cancel` holds only facts that share the query's left or right variable; `cancel_embedded` the same facts
among others, so that there is something else to attend to. In both, every wrong answer is given by both sides once
there is room for all facts. In short `holdout` sequences the sides differ: there only answers that one side alone gives
are counted. What is measured of a head: interp/cancellation.py.

attention.<side>                  the most that any head has on the answer slots, on `cancel`: the published number
both_demote                       whether these two heads' changes are negative
reads.<side>.<law>.<slot>         the reader of the side: the final layer's head with most attention on those facts, in
                                  any slot, on `cancel_embedded` (direct logits are a head's whole effect only there)
change.<side>.<law>               its change; .group: against open members; .queries: share of queries with a demotion;
                                  .other_heads: the mean of all others, a control
demotes.<side>.<what>             the converse, on `holdout`: the head with the strongest .group demotion of the side's
                                  answers, and its attention on those facts and on the query's own tokens
attend_and_demote.<side>.<law>    over all heads, the correlation of attention on those facts with demotion
without.<heads>.<distribution>    accuracy with heads' outputs replaced by their mean over `train`
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from icalgebra.errors import InputError
from icalgebra.evaluate import share
from icalgebra.experiments.subject import Subject, result_about
from icalgebra.experiments.values import holds
from icalgebra.interp.ablation import other_heads, without
from icalgebra.interp.attention import by_fact
from icalgebra.interp.cancellation import SIDES, SLOTS, Looked, look, ruled_out
from icalgebra.interp.cases import Cases
from icalgebra.interp.heads import Head, cancellation, drawer, head_name
from icalgebra.interp.lens import direct_logits
from icalgebra.interp.trace import traces
from icalgebra.results import Result
from icalgebra.statistics import Estimate, correlation_of_means, mean

Values = dict[str, Estimate]
LAWS = ("cancel", "cancel_embedded", "holdout")
EXAMPLE_ORDER = 6
ABLATED_ON = ("cancel", "cancel_embedded", "copy")


@torch.no_grad()
def run(tier: str, seed: int, subject: Subject, n: int, n_ablate: int, n_facts: int, short_facts: int) -> Result:
    n_facts, short_facts = subject.facts(n_facts), subject.facts(short_facts)
    drawn = {law: draw_cases(subject, law, n, short_facts if law == "holdout" else n_facts, seed) for law in LAWS}
    looked = {law: look(subject.model, cases, law == "holdout") for law, cases in drawn.items()}
    readers = {side: _most(looked["cancel_embedded"].mass[side, "fact"], final=True) for side in SIDES}
    answer_heads = {side: _most(looked["cancel"].mass[side, "answer"]) for side in SIDES}
    demoters = {side: _most(-looked["holdout"].change_in_group[side]) for side in SIDES}
    found = _with_a_role(subject, drawn["holdout"])
    values = _published(looked["cancel"], answer_heads)
    for law in LAWS:
        values |= _reading(law, looked[law], readers) | _together(law, looked[law])
    values |= _demoting(looked["holdout"], demoters)
    sets = {"readers": readers.values(), "demoters": demoters.values(), "found": found}
    values |= _ablated(subject, {name: sorted(set(heads)) for name, heads in sets.items()}, n_ablate, n_facts, seed)
    return result_about(
        subject, "cancellation", tier, seed,
        config={"n": n, "n_ablate": n_ablate, "n_facts": n_facts, "short_facts": short_facts},
        values=values,
        details={"readers": _named(readers), "answer_heads": _named(answer_heads), "demoters": _named(demoters),
                 "found": [head_name(head) for head in found], "tables": _tables(looked),
                 "example": _example(subject, readers, short_facts, seed)},
    )  # fmt: skip


def draw_cases(subject: Subject, law: str, n: int, n_facts: int, seed: int) -> Cases:
    """Cases without an identity in the query in which each side rules something out: n of them, or what is found."""
    cases = drawer(subject.world, n_facts, seed, "cancellation")(law, 4 * n if law == "holdout" else n)
    ruled = ruled_out(cases, law == "holdout")
    kept = cases[ruled["left"].any(1) & ruled["right"].any(1) & ~cases.is_identity][:n]
    if len(kept) < 2:
        raise InputError(f"too few {law} sequences of {n_facts} facts share both variables with their query")
    return kept


# --- choosing heads ---------------------------------------------------------------------------------------------------


def _most(observed: np.ndarray, final: bool = False) -> Head:
    """The head with the largest mean, of the final layer where told."""
    means = observed.mean(0)
    if final:
        means[:-1] = -np.inf
    layer, head = np.unravel_index(means.argmax(), means.shape)
    return int(layer), int(head)


def _with_a_role(subject: Subject, cases: Cases) -> list[Head]:
    """All heads that have a cancellation role by attention times demotion (interp/heads.py)."""
    run = traces(subject.model, cases.prompts, pattern=True)
    scores = [cancellation(subject.model, run, cases, side) for side in SIDES]
    return sorted({head for score in scores for head in score.heads or [score.best]})


# --- values -----------------------------------------------------------------------------------------------------------


def _published(looked: Looked, heads: dict[str, Head]) -> Values:
    """Per side the head with most attention on the answer slots, with chance, and whether it lowers those answers."""
    values = {}
    for side, (layer, head) in heads.items():
        values[f"attention.{side}"] = mean(looked.mass[side, "answer"][:, layer, head])
        values[f"attention.{side}.chance"] = mean(looked.chance[side, "answer"])
        values[f"attention.{side}.change"] = mean(looked.change[side][:, layer, head])
    changes = [values[f"attention.{side}.change"] for side in SIDES]
    values["both_demote"] = holds(all(change.high < 0 for change in changes), changes[0].n)
    return values


def _reading(law: str, looked: Looked, readers: dict[str, Head]) -> Values:
    values: Values = {}
    for side, (layer, head) in readers.items():
        for slot in SLOTS:
            values[f"reads.{side}.{law}.{slot}"] = mean(looked.mass[side, slot][:, layer, head])
            values[f"reads.{side}.{law}.neither.{slot}"] = mean(looked.mass["neither", slot][:, layer, head])
            values[f"chance.{side}.{law}.{slot}"] = mean(looked.chance[side, slot])
            values[f"chance.neither.{law}.{slot}"] = mean(looked.chance["neither", slot])
        other = SIDES[1 - SIDES.index(side)]
        values[f"reads.{side}.{law}.other_side"] = mean(looked.mass[other, "fact"][:, layer, head])
        values |= _change(f"change.{side}.{law}", looked, side, (layer, head))
    return values


def _change(name: str, looked: Looked, side: str, head: Head) -> Values:
    change, place = looked.change[side], head[0] * looked.change[side].shape[2] + head[1]
    values = {
        name: mean(change[:, *head]),
        f"{name}.queries": share(change[:, *head] < 0),
        f"{name}.group": mean(looked.change_in_group[side][:, *head]),
    }
    others = np.delete(_flat(change), place, axis=1)
    return values | ({f"{name}.other_heads": mean(others.mean(1))} if others.size else {})


def _demoting(looked: Looked, demoters: dict[str, Head]) -> Values:
    values = {}
    for side, head in demoters.items():
        values[f"demotes.{side}.group"] = mean(looked.change_in_group[side][:, *head])
        values[f"demotes.{side}.attention"] = mean(looked.mass[side, "fact"][:, *head])
        values[f"demotes.{side}.attention_on_query"] = mean(looked.mass["self", "fact"][:, *head])
    return values


def _together(law: str, looked: Looked) -> Values:
    """Over all heads: who attends, does it demote? Also against open members, and there over the final layer alone.

    One head correlates with nothing: what has no second one is left out.
    """
    compared = {}
    for side in SIDES:
        name, mass, in_group = (
            f"attend_and_demote.{side}.{law}",
            looked.mass[side, "fact"],
            looked.change_in_group[side],
        )
        compared[name] = _flat(mass), -_flat(looked.change[side])
        compared[f"{name}.group"] = _flat(mass), -_flat(in_group)
        compared[f"{name}.group.final_layer"] = mass[:, -1], -in_group[:, -1]
    return {name: correlation_of_means(*pair) for name, pair in compared.items() if pair[0].shape[1] > 1}


def _flat(observed: np.ndarray) -> np.ndarray:
    return observed.reshape(len(observed), -1)


# --- the causal check -------------------------------------------------------------------------------------------------


def _ablated(subject: Subject, chosen: dict[str, list[Head]], n: int, n_facts: int, seed: int) -> Values:
    """Accuracy without each set of heads, and without as many others of the same layers (control), if there are any."""
    model, draw = subject.model, drawer(subject.world, n_facts, seed, "cancellation/ablated")
    controls = {f"{name}.control": other_heads(model, heads, seed) for name, heads in chosen.items()}
    sets = chosen | {name: heads for name, heads in controls.items() if heads}
    average = traces(model, draw("train", n).prompts).z.mean(0, keepdim=True)
    values: Values = {}
    for distribution in ABLATED_ON:
        plain, right = without(model, draw(distribution, n), average, list(sets.values()))
        values[f"plain.{distribution}"] = share(plain)
        values |= {f"without.{name}.{distribution}": share(right[:, i]) for i, name in enumerate(sets)}
    return values


# --- details ----------------------------------------------------------------------------------------------------------


def _named(heads: dict[str, Head]) -> dict[str, str]:
    return {side: head_name(head) for side, head in heads.items()}


def _tables(looked: dict[str, Looked]) -> dict[str, Any]:
    """Means by layer and head, and half the width of the intervals that the figures draw."""
    tables: dict[str, Any] = {}
    for law, found in looked.items():
        for side in SIDES:
            shown = {slot: found.mass[side, slot] for slot in SLOTS}
            shown |= {"change": found.change[side], "change_in_group": found.change_in_group[side]}
            tables |= {f"{law}.{side}.{name}": observed.mean(0).tolist() for name, observed in shown.items()}
            tables |= {f"{law}.{side}.{name}.half": _half_widths(shown[name]) for name in ("fact", "change_in_group")}
    return tables


def _half_widths(observed: np.ndarray) -> list[list[float]]:
    estimates = [[mean(observed[:, i, j]) for j in range(observed.shape[2])] for i in range(observed.shape[1])]
    return [[estimate.high - estimate.value for estimate in row] for row in estimates]


def _example(subject: Subject, readers: dict[str, Head], n_facts: int, seed: int) -> dict[str, Any]:
    """One short sequence, for the strips: attention of both readers by fact and slot, and their direct logits."""
    cases = drawer(subject.world, n_facts, seed, "cancellation/example")("cancel_embedded", 64)
    telling = cases.distinct * (
        1 + np.minimum(cases.members.sum(1), EXAMPLE_ORDER)
    )  # x ≠ y, and some answers to rule out
    cases = cases[telling.argmax() : telling.argmax() + 1]
    run = traces(subject.model, cases.prompts, pattern=True)
    assert run.pattern is not None
    attention, direct = by_fact(run.pattern)[0].cpu().numpy(), direct_logits(subject.model, run)[0].cpu().numpy()
    strips = {
        side: {"attention": attention[head].round(4).tolist(), "direct": direct[head].round(3).tolist()}
        for side, head in readers.items()
    }
    return {"text": subject.world.vocabulary.decode(cases.tokens)[0], "strips": strips}
