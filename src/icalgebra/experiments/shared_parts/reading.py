"""What the section on shared parts says of one model, and by which thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from icalgebra.experiments.shared.readings import Number, Shown, Values, component_name

DISTRIBUTIONS = ("identity", "cancel", "copy", "commute", "associate")
NEEDED = 0.25  # accuracy lost: a mechanism needs the component
ALIKE = 0.5  # correlation over heads above which two tokens are said to use the same ones


@dataclass(frozen=True)
class Component:
    """The component that a mechanism needs most, copying spared."""

    mechanism: str
    name: str
    lost: dict[str, Number]
    control: dict[str, Shown]
    demotes: Number
    lowers: bool  # its own direct logits put what is to be ruled out below the answer
    needed_by_other: bool


@dataclass(frozen=True)
class Closure:
    left: str
    equals: str
    correlation: Shown
    alike: bool
    left_best_at_equals: Number
    equals_best_at_left: Number


@dataclass(frozen=True)
class Reading:
    n_judged: int
    identity: Component
    cancel: Component
    verdict: Literal["shared", "one way", "apart"]
    correlation: Shown
    correlation_copy: Shown
    closure: Closure | None

    @property
    def shares_demoter(self) -> bool:
        """Each mechanism needs the other's component, and one of these lowers what is ruled out itself."""
        return self.verdict == "shared" and any(component.lowers for component in self.components)

    @property
    def shares_upstream(self) -> bool:
        return self.verdict == "shared" and not self.shares_demoter

    @property
    def one_way(self) -> bool:
        return self.verdict == "one way"

    @property
    def components(self) -> tuple[Component, Component]:
        return self.identity, self.cancel


def read(values: Values) -> Reading:
    identity, cancel = _component(values, "identity", "cancel"), _component(values, "cancel", "identity")
    both = identity.needed_by_other and cancel.needed_by_other
    return Reading(
        n_judged=values.config["n"] // 2,
        identity=identity,
        cancel=cancel,
        verdict="shared" if both else "one way" if identity.needed_by_other or cancel.needed_by_other else "apart",
        correlation=values.optional("demotion.correlation", ""),
        correlation_copy=values.optional("demotion.correlation.copy", ""),
        closure=_closure(values) if values.detail("closure") else None,
    )


def _component(values: Values, mechanism: str, other: str) -> Component:
    name = f"demotion.{mechanism}"
    lost, demotes = values.numbers(f"{name}.lost.{{}}", DISTRIBUTIONS, "points"), values.number(f"{name}.demotes", "")
    return Component(
        mechanism=mechanism,
        name=component_name(values.detail("chosen", mechanism)),
        lost=lost,
        control=values.optionals(f"{name}.control.{{}}", DISTRIBUTIONS, "points"),
        demotes=demotes,
        lowers=demotes.high < 0,
        needed_by_other=lost[other].value >= NEEDED,
    )


def _closure(values: Values) -> Closure:
    best, correlation = values.detail("closure", "best"), values.optional("closure.correlation", "")
    return Closure(
        left=best["left"],
        equals=best["equals"],
        correlation=correlation,
        alike=isinstance(correlation, Number) and correlation.value >= ALIKE,
        left_best_at_equals=values.number("closure.equals.best_at_left", ""),
        equals_best_at_left=values.number("closure.left.best_at_equals", ""),
    )
