"""Roles of heads (interp/heads.py), and the effect of ablating the heads of each role on every distribution.

role.<role>                                     the best head's score, chosen on one half of the sequences and scored on
                                                the other; .elsewhere: on queries without the identity; roles that
                                                cannot be scored in the model's world are left out
necessary.<role>.<distribution>.mean|resample   accuracy with the role's heads ablated; .control: with as many other
                                                heads mean-ablated, where there are as many
sufficient.<role>.<distribution>                how often these heads alone, patched into another run, give the answer
"""

from __future__ import annotations

from typing import Any

import torch

from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.interp.ablation import ablation_effects, other_heads
from icalgebra.interp.heads import (
    ROLES,
    Head,
    RoleScores,
    head_name,
    head_roles,
    identity_roles_elsewhere,
    query_sampler,
)
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.interp.query_batch import pairs
from icalgebra.model.accuracy import accuracy_estimate
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
def run(tier: str, seed: int, loaded: LoadedModel, n: int, n_facts: int) -> Result:
    n_facts = loaded.facts(n_facts)
    found = head_roles(loaded.model, loaded.world, n, n_facts, seed)
    scores = {role: found[role] for role in ROLES if found[role].measured}
    best = {role: score.halves()[0].best for role, score in scores.items()}
    values = {f"role.{role.replace(' ', '_')}": score.halves()[1].score(best[role]) for role, score in scores.items()}
    for role, control in identity_roles_elsewhere(loaded.model, loaded.world, n, n_facts, seed).items():
        values[f"role.{role.replace(' ', '_')}.elsewhere"] = control.score(best[role])
    # where no head has a role for certain, its best head stands for it: every role is ablated in every model
    sets = {role: score.heads or [score.best] for role, score in scores.items()}
    values |= _ablations(loaded, sets, n, n_facts, seed)
    return result_about(
        loaded, "heads", tier, seed,
        config={"n": n, "n_facts": n_facts},
        values=values,
        details={"roles": {role: _table(score, sets[role]) for role, score in scores.items()}},
    )  # fmt: skip


def _table(scores: RoleScores, heads: list[Head]) -> dict[str, Any]:
    return {
        "heads": [head_name(head) for head in heads],
        "scores": scores.table(),
        "low": [[estimate.low for estimate in row] for row in scores.scores],
        "high": [[estimate.high for estimate in row] for row in scores.scores],
    }


def _ablations(
    loaded: LoadedModel, roles: dict[str, list[Head]], n: int, n_facts: int, seed: int
) -> dict[str, Estimate]:
    """The heads of each role and their controls, the last layer and all heads, on every distribution."""
    # "worth" names a random stream: with another name the committed results could not be reproduced
    model, draw = loaded.model, query_sampler(loaded.world, n_facts, seed, "worth")
    sets = {role.replace(" ", "_"): heads for role, heads in roles.items()}
    controls = {name: others for name, heads in sets.items() if (others := other_heads(model, heads, seed))}
    config = model.config
    sets["last_layer"] = [(config.n_layers - 1, head) for head in range(config.n_heads)]
    sets["all"] = [(layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)]
    control_at = {name: len(sets) + i for i, name in enumerate(controls)}
    donors = cache_last_token_batched(model, draw("train", n, "donors").prompts).z
    # more than n: pairs() needs a corrupt partner with another query and another answer for every query
    candidates = draw("holdout", 2 * n + 16, "corrupt")
    values: dict[str, Estimate] = {}
    for distribution in DISTRIBUTIONS:
        paired = pairs(draw(distribution, n), candidates)
        measured = ablation_effects(model, *paired, donors, [*sets.values(), *controls.values()])
        values[f"plain.{distribution}"] = accuracy_estimate(measured.plain)
        for i, name in enumerate(sets):
            values[f"necessary.{name}.{distribution}.mean"] = accuracy_estimate(measured.mean[:, i])
            values[f"necessary.{name}.{distribution}.resample"] = accuracy_estimate(measured.resample[:, i])
            values[f"sufficient.{name}.{distribution}"] = accuracy_estimate(measured.sufficient[:, i])
            if name in controls:
                values[f"necessary.{name}.{distribution}.control"] = accuracy_estimate(
                    measured.mean[:, control_at[name]]
                )
    return values
