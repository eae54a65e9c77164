"""What the section on the released evaluation says of one model."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Shown, Values

MOSTLY = 0.9  # of the errors, for errors that are said to be identity queries


@dataclass(frozen=True)
class Law:
    name: str
    accuracies: list[Number]
    fall: Shown
    errors_identity: Shown | None  # None: no error at the end
    falls: bool


@dataclass(frozen=True)
class Group:
    name: str
    laws: list[Law]


@dataclass(frozen=True)
class Reading:
    n: int
    facts: list[int]
    reserved: str
    groups: list[Group]
    fall_by_law: list[str]  # groups that fall under a law of the released evaluation and not under ours
    fall_anyway: list[str]  # groups that fall under ours
    errors_are_identities: bool  # under the released laws, wherever a group falls

    @property
    def only_by_law(self) -> bool:
        """Groups fall, and none of them where the rule of training is kept."""
        return bool(self.fall_by_law) and not self.fall_anyway

    @property
    def falls_nowhere(self) -> bool:
        return not self.fall_by_law and not self.fall_anyway


def read(values: Values) -> Reading:
    groups = [
        Group(name, [_law(values, name, law) for law in values.detail("laws")]) for name in values.detail("structures")
    ]
    falling = [law for group in groups for law in group.laws[1:] if law.falls]
    return Reading(
        n=values.config["n"],
        facts=values.config["facts"],
        reserved=values.detail("reserved"),
        groups=groups,
        fall_by_law=[g.name for g in groups if any(law.falls for law in g.laws[1:]) and not g.laws[0].falls],
        fall_anyway=[g.name for g in groups if g.laws[0].falls],
        errors_are_identities=bool(falling)
        and all(isinstance(law.errors_identity, Number) and law.errors_identity.value > MOSTLY for law in falling),
    )


def _law(values: Values, group: str, law: str) -> Law:
    prefix = f"{group}.{law}"
    fall = values.optional(f"{prefix}.fall", "points")
    accuracies = [values.number(f"{prefix}.k{k}") for k in values.config["facts"]]
    return Law(
        name=law,
        accuracies=accuracies,
        fall=fall,
        errors_identity=values.optional(f"{prefix}.errors_identity") if accuracies[-1].value < 1 else None,
        falls=isinstance(fall, Number) and fall.low > 0,
    )
