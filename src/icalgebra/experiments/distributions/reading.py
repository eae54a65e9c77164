"""What the section says about one model on the five distributions."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Shown, Stated, Values, stated
from icalgebra.language.vocabulary import MECHANISMS

CERTAIN = 1.0  # a ceiling that says every query is entailed


@dataclass(frozen=True)
class Accuracy:
    """ours: absent where k exceeds the model's training length."""

    ours: Shown
    published: Stated


@dataclass(frozen=True)
class Repeated:
    """One mechanism at k = 200, where pure sequences repeat their facts most; published: pure."""

    pure: Shown
    embedded: Shown
    published: Stated


@dataclass(frozen=True)
class Reading:
    at_fifty: dict[str, Accuracy]
    associate_ceiling: Shown  # at k = 50
    associate_certain: bool
    cancel: Repeated
    associate: Repeated
    associate_at_five: Accuracy  # the maximum by the published caption
    associate_at_twenty_five: Accuracy  # and by the published table


def read(values: Values) -> Reading:
    ceiling = values.optional("ceiling.associate.k50")
    return Reading(
        at_fifty={name: _accuracy(values, name, 50) for name in MECHANISMS},
        associate_ceiling=ceiling,
        associate_certain=isinstance(ceiling, Number) and ceiling.value >= CERTAIN,
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
