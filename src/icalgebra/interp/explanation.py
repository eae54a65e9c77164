"""Why a model answers a query so: mechanisms, posterior, and what each head and MLP adds at the query's '='.

    found = explain("small", ",pf=p,ee=n,ae=f,pp=e,pn=f,pe=")
    found.answer, found.kind, found.heads[0]
    found.to_dict()                             # plain values, for JSON

For every head: the facts that '=' attends to, the variables that its output promotes directly (lens.py, frozen form,
relative to the mean over the variables), and the answer's probability without it. A head or MLP is taken out by setting
its output at '=' to its mean over other sequences of the same world and length.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from icalgebra.data.distributions import sample
from icalgebra.interp.ablation import head_masks, with_heads_replaced
from icalgebra.interp.attention_mass import FACT_SLOTS, attention, by_fact
from icalgebra.interp.head_names import head_name
from icalgebra.interp.last_token_cache import LastTokenCache, as_run, cache_last_token_batched, resume
from icalgebra.interp.lens import direct_logits, logit_lens, read_logits
from icalgebra.language.vocabulary import MECHANISMS, Vocabulary
from icalgebra.language.world import World
from icalgebra.model.checkpoints import as_model
from icalgebra.model.inputs import one_prompt, trained_world
from icalgebra.model.transformer import Transformer
from icalgebra.oracle import Query, classify_queries, explain_entailed, explain_impossible, likely_query, ranked
from icalgebra.solvers import proof
from icalgebra.solvers.ladder import prove, rules_hold

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

ATTENDED, SHOWN = 0.05, 3  # least attention on a fact that is listed; facts, and variables, listed per component
REFERENCES = 32  # sequences whose mean output replaces an ablated component's


@dataclass(frozen=True)
class AttendedFact:
    """A fact of the context: its number from 1, the attention on it, and the slot with most of that."""

    number: int
    fact: str
    attention: float
    slot: str


@dataclass(frozen=True)
class Part:
    """What one head ("2.1") or MLP ("mlp 2") adds. direct: for the answer; promotes, demotes: the extreme variables."""

    name: str
    direct: float
    promotes: dict[str, float]
    demotes: dict[str, float]
    without: float  # the answer's probability without it
    facts: tuple[AttendedFact, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """One query, and why the model answers it so. `to_dict` gives plain values; notebooks show a page."""

    text: str
    answer: str  # the model's
    probabilities: dict[str, float]  # the model's, likeliest first
    mechanisms: dict[str, dict[str, tuple[str, ...]]]  # mechanism -> each answer with the facts that prove it
    query: str  # how the oracle takes the query: holdout or train
    kind: str  # entailed, guess or impossible
    posterior: dict[str, float]
    reason: str  # why it is entailed or impossible; empty for a guess
    rung: str  # the lowest rung of the ladder of deduction that decides the query; empty where none does
    proof: tuple[str, ...]  # its steps in words
    depths: tuple[dict[str, float], ...]  # logit lens: the likeliest answers after 0, 1, … layers
    heads: tuple[Part, ...]
    mlps: tuple[Part, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def strongest(self) -> list[Part]:
        """Heads and MLPs, those that the answer loses most without first."""
        return sorted((*self.heads, *self.mlps), key=lambda part: part.without)

    def __repr__(self) -> str:
        return f"Explanation(…{self.text[-14:]}{self.answer}, {self.kind}, most needed: {self.strongest[0].name})"

    def _repr_html_(self) -> str:
        from icalgebra.interp.explanation_html import explanation_html

        return explanation_html(self)


@torch.no_grad()
def explain(
    model: Transformer | str | Path, prompt: Any, world: World | None = None, query: Query | None = None, seed: int = 0
) -> Explanation:
    """Why the model answers the last query of one prompt (text that ends in '=', a Sequence, or tokens) so.

    world: by default the one that the model was trained in. query: how the query was drawn, "holdout" or "train"; by
    default train where it or its reverse occurs in the context. seed: of the sequences behind mean ablation.
    """
    model = as_model(model)
    world, prompts = trained_world(model, world), one_prompt(model, prompt, "explain takes one prompt at a time")
    text = world.vocabulary.decode(prompts)[0]
    query = query or likely_query(text)
    run = as_run(model, prompts, keys=True, pattern=True)
    variables = run.logits[0, : world.n_variables]
    answer = int(variables.argmax())
    judged = classify_queries(prompts, world, query)
    return Explanation(
        text=text,
        answer=world.vocabulary.variables[answer],
        probabilities=ranked(variables.softmax(-1).numpy(force=True)),
        mechanisms={name: {found: tuple(f"{fact[:2]}={fact[2]}" for fact in facts)
                           for found, facts in proof(name, text).items()} for name in MECHANISMS},
        query=query,
        kind=str(judged.kinds[0]),
        posterior=ranked(judged.probabilities[0]),
        reason=_reason(prompts, world, query),
        **_proof(prompts, text, world),
        depths=tuple(_top(row.softmax(-1)) for row in logit_lens(model, run)[0, :, : world.n_variables]),
        **_parts(model, run, world, text, answer, seed),
    )  # fmt: skip


def _proof(prompts: np.ndarray, text: str, world: World) -> dict[str, Any]:
    found = prove(prompts, world) if rules_hold(world) else None
    return {"rung": found.rung if found else "", "proof": tuple(found.words(text[1:].split(","))) if found else ()}


def _reason(prompts: np.ndarray, world: World, query: Query) -> str:
    entailed = explain_entailed(prompts, world, query)
    if entailed is not None:
        return f"forced by {' '.join(fact[1:] for fact in entailed.forced_by)}" if entailed.forced_by else "always"
    impossible = explain_impossible(prompts, world, query)
    return f"{impossible.text}: {impossible.reason}; {impossible.advice}" if impossible else ""


def _parts(model: Transformer, run: LastTokenCache, world: World, text: str, answer: int, seed: int) -> dict[str, Any]:
    """The fields `heads` and `mlps`."""
    n_facts, layers = text.count("="), range(model.config.n_layers)
    heads = [(layer, head) for layer in layers for head in range(model.config.n_heads)]
    usual = cache_last_token_batched(model, sample("train", REFERENCES, n_facts, seed, world, stream="explain").prompts)
    ablated = with_heads_replaced(model, run, usual.z.mean(0, keepdim=True), head_masks(model, [[h] for h in heads]))
    without = ablated[0, :, : world.n_variables].softmax(-1)[:, answer].tolist()
    direct, pattern = direct_logits(model, run)[0], by_fact(attention(model, run)[0])
    mlp_direct = read_logits(model, run, run.mlp_out)[0, :, : world.n_variables]
    mlp_without = [_without_mlp(model, run, i, usual.mlp_out.mean(0)[i])[answer] for i in layers]
    return {
        "heads": tuple(
            _part(head_name(head), direct[head], without[i], answer, _attended(pattern[head], text))
            for i, head in enumerate(heads)
        ),
        "mlps": tuple(_part(f"mlp {i}", mlp_direct[i], float(mlp_without[i]), answer) for i in layers),
    }


def _without_mlp(model: Transformer, run: LastTokenCache, layer: int, usual: Tensor) -> Tensor:
    """Probabilities of the variables with this MLP's output at the last position set to the usual one."""
    logits = resume(model, run, {f"blocks.{layer}.hook_mlp_out": usual.expand_as})
    return logits[0, 0, : model.config.n_variables].softmax(-1)


def _part(name: str, direct: Tensor, without: float, answer: int, facts: tuple[AttendedFact, ...] = ()) -> Part:
    centred = direct - direct.mean()
    return Part(name, float(centred[answer]), _top(centred), _top(centred, largest=False), without, facts)


def _top(values: Tensor, largest: bool = True) -> dict[str, float]:
    """The variables with the largest (smallest) values."""
    letters = Vocabulary(len(values)).variables
    found = values.topk(min(SHOWN, len(values)), largest=largest)
    return {letters[i]: float(value) for i, value in zip(found.indices.tolist(), found.values)}


def _attended(pattern: Tensor, text: str) -> tuple[AttendedFact, ...]:
    facts = text[1:].split(",")
    totals = pattern.sum(-1)
    order = totals.argsort(descending=True)[:SHOWN].tolist()
    return tuple(
        AttendedFact(i + 1, facts[i], float(totals[i]), FACT_SLOTS[int(pattern[i].argmax())])
        for i in order
        if totals[i] >= ATTENDED
    )
