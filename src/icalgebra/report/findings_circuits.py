"""Findings about circuits: one copying head, reads through commas, subspaces in other sequences, shared demotion."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Shown, Values, component_name
from icalgebra.report.evidence import Evidence

LEADS, SHARED = 0.9, 0.08  # K4: the copying head's share of the effect, and the most that another may have
EXCHANGED = 0.9  # interchange accuracy above which a set is said to be exchanged
NEEDED = 0.25  # accuracy lost: a mechanism needs the component


@dataclass(frozen=True)
class OneHead:
    """The copying head on pairs of sequences that differ in the copied fact alone."""

    model: str
    head: str
    share: Number  # of the effect towards the answer that only the copied fact gives
    other: Shown  # the strongest other head
    plain: Number
    ablated: Number

    @property
    def alone(self) -> bool:
        return self.share.value >= LEADS and not (isinstance(self.other, Number) and self.other.value > SHARED)


def read_copying_heads(evidence: Evidence) -> list[OneHead]:
    return evidence.each("circuits", _one_head)


def _one_head(model: str, values: Values) -> OneHead:
    return OneHead(
        model=model,
        head=values.detail("copying_head", "head"),
        share=values.number("copying_head.reversed.share"),
        other=values.optional("copying_head.reversed.other"),
        plain=values.number("copying_head.plain.corrupt_right"),
        ablated=values.number("copying_head.ablated.corrupt_right"),
    )


@dataclass(frozen=True)
class Blocked:
    """Accuracy where no token of the query may attend to the ',' behind earlier facts, or to their answers."""

    model: str
    copy: Number
    identity: Number
    cancel: Number
    identity_by_equals: Number  # where '=' alone may not attend to ','
    cancel_by_equals: Number
    answers: Number  # copies, where answers may not be attended to


def read_blocked(evidence: Evidence) -> list[Blocked]:
    return evidence.each("circuits", _blocked)


def _blocked(model: str, values: Values) -> Blocked:
    without = {name: values.number(f"knockout.{name}.comma.all") for name in ("copy", "identity", "cancel")}
    return Blocked(
        model=model,
        **without,
        identity_by_equals=values.number("knockout.identity.comma.equals"),
        cancel_by_equals=values.number("knockout.cancel.comma.equals"),
        answers=values.number("knockout.copy.answer.all"),
    )


@dataclass(frozen=True)
class Elsewhere:
    """Subspaces of the residual stream behind the last attention, in sequences unlike those of the fit."""

    model: str
    closure: Number
    cancellation: Number
    closure_natural: Shown
    cancellation_natural: Shown
    closure_new: Shown  # variables that were never targets of the fit
    cancellation_new: Shown
    closure_untrained: Number
    both: Number

    @property
    def both_exchanged(self) -> bool:
        return min(self.closure.value, self.cancellation.value) > EXCHANGED


def read_elsewhere(evidence: Evidence) -> list[Elsewhere]:
    return evidence.each("subspace_generalisation", _elsewhere)


def _elsewhere(model: str, values: Values) -> Elsewhere:
    return Elsewhere(
        model=model,
        closure=values.number("closure.accuracy"),
        cancellation=values.number("cancellation.accuracy"),
        closure_natural=values.optional("closure.natural"),
        cancellation_natural=values.optional("cancellation.natural"),
        closure_new=values.optional("closure.new_variables"),
        cancellation_new=values.optional("cancellation.new_variables"),
        closure_untrained=values.number("closure.untrained"),
        both=values.number("both.accuracy"),
    )


@dataclass(frozen=True)
class Demotion:
    """The components that identity and cancellation need most, copying spared."""

    model: str
    identity: str
    cancel: str
    identity_costs_cancel: Number
    cancel_costs_identity: Number

    @property
    def shared(self) -> bool:
        return min(self.identity_costs_cancel.value, self.cancel_costs_identity.value) >= NEEDED


@dataclass(frozen=True)
class SharedDemotion:
    models: list[Demotion]
    all_shared: bool
    none_shared: bool


def read_demotion(evidence: Evidence) -> SharedDemotion | None:
    models = evidence.each("shared_parts", _demotion)
    if not models:
        return None
    return SharedDemotion(models, all(m.shared for m in models), not any(m.shared for m in models))


def _demotion(model: str, values: Values) -> Demotion:
    return Demotion(
        model=model,
        identity=component_name(values.detail("chosen", "identity")),
        cancel=component_name(values.detail("chosen", "cancel")),
        identity_costs_cancel=values.number("demotion.identity.lost.cancel", "points"),
        cancel_costs_identity=values.number("demotion.cancel.lost.identity", "points"),
    )
