"""Findings about what is inside the models: heads, directions, subspaces and probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from icalgebra.experiments.shared import released
from icalgebra.experiments.shared.readings import Number, Shown, Stated, Values, listed, stated
from icalgebra.report.evidence import Evidence, Span
from icalgebra.report.findings_circuits import (
    Blocked,
    Elsewhere,
    OneHead,
    read_blocked,
    read_copying_heads,
    read_elsewhere,
)

NO_COPYING_HEAD = 0.2  # a head with a smaller indirect effect is not called a copying head
SEVERAL_RUNS = 3  # fewer do not show how much runs differ
COPIES = 0.9  # accuracy on copyable queries above which a run is said to copy
SEPARATES = 0.9  # balanced accuracy above which a direction is said to separate identity queries
EXCHANGED = 0.9  # interchange accuracy above which a set is said to be exchanged, not only in part


@dataclass(frozen=True)
class TwoHeads:
    """The two heads of a model with the largest indirect effect on copying."""

    model: str
    first: Number
    second: Shown


@dataclass(frozen=True)
class CopyingRuns:
    """The strongest head's effect in every training run."""

    n: int
    all_copy: bool
    effects: Span
    threshold: Stated  # a head with a smaller effect is not called a copying head
    n_unnamed: int  # runs in which no head reaches it
    differ: bool  # some runs have a copying head by this measure, others do not
    resampled: Span | None  # those runs' accuracy on copies with another sequence's outputs in their leading heads
    heads_matter_still: bool  # at least one of those runs then fails to copy


@dataclass(frozen=True)
class Copying:
    published_first: Stated
    published_second: Stated
    models: list[TwoHeads]
    runs: CopyingRuns | None
    heads: list[OneHead]  # on pairs that differ in the copied fact alone
    one_head: bool  # in every model that was measured so

    @property
    def one_head_in(self) -> str:
        return listed([head.model for head in self.heads])


def read_copying(evidence: Evidence) -> Copying | None:
    models = evidence.each(
        "copying",
        lambda model, values: TwoHeads(
            model, values.number("aie.copy.first", ""), values.optional("aie.copy.second", "")
        ),
    )
    heads = read_copying_heads(evidence)
    if not models:
        return None
    return Copying(
        published_first=stated("K1.copy_best"),
        published_second=stated("K1.copy_second"),
        models=models,
        runs=_copying_runs(evidence),
        heads=heads,
        one_head=bool(heads) and all(head.alone for head in heads),
    )


def _copying_runs(evidence: Evidence) -> CopyingRuns | None:
    names = ("role.copy", "plain.copy", "necessary.copy.copy.resample")
    runs = evidence.over_runs("heads", *names)
    if len(runs) < SEVERAL_RUNS:
        return None
    effects = [effect.value for effect, _, _ in runs]
    unnamed = [resampled.value for effect, _, resampled in runs if effect.value < NO_COPYING_HEAD]
    return CopyingRuns(
        n=len(runs),
        all_copy=all(accuracy.low > COPIES for _, accuracy, _ in runs),
        effects=Span(f"{min(effects):.2f}", f"{max(effects):.2f}"),
        threshold=Stated(NO_COPYING_HEAD),
        n_unnamed=len(unnamed),
        differ=0 < len(unnamed) < len(runs),
        resampled=Span(Number.exact(min(unnamed)), Number.exact(max(unnamed))) if unnamed else None,
        heads_matter_still=bool(unnamed) and min(unnamed) < COPIES,
    )


@dataclass(frozen=True)
class IdentityDirection:
    """The first principal direction of a model's last attention output."""

    model: str
    separates: Number  # balanced accuracy of a threshold on it
    steered: Number  # how often other queries, steered along it, are answered with a query variable
    random: Number  # the same along random directions
    promotion: Number  # identity queries in which the best head has both query variables on top

    @property
    def steers(self) -> bool:
        return self.steered.low > self.random.high


@dataclass(frozen=True)
class LastLayer:
    model: str
    without: Number  # accuracy on identity queries with the last attention layer ablated


@dataclass(frozen=True)
class PromotionControl:
    """Runs whose best query promotion head was also measured on queries without the identity."""

    n_runs: int
    n_alike: int  # runs in which it promotes the query's variables not significantly less often there


@dataclass(frozen=True)
class Identity:
    models: list[IdentityDirection]
    all_separate: bool
    steering: Literal["all", "none", "some"]  # models for which it does more than random directions
    published_steered: Stated
    published_length: int
    last_layer: list[LastLayer]
    promotion: PromotionControl | None


def read_identity(evidence: Evidence) -> Identity | None:
    models = evidence.each("identity", _identity_direction)
    if not models:
        return None
    n_steered = sum(model.steers for model in models)
    return Identity(
        models=models,
        all_separate=all(model.separates.low > SEPARATES for model in models),
        steering="all" if n_steered == len(models) else "some" if n_steered else "none",
        published_steered=stated("I3.plus"),
        published_length=released.STEERING_LENGTH,
        last_layer=evidence.each(
            "heads", lambda model, values: LastLayer(model, values.number("necessary.last_layer.identity.mean"))
        ),
        promotion=_promotion_control(evidence),
    )


def _identity_direction(model: str, values: Values) -> IdentityDirection:
    return IdentityDirection(
        model=model,
        separates=values.number("pc1.balanced_accuracy"),
        steered=values.number("steer_distance.plus.query_variable"),
        random=values.number("steer_distance.random.query_variable"),
        promotion=values.number("query_promotion.best"),
    )


def _promotion_control(evidence: Evidence) -> PromotionControl | None:
    runs = evidence.over_runs("heads", "role.query_promotion", "role.query_promotion.elsewhere")
    if not runs:
        return None
    return PromotionControl(len(runs), sum(elsewhere.high >= there.low for there, elsewhere in runs))


