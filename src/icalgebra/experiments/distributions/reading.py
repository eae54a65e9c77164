"""What the section on the five distributions says of one model."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Shown, Stated, Values, stated
from icalgebra.language.vocabulary import MECHANISMS


@dataclass(frozen=True)
class Accuracy:
    """Of a model with shorter sequences, larger k are not measured."""

    ours: Shown
    published: Stated


@dataclass(frozen=True)
class Repeated:
    """A distribution at k = 200, where the facts of pure sequences are repeated most; published: pure."""

    pure: Shown
    embedded: Shown
    published: Stated


@dataclass(frozen=True)
class Reading:
    at_fifty: dict[str, Accuracy]
    associate_ceiling: Shown
    cancel: Repeated
    associate: Repeated
    associate_at_five: Accuracy  # the caption's maximum
    associate_at_twenty_five: Accuracy  # the table's


def read(values: Values) -> Reading:
    return Reading(
        at_fifty={name: _accuracy(values, name, 50) for name in MECHANISMS},
        associate_ceiling=values.optional("ceiling.associate.k50"),
        cancel=_repeated(values, "cancel"),
        associate=_repeated(values, "associate"),
        associate_at_five=_accuracy(values, "associate", 5),
        associate_at_twenty_five=_accuracy(values, "associate", 25),
    )


def _accuracy(values: Values, name: str, k: int) -> Accuracy:
    return Accuracy(values.optional(f"{name}.k{k}"), stated(f"C3.{name}_{k}"))


def _repeated(values: Values, name: str) -> Repeated:
    pure, embedded = values.optional(f"{name}.k200"), values.optional(f"{name}_embedded.k200")
    return Repeated(pure, embedded, stated(f"C3.{name}_200"))
