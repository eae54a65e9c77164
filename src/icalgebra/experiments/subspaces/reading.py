"""What the section on subspaces says of one model, and by which thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from icalgebra.experiments import claim
from icalgebra.experiments.shared.readings import (
    NotMeasured,
    Number,
    Shown,
    Stated,
    Values,
    published_text,
    stated,
)

PUBLISHED_PAIRS, PUBLISHED_STEPS = 2000, 250  # the published fit: pairs by the paper, steps by the released code
PUBLISHED_RATE = 0.05  # and results that do not state theirs have this one
WITHOUT_FIT = 0.5  # a set needs the fit if no control reaches this share of the fitted accuracy
WORKS = 0.5  # interchange accuracy below which a subspace mostly fails
OTHERS_WORK = 0.1  # interchange accuracy on the other set's pairs, below which a subspace does not do its work
CROSSES = ("closure_for_cancellation", "cancellation_for_closure")
NEARLY = 0.9  # of the last layer's accuracy
CLEARLY_MORE = 0.05  # by how much identity cases must be more frequent among failures than among all pairs, and by how
# much the residual stream must do better than the attention output to say that earlier layers hold part of a set
CLEARLY_WORSE = 0.05  # accuracy that a fit with identity facts must lose on the other pairs to be called worse there

Case = Literal["source", "base", "target", "none"]
CASES: tuple[Case, ...] = ("source", "base", "target", "none")


@dataclass(frozen=True)
class Layer:
    """Interchange accuracy at the attention output of one layer."""

    layer: str
    accuracy: Number


@dataclass(frozen=True)
class SetSubspace:
    """The subspace fitted for one set (closure or cancellation)."""

    name: str
    accuracy: Number  # over all seeds; where a field does not say otherwise, without identity facts
    with_identity: Number
    by_seed: tuple[Number, ...]
    train: Number  # this and the rest: the first seed
    random: Number
    principal: Number
    shuffled: Number
    shuffled_train: Number
    whole: Number
    unchanged: Number
    needs_fit: bool  # no control reaches half of the fitted accuracy
    still_base: Number
    becomes_source: Number
    heads: tuple[str, ...]  # that write into it, the strongest first
    layers: tuple[Layer, ...]  # empty unless the sweep covers all of them
    earlier_layer: bool  # some layer before the last reaches more than the last
    resid_mid: Shown  # as many dimensions of the residual stream behind the final attention
    better_there: bool  # than of the final attention output in the same sweep

    @property
    def early(self) -> Layer | None:
        """The first layer before the last whose attention output exchanges nearly as much as the last's."""
        early = [item for item in self.layers[:-1] if item.accuracy.value > NEARLY * self.layers[-1].accuracy.value]
        return early[0] if early else None

    @property
    def much_better_there(self) -> bool:
        more = isinstance(self.resid_mid, Number) and self.resid_mid.value > self.accuracy.value + CLEARLY_MORE
        return self.better_there and more

    @property
    def seeds(self) -> list[Markup]:
        return [accuracy.plain for accuracy in self.by_seed]


@dataclass(frozen=True)
class Failures:
    """Failures of the cancellation subspace where identity facts are allowed."""

    pairs: Number  # share of all pairs that are identity cases
    identity: Shown  # share of the failures that are
    share: Literal["hardly", "no"] | None  # more than that; None if clearly more, or if other pairs do not mostly fail
    published: Stated
    cases: tuple[tuple[Case, Number], ...]
    others_worse: bool  # than with the subspace fitted without identity facts


@dataclass(frozen=True)
class InputOfLast:
    """The best size at the input of the last attention; a model of one layer has none."""

    closure: Number
    cancellation: Number


@dataclass(frozen=True)
class Reading:
    size: int
    n_pairs: int
    n_facts: int
    steps: int
    published_pairs: int
    published_steps: int
    rate: str
    published_rate: str
    n_seeds: int
    source_right: Number
    base_right: Number
    closure: SetSubspace
    cancellation: SetSubspace
    not_identity: Number
    published_not_identity: Stated
    both_need_fit: bool
    needs_fit: str  # the one set whose accuracy needs the fit; '' where both sets do, or neither
    closure_for_cancellation: Number
    cancellation_for_closure: Number
    failing: str  # the sets whose subspaces fail on most of their own pairs
    apart: bool  # neither subspace does the other's work
    partly_earlier: bool  # earlier layers add much to a set, beside the final attention output
    mid_not_swept: bool
    published_closure: Stated
    published_cancellation: Stated
    published_closure_identity: Stated
    published_cancellation_identity: Stated
    published_cross: str
    overlap: Number
    overlap_random: Number
    failures: Failures
    n_sweep: int
    steps_sweep: int
    last_sites_only: bool
    input_of_last: InputOfLast | None

    @property
    def kinds(self) -> tuple[SetSubspace, SetSubspace]:
        return self.closure, self.cancellation


