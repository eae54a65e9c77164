"""What the section on unseen structures says about one model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from icalgebra.algebra.structures import structure
from icalgebra.claims import published
from icalgebra.experiments.shared.readings import Number, Shown, Values, clearly_more

ORDER = 8  # of the random tables, and of the three groups in the paper
MANY, FEW = 200, 50  # facts at which held-out structures, and queries that cancellation decides, are quoted
TRAINED_ORDER = 10  # the largest in training
TRAINED = ("C8", "D4")  # of the same order, for comparison
NEAR = 0.05  # below the lower of these two: an accuracy that is close to theirs
CLASSES = ("semigroup", "quasigroup", "magma")
NAMES = {"C4xC2": "C4×C2", "Q8": "Q8", "C2xC2xC2": "C2×C2×C2"}  # of order 8, as the page writes them


@dataclass(frozen=True)
class HeldOut:
    """A structure's held-out queries."""

    model: Shown
    mechanisms: Shown  # one of the five leaves the answer, and nothing else


@dataclass(frozen=True)
class LargeGroups:
    """Groups larger than any in training, of the largest order and of those before it: lowest and highest accuracy."""

    orders: str
    lowest: Number
    highest: Number


@dataclass(frozen=True)
class Cancellation:
    """Accuracy where cancellation leaves only the answer, in quasigroups and in trained groups of the same order."""

    quasigroups: Shown
    groups: Shown
    difference: Shown


@dataclass(frozen=True)
class Harder:
    """Where quasigroups in natural contexts are answered clearly less often than with the needed facts alone."""

    everywhere: bool  # at every number of facts
    only_up_to: int | None  # at every one up to this, and not at all
    easier_at: list[int]  # and where clearly more often


@dataclass(frozen=True)
class Reading:
    order: int
    many_facts: int
    few_facts: int
    largest_order: int  # of the groups
    n_tables: int
    published_difference: str  # mean absolute one of the published semigroup and Q8 curves
    semigroup: HeldOut
    quasigroup: HeldOut
    magma: HeldOut
    q8: HeldOut
    larger: LargeGroups | None  # than any group in training, but not the largest order
    largest: LargeGroups | None
    falls_with_order: bool  # every group of the largest order is below the trained ones
    n: int  # sequences of each structure
    lowest_ceiling: Number | None  # of all structures, by a prior that contains them; None if one was not computed
    order_8: dict[str, Shown]
    groups_with_copying: Shown
    q8_impossible: Shown  # to the best predictor whose prior is the training world
    q8_ceiling: Shown
    classes_with_copying: dict[str, Shown]
    natural: Cancellation
    pure: Cancellation  # only the needed facts
    harder: Harder
    near_trained: bool  # on every unseen group of the trained order
    guesses_on_semigroups: bool  # clearly below the mechanisms, and not clearly above guessing


def read(values: Values) -> Reading:
    natural, pure = _cancellation(values, "cancel"), _cancellation(values, "cancel_pure")
    larger, largest = large_groups(values)
    semigroup = _held_out(values, "semigroup")
    return Reading(
        order=ORDER,
        many_facts=MANY,
        few_facts=FEW,
        largest_order=max(structure(name).order for name in values.detail("structures") if name not in CLASSES),
        n_tables=values.config["n_tables"],
        published_difference=f"{published_difference():.3f}".removeprefix("0"),
        semigroup=semigroup,
        quasigroup=_held_out(values, "quasigroup"),
        magma=_held_out(values, "magma"),
        q8=_held_out(values, "Q8"),
        larger=larger,
        largest=largest,
        falls_with_order=_falls(values, largest),
        n=values.config["n"],
        lowest_ceiling=_lowest_ceiling(values),
        order_8={shown: values.optional(f"holdout.{name}.k{MANY}") for name, shown in NAMES.items()},
        groups_with_copying=values.optional(f"train.groups.k{MANY}"),
        q8_impossible=values.optional(f"impossible.holdout.Q8.k{MANY}"),
        q8_ceiling=values.optional(f"ceiling.holdout.Q8.k{MANY}"),
        classes_with_copying=values.optionals(f"train.{{}}.k{MANY}", CLASSES),
        natural=natural,
        pure=pure,
        harder=_harder(values),
        near_trained=_near_trained(values),
        guesses_on_semigroups=_guesses(semigroup),
    )


