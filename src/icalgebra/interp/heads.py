"""Roles of heads, found by their effects at the last position, not by their index.

D is a head's direct logits over the variables (lens.py, frozen form), A its attention, xy= the query, z its answer.

    copy                 mean of P(z | head patched from a `copy` run into a `holdout` run) − P(z | `holdout` run)
    commute              the same, patched from a `commute` run
    query promotion      on `identity` queries, x ≠ y: share whose two highest D are x and y
    identity demotion    on `identity` queries, x ≠ y: share whose lowest D is the identity
    left cancellation    on `holdout` queries: mean of A(same-left facts) × (mean D of the rest − of their answers)
    right cancellation   the same for same right
    closure promotion    on `holdout` queries: mean of (mean D of the query's structure − mean D of other variables)

Shares have Wilson intervals, means normal ones. A head has a role if its score is at least half of the best
head's and its interval excludes zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from icalgebra.data.distributions import sample
from icalgebra.interp.attention_mass import attention_mass, by_fact, relations
from icalgebra.interp.head_names import Head, HeadLike, head_name, parse_head
from icalgebra.interp.last_token_cache import LastTokenCache, cache_last_token_batched
from icalgebra.interp.lens import direct_logits
from icalgebra.interp.patching import indirect_effects
from icalgebra.interp.query_batch import QueryBatch, at_least_two, pairs
from icalgebra.language.world import World
from icalgebra.model.accuracy import accuracy_estimate
from icalgebra.model.inputs import trained_world
from icalgebra.model.predict import top_variable
from icalgebra.model.transformer import Transformer
from icalgebra.statistics import CHOOSING, JUDGING, Estimate, mean

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Integer, Shaped

ROLES = (
    "copy", "commute", "query promotion", "identity demotion", "left cancellation", "right cancellation",
    "closure promotion",
)  # fmt: skip
__all__ = ["ROLES", "Head", "RoleScores", "head_name", "head_roles"]
NOT_MEASURED = Estimate(0.0, 0.0, 0.0, 0)  # the score of a role that no sequence can show


@dataclass(frozen=True, eq=False)
class RoleScores:
    """One role's score for every head, and which heads have the role."""

    role: str
    observed: Shaped[np.ndarray, "n n_layers n_heads"]  # shares are bool, means float
    estimate: Callable[[np.ndarray], Estimate]  # a share or a mean

    @cached_property
    def scores(self) -> list[list[Estimate]]:
        """By layer and head."""
        layers, heads = self.observed.shape[1:]
        if not len(self.observed):
            return [[NOT_MEASURED] * heads for _ in range(layers)]
        return [[self.estimate(self.observed[:, i, j]) for j in range(heads)] for i in range(layers)]

    def halves(self) -> tuple[RoleScores, RoleScores]:
        """To choose heads on one half of the sequences and score them on the other: the best of many heads looks too
        good on the sequences that chose it."""
        if len(self.observed) < 4:  # one observation has no interval
            return self, self
        return replace(self, observed=self.observed[CHOOSING]), replace(self, observed=self.observed[JUDGING])

    @property
    def ranked(self) -> list[Head]:
        """All heads, highest score first."""
        heads = [(layer, head) for layer, row in enumerate(self.scores) for head in range(len(row))]
        return sorted(heads, key=lambda head: -self.score(head).value)

    @property
    def best(self) -> Head:
        return self.ranked[0]

    @property
    def heads(self) -> list[Head]:
        """The heads that have the role, best first."""
        threshold = self.score(self.best).value / 2
        return [head for head in self.ranked if self.score(head).value >= threshold and self.score(head).low > 0]

    def score(self, head: HeadLike) -> Estimate:
        layer, place = parse_head(head)
        return self.scores[layer][place]

    @property
    def measured(self) -> bool:
        """False if no sequence can show the role, as when a group fills the alphabet and leaves no other variables."""
        return self.score(self.best).n > 0

    def table(self) -> list[list[float]]:
        return [[estimate.value for estimate in row] for row in self.scores]


