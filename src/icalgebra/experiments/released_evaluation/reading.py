"""What the section on the released evaluation says of one model."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Shown, Values

MOSTLY = 0.9  # of the errors, for errors that are said to be identity queries
KEPT, RESERVED, RELEASED = "holdout", "holdout_reserved_identity", "holdout_unshuffled"
NAMES = {
    KEPT: "shuffled, the reserved variable is never an identity",
    RESERVED: "shuffled, the reserved variable is the identity",
    RELEASED: "fixed assignment, as in the released code",
}


@dataclass(frozen=True)
class Law:
    key: str
    name: str
    accuracies: list[Number]
    fall: Shown
    errors_identity: Shown | None  # None: no error at the end
    falls: bool


@dataclass(frozen=True)
class Group:
    name: str
    laws: list[Law]

    def falls(self, key: str) -> bool:
        return any(law.falls for law in self.laws if law.key == key)


@dataclass(frozen=True)
class Reading:
    n: int
    facts: list[int]
    reserved: str
    groups: list[Group]
    fall_by_assignment: list[str]  # groups that fall with the released assignment, and not where the rule is kept
    fall_by_identity: list[str]  # that fall with the reserved variable as a shuffled identity alone
    fall_anyway: list[str]  # that fall where the rule is kept
    errors_are_identities: bool  # wherever a group falls with the rule broken

    @property
    def explained(self) -> bool:
        """The released assignment alone makes groups fall."""
        return bool(self.fall_by_assignment) and not self.fall_anyway

    @property
    def falls_nowhere(self) -> bool:
        return not (self.fall_by_assignment or self.fall_by_identity or self.fall_anyway)


def read(values: Values) -> Reading:
    groups = [
        Group(name, [_law(values, name, law) for law in values.detail("laws")]) for name in values.detail("structures")
    ]
    falling = [law for group in groups for law in group.laws if law.falls and law.key != KEPT]
    kept, identity, assignment = ({g.name for g in groups if g.falls(key)} for key in (KEPT, RESERVED, RELEASED))
    return Reading(
        n=values.config["n"],
        facts=values.config["facts"],
        reserved=values.detail("reserved"),
        groups=groups,
        fall_by_assignment=sorted(assignment - kept),
        fall_by_identity=sorted(identity - assignment - kept),
        fall_anyway=sorted(kept),
        errors_are_identities=bool(falling)
        and all(isinstance(law.errors_identity, Number) and law.errors_identity.value > MOSTLY for law in falling),
    )


def _law(values: Values, group: str, law: str) -> Law:
    prefix = f"{group}.{law}"
    fall = values.optional(f"{prefix}.fall", "points")
    accuracies = [values.number(f"{prefix}.k{k}") for k in values.config["facts"]]
    return Law(
        key=law,
        name=NAMES.get(law, law),
        accuracies=accuracies,
        fall=fall,
        errors_identity=values.optional(f"{prefix}.errors_identity") if accuracies[-1].value < 1 else None,
        falls=isinstance(fall, Number) and fall.low > 0,
    )