@dataclass(frozen=True)
class TopLogits:
    model: str
    closure: Number  # the highest logits after the left variable are exactly its group's members seen so far


@dataclass(frozen=True)
class Exchanged:
    """Interchange accuracy of one model's subspaces, on pairs without identity facts."""

    model: str
    closure: Number
    cancellation: Number
    random: Number


@dataclass(frozen=True)
class BestLayer:
    """The layer whose attention output exchanges the cancellation set best."""

    model: str
    layer: str
    is_last: bool


@dataclass(frozen=True)
class Sets:
    top_logits: list[TopLogits]
    n_facts: int  # in the sequences behind them
    size: int  # dimensions of the subspaces
    models: list[Exchanged]
    title: Literal["both", "closure only", "models differ", "in part"]
    best_layers: list[BestLayer]
    elsewhere: list[Elsewhere]
    both_exchanged: bool  # behind the last attention, in every model that was measured there


def read_sets(evidence: Evidence) -> Sets | None:
    top_logits = evidence.each("closure", lambda model, values: TopLogits(model, values.number("topk")))
    models, elsewhere = evidence.each("subspaces", _exchanged), read_elsewhere(evidence)
    if not top_logits or not models:
        return None
    swept = [
        model for model in evidence.models("subspaces") if evidence.of("subspaces", model).config["sites"] == "all"
    ]
    return Sets(
        top_logits=top_logits,
        n_facts=evidence.of("closure", top_logits[0].model).config["n_facts"],
        size=evidence.of("subspaces", models[0].model).config["size"],
        models=models,
        title=_what_is_exchanged(models),
        best_layers=[_best_layer(model, evidence.of("subspaces", model)) for model in swept],
        elsewhere=elsewhere,
        both_exchanged=bool(elsewhere) and all(item.both_exchanged for item in elsewhere),
    )


def _exchanged(model: str, values: Values) -> Exchanged:
    return Exchanged(
        model=model,
        closure=values.number("closure.no_identity"),
        cancellation=values.number("cancellation.no_identity"),
        random=values.number("closure.no_identity.random"),
    )


def _what_is_exchanged(models: list[Exchanged]) -> Literal["both", "closure only", "models differ", "in part"]:
    found = {(model.closure.value > EXCHANGED, model.cancellation.value > EXCHANGED) for model in models}
    if len(found) > 1:
        return "models differ"
    ((closure, cancellation),) = found
    return "both" if closure and cancellation else "closure only" if closure else "in part"


def _best_layer(model: str, values: Values) -> BestLayer:
    by_layer = values.detail("sweep", "cancellation", "attention")
    size = values.config["sizes"].index(values.config["size"])
    best = max(by_layer, key=lambda layer: by_layer[layer][size])
    return BestLayer(model, best, is_last=best == max(by_layer, key=int))


@dataclass(frozen=True)
class ProbeAccuracy:
    model: str
    closure: Number
    cancellation: Number
    closure_random: Number  # in random subspaces of the same size
    cancellation_random: Number
    closure_frequent: Number  # accuracy of always giving the more frequent answer
    cancellation_frequent: Number
    control_informs: bool  # random subspaces do better than the more frequent answer


@dataclass(frozen=True)
class Probes:
    models: list[ProbeAccuracy]
    need_control: bool


def read_probes(evidence: Evidence) -> Probes | None:
    models = evidence.each("probes", _probe_accuracy)
    return Probes(models, all(model.control_informs for model in models)) if models else None


def _probe_accuracy(model: str, values: Values) -> ProbeAccuracy:
    random = values.numbers("{}.random", ("closure", "cancellation"))
    frequent = values.numbers("{}.commoner_answer", random)
    return ProbeAccuracy(
        model=model,
        closure=values.number("closure.accuracy"),
        cancellation=values.number("cancellation.accuracy"),
        closure_random=random["closure"],
        cancellation_random=random["cancellation"],
        closure_frequent=frequent["closure"],
        cancellation_frequent=frequent["cancellation"],
        control_informs=all(random[kind].low > frequent[kind].high for kind in random),
    )


@dataclass(frozen=True)
class CopyingHead:
    """Attention of a model's copying head to slots of the fact that it copies."""

    model: str
    answer: Number
    comma: Number  # after the fact


@dataclass(frozen=True)
class CancellationHead:
    """The largest attention of any head to answers of facts with the query's left variable."""

    model: str
    attention: Number
    also_right: bool  # the same head attends most to those with its right variable


@dataclass(frozen=True)
class TokenRead:
    copying: list[CopyingHead]  # of models that have a copying head
    cancellation: list[CancellationHead]
    published_attention: Stated
    blocked: list[Blocked]


def read_token_read(evidence: Evidence) -> TokenRead | None:
    measured = evidence.models("copying", "cancellation")
    if not measured:
        return None
    copying = {model: evidence.of("copying", model) for model in measured}
    named = {
        model: values for model, values in copying.items() if values.number("aie.copy.first").value > NO_COPYING_HEAD
    }
    return TokenRead(
        copying=[
            CopyingHead(model, values.number("copy.slot.answer"), values.number("copy.slot.comma_behind"))
            for model, values in named.items()
        ],
        cancellation=[_cancellation_head(model, evidence.of("cancellation", model)) for model in measured],
        published_attention=stated("L5.left"),
        blocked=read_blocked(evidence),
    )


def _cancellation_head(model: str, values: Values) -> CancellationHead:
    heads = values.detail("answer_heads")
    return CancellationHead(model, values.number("attention.left"), heads["left"] == heads["right"])
