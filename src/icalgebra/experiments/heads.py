"""Roles of heads (interp/heads.py), and what the heads of each role are worth on every distribution.

role.<role>                                     the best head's score; .elsewhere: its score on other queries
necessary.<role>.<distribution>.mean|resample   accuracy without the role's heads; .control: without as many others
sufficient.<role>.<distribution>                how often they alone, carried into another run, bring its answer
"""

from __future__ import annotations

from typing import Any

import torch

from icalgebra.evaluate import share
from icalgebra.experiments.subject import Subject, result_about
from icalgebra.interp.ablation import other_heads, worth
from icalgebra.interp.cases import pairs
from icalgebra.interp.heads import ROLES, Head, RoleScores, drawer, head_name, identity_roles_elsewhere, role_scores
from icalgebra.interp.trace import traces
from icalgebra.results import Result
from icalgebra.statistics import Estimate

DISTRIBUTIONS = (
    "copy",
    "commute",
    "identity",
    "cancel",
    "cancel_embedded",
    "associate",
    "associate_embedded",
    "holdout",
)


@torch.no_grad()
def run(tier: str, seed: int, subject: Subject, n: int, n_facts: int) -> Result:
    n_facts = subject.facts(n_facts)
    scores = role_scores(subject.model, subject.world, n, n_facts, seed)
    values = {f"role.{role.replace(' ', '_')}": scores[role].of(scores[role].best) for role in ROLES}
    for role, control in identity_roles_elsewhere(subject.model, subject.world, n, n_facts, seed).items():
        values[f"role.{role.replace(' ', '_')}.elsewhere"] = control.of(scores[role].best)
    sets = {role: scores[role].heads or [scores[role].best] for role in ROLES}
    values |= _worths(subject, sets, n, n_facts, seed)
    return result_about(
        subject, "heads", tier, seed,
        config={"n": n, "n_facts": n_facts},
        values=values,
        details={"roles": {role: _table(scores[role], sets[role]) for role in ROLES}},
    )  # fmt: skip


def _table(scores: RoleScores, heads: list[Head]) -> dict[str, Any]:
    return {
        "heads": [head_name(head) for head in heads],
        "scores": scores.table(),
        "low": [[estimate.low for estimate in row] for row in scores.scores],
        "high": [[estimate.high for estimate in row] for row in scores.scores],
    }


def _worths(subject: Subject, roles: dict[str, list[Head]], n: int, n_facts: int, seed: int) -> dict[str, Estimate]:
    """All roles' heads, their controls, the last layer and all heads, on every distribution."""
    model, draw = subject.model, drawer(subject.world, n_facts, seed, "worth")
    config = model.config
    last = [(config.n_layers - 1, head) for head in range(config.n_heads)]
    everything = [(layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)]
    sets = [*roles.values(), last, everything, *(other_heads(model, heads, seed) for heads in roles.values())]
    names = [*(role.replace(" ", "_") for role in roles), "last_layer", "all"]
    donors = traces(model, draw("train", n, "donors").prompts).z
    candidates = draw("holdout", 2 * n + 16, "corrupt")
    values: dict[str, Estimate] = {}
    for distribution in DISTRIBUTIONS:
        measured = worth(model, *pairs(draw(distribution, n), candidates), donors, sets)
        values[f"plain.{distribution}"] = share(measured.plain)
        for i, name in enumerate(names):
            values[f"necessary.{name}.{distribution}.mean"] = share(measured.mean[:, i])
            values[f"necessary.{name}.{distribution}.resample"] = share(measured.resample[:, i])
            values[f"sufficient.{name}.{distribution}"] = share(measured.sufficient[:, i])
            if i < len(roles):
                values[f"necessary.{name}.{distribution}.control"] = share(measured.mean[:, len(names) + i])
    return values
