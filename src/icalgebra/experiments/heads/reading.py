"""What the section on heads says of one model and of several side by side, and by which thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from icalgebra.experiments.shared.readings import Number, Shown, Stated, Values

DISPENSABLE = 0.95  # accuracy after an ablation above which the model does not need what was ablated
NO_COPYING_HEAD = 0.2  # indirect effect of the strongest head below which no single head does the copying
COPIES = 0.95  # accuracy on copyable queries above which a model copies, whichever heads do it


@dataclass(frozen=True)
class Role:
    """Who has a role (best first) and the best head's score."""

    name: str
    heads: tuple[str, ...]
    score: Number
    elsewhere: Number | None  # the best head's score on queries without the identity: two roles have this control


@dataclass(frozen=True)
class Elsewhere:
    """The two identity roles on queries without the identity."""

    query_promotion: Number
    identity_demotion: Number
    unspecific: tuple[str, ...]  # roles whose best head does not score clearly lower there

    @property
    def query_promotion_alike(self) -> bool:
        return "query promotion" in self.unspecific

    @property
    def identity_demotion_alike(self) -> bool:
        return "identity demotion" in self.unspecific


@dataclass(frozen=True)
class Reading:
    roles: tuple[Role, ...]
    elsewhere: Elsewhere | None
    without_copy_heads: Number
    with_resampled_copy_heads: Number
    without_other_heads: Shown  # a small model may not have as many others
    copied_by_copy_heads: Number  # copyable queries that they answer when patched alone into another run
    commuted_by_copy_heads: Number
    without_demotion_heads: Number
    without_promotion_heads: Number
    without_last_layer: Number
    last_layer_dispensable: bool  # for identity queries
    demotion_heads_cost_more: bool  # than the whole last layer, which they are part of

    @property
    def by_role(self) -> dict[str, Role]:
        return {role.name: role for role in self.roles}


def read(values: Values) -> Reading:
    roles = _roles(values)
    without_demotion, without_last_layer = (
        values.number(f"necessary.{heads}.identity.mean") for heads in ("identity_demotion", "last_layer")
    )
    return Reading(
        roles=tuple(roles.values()),
        elsewhere=_elsewhere(roles),
        without_copy_heads=values.number("necessary.copy.copy.mean"),
        with_resampled_copy_heads=values.number("necessary.copy.copy.resample"),
        without_other_heads=values.optional("necessary.copy.copy.control"),
        copied_by_copy_heads=values.number("sufficient.copy.copy"),
        commuted_by_copy_heads=values.number("sufficient.copy.commute"),
        without_demotion_heads=without_demotion,
        without_promotion_heads=values.number("necessary.query_promotion.identity.mean"),
        without_last_layer=without_last_layer,
        last_layer_dispensable=without_last_layer.low > DISPENSABLE,
        demotion_heads_cost_more=(
            # only surprising where the last layer contains them: a part then costs more than the whole
            _all_in_last_layer(values.detail("roles", "identity demotion"))
            and without_last_layer.low > without_demotion.high
        ),
    )


def _roles(values: Values) -> dict[str, Role]:
    """The roles that were measured. A group that fills the alphabet leaves no variable to promote it over, for one."""
    return {name: _role(values, name, found) for name, found in values.detail("roles").items()}


def _role(values: Values, name: str, found: dict[str, Any]) -> Role:
    key = f"role.{name.replace(' ', '_')}"
    # not in early results, nor in worlds where every query of two variables holds the identity
    elsewhere = values.if_there(f"{key}.elsewhere", "")
    return Role(name, tuple(found["heads"]), values.number(key, ""), elsewhere)


def _elsewhere(roles: dict[str, Role]) -> Elsewhere | None:
    found = {name: role.elsewhere for name, role in roles.items() if role.elsewhere}
    if not found:
        return None
    return Elsewhere(
        # as shares, which these two scores are; in tables of scores they stand beside effects
        query_promotion=Number(found["query promotion"].estimate, "%"),
        identity_demotion=Number(found["identity demotion"].estimate, "%"),
        unspecific=tuple(name for name, control in found.items() if control.high >= roles[name].score.low),
    )


def _all_in_last_layer(role: dict[str, Any]) -> bool:
    last = len(role["scores"]) - 1
    return all(_layer(head) == last for head in role["heads"])


def _layer(head: str) -> int:
    """Of '3.6': 3."""
    return int(head.split(".")[0])


# --- several models ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelRow:
    model: str
    roles: tuple[Role | None, ...]  # one per column; None where the role was not measured in this model


@dataclass(frozen=True)
class RoleSummary:
    """One role's best heads over all models: their layers and the range of their scores."""

    layers: tuple[int, ...]
    lowest: Number
    highest: Number


@dataclass(frozen=True)
class Together:
    columns: tuple[str, ...]  # names of roles
    rows: tuple[ModelRow, ...]
    summaries: tuple[RoleSummary, ...]
    n_copy: int  # models whose copy role was measured
    n_without_copying_head: int
    no_copying_head: Stated  # the threshold for that
    all_copy: bool


def read_together(values: list[Values]) -> Together:
    found = {each.result.model: _roles(each) for each in values}
    columns = tuple(dict.fromkeys(name for roles in found.values() for name in roles))
    copying = [each for each in values if "role.copy" in each]
    return Together(
        columns=columns,
        rows=tuple(ModelRow(model, tuple(roles.get(name) for name in columns)) for model, roles in found.items()),
        summaries=tuple(_summary([roles[name] for roles in found.values() if name in roles]) for name in columns),
        n_copy=len(copying),
        n_without_copying_head=sum(each.number("role.copy", "").value < NO_COPYING_HEAD for each in copying),
        no_copying_head=Stated(NO_COPYING_HEAD),
        all_copy=all(each.number("plain.copy").value > COPIES for each in copying),
    )


def _summary(roles: list[Role]) -> RoleSummary:
    scores = [role.score.value for role in roles]
    return RoleSummary(
        layers=tuple(sorted({_layer(role.heads[0]) for role in roles if role.heads})),
        lowest=Number.exact(min(scores), ""),
        highest=Number.exact(max(scores), ""),
    )
