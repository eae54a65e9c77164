"""Findings about circuits: one copying head, subspaces of the residual stream, shared demotion."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Shown, Values, component_name
from icalgebra.report.evidence import Evidence

LEADS, SHARED = 0.9, 0.08  # K4: the copying head's share of the effect, and the most that another may have
EXCHANGED = 0.9  # interchange accuracy above which a set is said to be exchanged
NEEDED = 0.25  # accuracy lost: a mechanism needs the component
DEMOTES = 0.1  # logits that a component takes from what is ruled out: with less it demotes nothing itself


@dataclass(frozen=True)
class OneHead:
    """The copying head on pairs of sequences that differ in the copied fact alone."""

    model: str
    share: Number  # of the effect towards the answer that only the copied fact gives
    other: Shown  # the strongest other head

    @property
    def alone(self) -> bool:
        return self.share.value >= LEADS and not (isinstance(self.other, Number) and self.other.value > SHARED)


def read_copying_heads(evidence: Evidence) -> list[OneHead]:
    return evidence.each("circuits", _one_head)


def _one_head(model: str, values: Values) -> OneHead:
    return OneHead(model, values.number("copying_head.reversed.share"), values.optional("copying_head.reversed.other"))


@dataclass(frozen=True)
class Elsewhere:
    """Subspaces of the residual stream after the last attention."""

    model: str
    closure: Number
    cancellation: Number

    @property
    def both_exchanged(self) -> bool:
        return min(self.closure.value, self.cancellation.value) > EXCHANGED


def read_elsewhere(evidence: Evidence) -> list[Elsewhere]:
    return evidence.each("subspace_generalisation", _elsewhere)


def _elsewhere(model: str, values: Values) -> Elsewhere:
    return Elsewhere(model, values.number("closure.accuracy"), values.number("cancellation.accuracy"))


@dataclass(frozen=True)
class Demotion:
    """The components that identity and cancellation need most, copying spared."""

    model: str
    identity: str
    cancel: str
    identity_costs_cancel: Number
    cancel_costs_identity: Number
    identity_logits: Shown  # what its component adds to the logit of the identity
    cancel_logits: Shown

    @property
    def shared(self) -> bool:
        return min(self.identity_costs_cancel.value, self.cancel_costs_identity.value) >= NEEDED

    @property
    def same(self) -> bool:
        return self.identity == self.cancel

    @property
    def components(self) -> str:
        return self.identity if self.same else f"each of {self.identity} and {self.cancel}"

    @property
    def demotes_nothing(self) -> bool:
        logits = [item for item in (self.identity_logits, self.cancel_logits) if isinstance(item, Number)]
        return bool(logits) and min(item.value for item in logits) > -DEMOTES


@dataclass(frozen=True)
class SharedDemotion:
    models: list[Demotion]

    @property
    def shared(self) -> list[Demotion]:
        return [item for item in self.models if item.shared]

    @property
    def apart(self) -> list[Demotion]:
        return [item for item in self.models if not item.shared and not item.same]


def read_demotion(evidence: Evidence) -> SharedDemotion | None:
    models = evidence.each("shared_parts", _demotion)
    return SharedDemotion(models) if models else None


def _demotion(model: str, values: Values) -> Demotion:
    return Demotion(
        model=model,
        identity=component_name(values.detail("chosen", "identity")),
        cancel=component_name(values.detail("chosen", "cancel")),
        identity_costs_cancel=values.number("demotion.identity.lost.cancel", "points"),
        cancel_costs_identity=values.number("demotion.cancel.lost.identity", "points"),
        identity_logits=values.optional("demotion.identity.demotes", ""),
        cancel_logits=values.optional("demotion.cancel.demotes", ""),
    )
