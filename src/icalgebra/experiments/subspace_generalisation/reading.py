"""What the section on other sequences says of one model's subspaces, and by which thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Shown, Stated, Values

HOLDS = 0.9  # interchange accuracy above which a subspace is said to hold in other sequences
HALF = 0.5  # of the accuracy
CHANCE = 0.15  # accuracy that a control may reach without being worth a remark: one in 16 variables is .06

TESTS = {
    "dihedral": "dihedral groups, after a fit on cyclic ones",
    "cyclic": "cyclic groups, after a fit on dihedral ones",
    "new": "variables that were never targets of the fit",
    "two": "sets that differ in two members",
    "three": "sets that differ in three",
    "natural": "natural sequences",
}
KEYS = {
    "dihedral": "cyclic_on_dihedral", "cyclic": "dihedral_on_cyclic", "new": "new_variables", "two": "differ.2",
    "three": "differ.3", "natural": "natural",
}  # fmt: skip


@dataclass(frozen=True)
class Set:
    """The subspace of one set."""

    name: str
    accuracy: Number
    attention: Number
    published_rate: Number
    random: Number
    shuffled: Number
    untrained: Number
    untrained_works: bool  # above chance: part of the accuracy needs no training
    active: Number
    dormant: Number
    rests_on_dormant: bool  # without directions that hardly vary the exchange mostly fails
    tests: dict[str, Shown]
    old_variables: Shown
    short: dict[str, Number]  # tests in which it is clearly below HOLDS


@dataclass(frozen=True)
class Reading:
    size: int
    n_pairs: int
    n_facts: int
    steps: int
    n_seeds: int
    rate: str
    published_rate: str
    natural_facts: int
    closure: Set
    cancellation: Set
    both: Number
    closure_alone: Number
    cancellation_alone: Number
    both_hold: bool
    left_out: bool
    tests: dict[str, str]  # in words
    holds_at: Stated

    @property
    def all_hold(self) -> bool:
        return not any(kind.short for kind in self.kinds)

    @property
    def short(self) -> dict[str, tuple[str, ...]]:
        """For each test, which sets fall short of HOLDS, and their accuracy."""
        return {test: tuple(f"{kind.name} {kind.short[test].plain}" for kind in self.kinds if test in kind.short)
                for test in TESTS}  # fmt: skip

    @property
    def untrained_works(self) -> bool:
        return any(kind.untrained_works for kind in self.kinds)

    @property
    def kinds(self) -> tuple[Set, Set]:
        return self.closure, self.cancellation


def read(values: Values) -> Reading:
    config, both = values.config, values.number("both.accuracy")
    return Reading(
        size=config["size"],
        n_pairs=config["n"],
        n_facts=config["n_facts"],
        steps=config["steps"],
        n_seeds=config["n_seeds"],
        rate=f"{config['learning_rate']:g}",
        published_rate=f"{config['published_rate']:g}",
        natural_facts=config["natural_facts"],
        closure=_set(values, "closure"),
        cancellation=_set(values, "cancellation"),
        both=both,
        closure_alone=values.number("both.closure_alone"),
        cancellation_alone=values.number("both.cancellation_alone"),
        both_hold=both.value >= HOLDS,
        left_out=bool(values.detail("left_out")),
        tests=TESTS,
        holds_at=Stated(100 * HOLDS, "%"),
    )


def _set(values: Values, name: str) -> Set:
    def number(key: str) -> Number:
        return values.number(f"{name}.{key}")

    tests = {test: values.optional(f"{name}.{key}") for test, key in KEYS.items()}
    untrained, active = number("untrained"), number("active")
    return Set(
        name=name,
        accuracy=number("accuracy"),
        attention=number("attention"),
        published_rate=number("published_rate"),
        random=number("random"),
        shuffled=number("shuffled"),
        untrained=untrained,
        untrained_works=untrained.low > CHANCE,
        active=active,
        dormant=number("dormant"),
        rests_on_dormant=active.value < HALF * number("accuracy").value,
        tests=tests,
        old_variables=values.optional(f"{name}.old_variables"),
        short={test: found for test, found in tests.items() if isinstance(found, Number) and found.high < HOLDS},
    )