def published_difference() -> float:
    """Between the published semigroup and Q8 curves, which agree because both tables are Q8."""
    semigroup, q8 = (dict(published()["figures"]["2c"][name]) for name in ("semigroup", "Q8"))
    return sum(abs(semigroup[k] - q8[k]) for k in q8) / len(q8)


def _guesses(item: HeldOut) -> bool:
    above_chance = isinstance(item.model, Number) and item.model.low > 1 / ORDER
    return clearly_more(item.mechanisms, item.model) and not above_chance


def _held_out(values: Values, name: str) -> HeldOut:
    return HeldOut(
        model=values.optional(f"holdout.{name}.k{MANY}"),
        mechanisms=values.optional(f"solvers.holdout.{name}.k{MANY}"),
    )


def large_groups(values: Values) -> tuple[LargeGroups | None, LargeGroups | None]:
    groups = [name for name in values.detail("structures") if name not in CLASSES]
    orders = {name: structure(name).order for name in groups if structure(name).order > TRAINED_ORDER}
    most = max(orders.values(), default=0)
    return (
        _of_orders(values, {name: order for name, order in orders.items() if order < most}),
        _of_orders(values, {name: order for name, order in orders.items() if order == most}),
    )


def _of_orders(values: Values, orders: dict[str, int]) -> LargeGroups | None:
    shown = [values.optional(f"holdout.{name}.k{MANY}") for name in orders]
    found = sorted((item for item in shown if isinstance(item, Number)), key=lambda item: item.value)
    if not found:
        return None
    least, most = min(orders.values()), max(orders.values())
    return LargeGroups(f"{least} to {most}" if least < most else f"{most}", found[0], found[-1])


def _falls(values: Values, largest: LargeGroups | None) -> bool:
    trained = [values.optional(f"holdout.{name}.k{MANY}") for name in TRAINED]
    return largest is not None and all(clearly_more(item, largest.highest) for item in trained)


def _near_trained(values: Values) -> bool:
    groups = [name for name in values.detail("structures") if name not in CLASSES and structure(name).order == ORDER]
    shown = {name: values.optional(f"holdout.{name}.k{MANY}") for name in groups}
    found = {name: item.value for name, item in shown.items() if isinstance(item, Number)}
    unseen = [value for name, value in found.items() if name not in TRAINED]
    trained = [value for name, value in found.items() if name in TRAINED]
    return bool(unseen and trained) and min(unseen) > min(trained) - NEAR


def _lowest_ceiling(values: Values) -> Number | None:
    found = [values.result.curves.get(f"wider.holdout.{name}") for name in values.detail("structures")]
    last = [curve.y[-1] for curve in found if curve]
    return Number.exact(min(last)) if last and len(last) == len(found) else None


def _cancellation(values: Values, reading: str) -> Cancellation:
    return Cancellation(
        quasigroups=values.optional(f"{reading}.quasigroup.k{FEW}"),
        groups=values.optional(f"{reading}.groups.k{FEW}"),
        difference=values.optional(f"{reading}.quasigroup_minus_groups.k{FEW}", "points"),
    )


def _harder(values: Values) -> Harder:
    natural, pure = (
        {k: values.optional(f"{reading}.quasigroup.k{k}") for k in values.config["cancel_facts"]}
        for reading in ("cancel", "cancel_pure")
    )
    measured = [k for k in natural if natural[k] and pure[k]]
    harder = list(takewhile(lambda k: clearly_more(pure[k], natural[k]), measured))
    everywhere = bool(harder) and harder == measured
    return Harder(
        everywhere=everywhere,
        only_up_to=harder[-1] if harder and not everywhere else None,
        easier_at=[k for k in measured if clearly_more(natural[k], pure[k])],
    )