def head_roles(
    model: Transformer, world: World | None = None, n: int = 100, n_facts: int = 50, seed: int = 0
) -> dict[str, RoleScores]:
    """Every role's score for every head, each from n sequences of n_facts facts; by default of the model's own world.

    head_roles(model)["copy"].heads are the heads that copy, best first.
    """
    world = trained_world(model, world)
    draw = query_sampler(world, n_facts, seed, "heads")
    found = {role: copying_effect(model, *pairs(draw(role, n), draw("holdout", 2 * n + 16, role)), role)[0]
             for role in ("copy", "commute")}  # fmt: skip
    identity = draw("identity", 2 * n)
    found |= identity_roles(
        model, at_least_two(identity[identity.distinct][:n], world, "an identity query of two variables")
    )
    holdout = draw("holdout", n, "holdout")
    run = cache_last_token_batched(model, holdout.prompts, pattern=True)
    found |= {f"{side} cancellation": cancellation(model, run, holdout, side) for side in ("left", "right")}
    found["closure promotion"] = closure_promotion(model, run, holdout)
    return found


def identity_roles(model: Transformer, queries: QueryBatch) -> dict[str, RoleScores]:
    run = cache_last_token_batched(model, queries.prompts)
    return {
        "query promotion": query_promotion(model, run, queries),
        "identity demotion": identity_demotion(model, run, queries),
    }


def identity_roles_elsewhere(
    model: Transformer, world: World, n: int, n_facts: int, seed: int = 0
) -> dict[str, RoleScores]:
    """The same scores on queries without the identity: a head that scores as high there does not act on identities.

    The control is needed: in seven of the eight runs where it was measured, the best query promotion head promotes both
    query variables there, too, and not significantly less often. Empty if the world has no such query of two different
    variables (C2 alone, for example).
    """
    queries = query_sampler(world, n_facts, seed, "heads")("holdout", 4 * n, "elsewhere")
    chosen = queries[queries.distinct & ~queries.is_identity & (queries.identity >= 0)][:n]
    return identity_roles(model, chosen) if len(chosen) else {}


def query_sampler(world: World, n_facts: int, seed: int, prefix: str) -> Callable[..., QueryBatch]:
    """draw(distribution, n, stream): queries of a world, from random streams whose names begin with `prefix`."""

    def draw(name: str, n: int, stream: str = "", world: World = world) -> QueryBatch:
        return QueryBatch.from_sequences(sample(name, n, n_facts, seed, world, stream=f"{prefix}/{name}/{stream}"))

    return draw


def copying_effect(
    model: Transformer, clean: QueryBatch, corrupt: QueryBatch, role: str
) -> tuple[RoleScores, np.ndarray]:
    """Average indirect effect of every head on the clean answer's probability; the effects by pair [heads, pairs]."""
    effects = indirect_effects(model, clean.prompts, corrupt.prompts, clean.answer)
    return _scores(model, role, effects.T, mean), effects


@dataclass(frozen=True)
class CopyingSigns:
    """What a copying head shows, for every head, on sequences that hold the fact to be copied."""

    decodes: Bool[np.ndarray, "n n_layers n_heads"]  # its highest direct logit (plain form) is the answer
    looks: Bool[np.ndarray, "n n_layers n_heads"]  # no other fact has more of its attention
    attention: Float[np.ndarray, "n n_layers n_heads"]  # on that fact

    def best(self, rows: slice) -> Head:
        """The head that most often does both; among equals the one with most attention on the fact."""
        both, attention = (self.decodes & self.looks)[rows].mean(0), self.attention[rows].mean(0)
        layer, head = max(np.ndindex(*both.shape), key=lambda place: (both[place], attention[place]))
        return int(layer), int(head)