def read(values: Values) -> Reading:
    config = values.config
    closure, cancellation = _subspace(values, "closure"), _subspace(values, "cancellation")
    fits = [kind.name for kind in (closure, cancellation) if kind.needs_fit]
    return Reading(
        size=config["size"],
        n_pairs=config["n"],
        n_facts=config["n_facts"],
        steps=config["steps"],
        published_pairs=PUBLISHED_PAIRS,
        published_steps=PUBLISHED_STEPS,
        rate=f"{config.get('learning_rate', PUBLISHED_RATE):g}",
        published_rate=f"{PUBLISHED_RATE:g}",
        n_seeds=config["n_seeds"],
        source_right=values.number("closure.no_identity.source_right"),
        base_right=values.number("closure.no_identity.base_right"),
        closure=closure,
        cancellation=cancellation,
        not_identity=values.number("holdout.not_identity"),
        published_not_identity=stated("L3d.p7"),
        both_need_fit=len(fits) == 2,
        needs_fit=fits[0] if len(fits) == 1 else "",
        closure_for_cancellation=values.number("cross.closure_for_cancellation"),
        cancellation_for_closure=values.number("cross.cancellation_for_closure"),
        failing=" and ".join(kind.name for kind in (closure, cancellation) if kind.accuracy.value < WORKS),
        apart=all(values.number(f"cross.{cross}").high < OTHERS_WORK for cross in CROSSES),
        partly_earlier=any(kind.much_better_there for kind in (closure, cancellation)),
        mid_not_swept=not closure.resid_mid,
        published_closure=stated("L2.without_identity"),
        published_cancellation=stated("L3.without_identity"),
        published_closure_identity=stated("L2.with_identity"),
        published_cancellation_identity=stated("L3.with_identity"),
        published_cross=published_text(claim("L3.other_place_c")),
        overlap=values.number("overlap"),
        overlap_random=values.number("overlap.random"),
        failures=_failures(values, cancellation),
        n_sweep=config["n_sweep"],
        steps_sweep=config["steps_sweep"],
        last_sites_only=config["sites"] == "last",
        input_of_last=_input_of_last(values),
    )


def _subspace(values: Values, name: str) -> SetSubspace:
    def number(key: str) -> Number:
        return values.number(f"{name}.no_identity{key}")

    accuracy = number("")
    random, principal, shuffled = number(".random"), number(".principal"), number(".shuffled")
    by_seed = tuple(number(f".seed.{i}") for i in range(values.config["n_seeds"]))
    layers = _layers(values, name)
    output, resid_mid = _behind_attention(values, name)
    return SetSubspace(
        name=name,
        accuracy=accuracy,
        with_identity=values.number(f"{name}.identity"),
        by_seed=by_seed,
        train=number(".train"),
        random=random,
        principal=principal,
        shuffled=shuffled,
        shuffled_train=number(".shuffled_train"),
        whole=number(".whole"),
        unchanged=number(".unchanged"),
        needs_fit=max(random.value, principal.value, shuffled.value) < WITHOUT_FIT * accuracy.value,
        still_base=number(".still_base"),
        becomes_source=number(".becomes_source"),
        heads=tuple(values.detail("heads", name)),
        layers=layers,
        earlier_layer=bool(layers) and max(item.accuracy.value for item in layers) > layers[-1].accuracy.value,
        resid_mid=resid_mid,
        better_there=isinstance(resid_mid, Number) and isinstance(output, Number) and resid_mid.low > output.high,
    )


def _behind_attention(values: Values, name: str) -> tuple[Shown, Shown]:
    """At the size of the main fit: the final attention output, and the residual stream behind it where it was swept."""
    swept, size = values.detail("sweep", name), values.config["size"]
    if not swept.get("resid_mid"):
        return NotMeasured(), NotMeasured()
    last = max(swept["resid_mid"], key=int)
    output, resid_mid = (values.optional(f"sweep.{name}.{part}.{last}.{size}") for part in ("attention", "resid_mid"))
    return output, resid_mid


def _layers(values: Values, name: str) -> tuple[Layer, ...]:
    """At the size of the main fit, where the sweep has it and covers all layers."""
    config = values.config
    if config["sites"] != "all" or config["size"] not in config["sizes"]:
        return ()
    return tuple(
        Layer(layer, values.number(f"sweep.{name}.attention.{layer}.{config['size']}"))
        for layer in values.detail("sweep", name, "attention")
    )


def _failures(values: Values, cancellation: SetSubspace) -> Failures:
    pairs, identity = values.number("cancellation.pairs_identity"), values.optional("cancellation.failures_identity")
    tried = {case: values.optional(f"cancellation.case.{case}") for case in CASES}
    cases = {case: found for case, found in tried.items() if isinstance(found, Number)}
    others = cases.get("none")
    share: Literal["hardly", "no"] | None = None
    if isinstance(identity, Number) and identity.value < pairs.value + CLEARLY_MORE and others and others.high < WORKS:
        share = "hardly" if identity.value > pairs.value else "no"
    return Failures(
        pairs=pairs,
        identity=identity,
        share=share,
        published=stated("L3.failures"),
        cases=tuple(cases.items()),
        others_worse=others is not None and others.value < cancellation.accuracy.value - CLEARLY_WORSE,
    )


def _input_of_last(values: Values) -> InputOfLast | None:
    closure, cancellation = (values.optional(f"{name}.input_of_last") for name in ("closure", "cancellation"))
    if not isinstance(closure, Number) or not isinstance(cancellation, Number):
        return None
    return InputOfLast(closure, cancellation)