def copying_signs(
    model: Transformer,
    prompts: Integer[np.ndarray, "n prompt"],
    answers: Integer[np.ndarray, " n"],
    facts: Bool[np.ndarray, "n k"],
) -> CopyingSigns:
    """facts: where the fact to be copied stands, the query being the last."""
    run = cache_last_token_batched(model, prompts, pattern=True)
    assert run.pattern is not None
    most = by_fact(run.pattern).sum(-1).argmax(-1).cpu().numpy()
    return CopyingSigns(
        decodes=top_variable(direct_logits(model, run, "plain")) == answers[:, None, None],
        looks=facts[np.arange(len(facts))[:, None, None], most],
        attention=attention_mass(run.pattern, facts).cpu().numpy(),
    )


def query_promotion(model: Transformer, run: LastTokenCache, queries: QueryBatch) -> RoleScores:
    return _scores(model, "query promotion", promotes_query(direct_logits(model, run), queries), accuracy_estimate)


def promotes_query(direct: Float[Tensor, "n ... N"], queries: QueryBatch) -> Bool[Tensor, "n ..."]:
    """Whether the two highest direct logits are the query's two variables."""
    top = direct.topk(2, dim=-1).indices.sort(-1).values
    query = torch.as_tensor(np.sort(np.stack([queries.left, queries.right], 1), axis=1), device=direct.device)
    return (top == query.view(len(queries), *[1] * (direct.ndim - 2), 2)).all(-1)


def identity_demotion(model: Transformer, run: LastTokenCache, queries: QueryBatch) -> RoleScores:
    return _scores(model, "identity demotion", demotes_identity(direct_logits(model, run), queries), accuracy_estimate)


def demotes_identity(direct: Float[Tensor, "n ... N"], queries: QueryBatch) -> Bool[Tensor, "n ..."]:
    """Whether the lowest direct logit is the identity of the query's structure."""
    identity = torch.as_tensor(queries.identity, device=direct.device)
    return direct.argmin(-1) == identity.view(-1, *[1] * (direct.ndim - 2))


def cancellation(model: Transformer, run: LastTokenCache, queries: QueryBatch, side: str) -> RoleScores:
    assert run.pattern is not None
    facts = relations(queries)[f"same {side}"]
    answers = answers_of(queries, facts)
    score = -attention_mass(run.pattern, facts) * contrast(direct_logits(model, run), answers)
    usable = answers.any(1) & ~answers.all(1)
    return _scores(model, f"{side} cancellation", score[torch.as_tensor(usable)], mean)


def answers_of(queries: QueryBatch, facts: Bool[np.ndarray, "n k"]) -> Bool[np.ndarray, "n N"]:
    """The variables that are answers of the chosen context facts."""
    answers = np.zeros_like(queries.members)
    rows, places = np.nonzero(facts[:, :-1])
    answers[rows, queries.context[rows, places, 2]] = True
    return answers


def closure_promotion(model: Transformer, run: LastTokenCache, queries: QueryBatch) -> RoleScores:
    score = contrast(direct_logits(model, run), queries.members)
    return _scores(model, "closure promotion", score[torch.as_tensor(~queries.members.all(1))], mean)


def contrast(
    direct: Float[Tensor, "n n_layers n_heads N"],
    chosen: Bool[np.ndarray, "n N"],
    among: Bool[np.ndarray, "n N"] | None = None,
) -> Float[Tensor, "n n_layers n_heads"]:
    """Mean direct logit of the chosen variables minus that of the others; `among` restricts the others."""
    rest = ~chosen if among is None else ~chosen & among
    inside, outside = (
        torch.as_tensor(part, device=direct.device).to(direct.dtype)[:, None, None] for part in (chosen, rest)
    )
    means = [(direct * part).sum(-1) / part.sum(-1).clamp(min=1) for part in (inside, outside)]
    return means[0] - means[1]


def _scores(
    model: Transformer, role: str, observed: Tensor | np.ndarray, estimate: Callable[[np.ndarray], Estimate]
) -> RoleScores:
    """From observations [n, n_layers, n_heads] or [n, heads]."""
    values = observed.cpu().numpy() if isinstance(observed, Tensor) else observed
    return RoleScores(role, values.reshape(-1, model.config.n_layers, model.config.n_heads), estimate)
