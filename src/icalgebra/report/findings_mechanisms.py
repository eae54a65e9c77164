"""Findings about what is inside the models: heads, directions, subspaces and probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from icalgebra.experiments.identity.reading import OPERANDS, at_dose
from icalgebra.experiments.shared.readings import Number, Shown, Stated, Values, clearly_more, listed, stated
from icalgebra.report.evidence import Evidence, Span, named, span
from icalgebra.report.findings_circuits import EXCHANGED, Elsewhere, OneHead, read_copying_heads, read_elsewhere

NO_COPYING_HEAD = 0.2  # a head with a smaller indirect effect is not called a copying head
COPIES = 0.95  # accuracy where the fact is in the context, from which a model is said to copy
SEVERAL_RUNS = 3  # fewer do not show how much runs differ
SEPARATES = 0.9  # balanced accuracy above which a direction is said to separate identity queries
FURTHER = 2  # cluster distances: the second move that steering is judged by


@dataclass(frozen=True)
class CopyingRuns:
    """The strongest head's effect in every training run, patched between unrelated sequences."""

    n: int
    n_recipes: int
    effects: Span
    n_unnamed: int  # runs without a copying head by this measure
    differ: bool  # some runs have one, others do not
    all_copy: bool  # all runs answer where a fact can be copied

    @property
    def several_recipes(self) -> bool:
        return self.n_recipes > 1

    @property
    def least_named(self) -> Stated:
        return Stated(NO_COPYING_HEAD)


@dataclass(frozen=True)
class Copying:
    published: Stated  # the effect of the paper's head
    runs: CopyingRuns | None
    heads: list[OneHead]  # on pairs that differ in the copied fact alone
    one_head: bool  # in every model that was measured so

    @property
    def one_head_in(self) -> Markup:
        return listed([named(head.model) for head in self.heads])


def read_copying(evidence: Evidence) -> Copying | None:
    heads, runs = read_copying_heads(evidence), _copying_runs(evidence)
    if not heads and runs is None:
        return None
    one_head = bool(heads) and all(head.alone for head in heads)
    return Copying(stated("K1.copy_best"), runs, heads, one_head)


def _copying_runs(evidence: Evidence) -> CopyingRuns | None:
    effects = [effect.value for effect in evidence.over_runs("heads", "role.copy")]
    if len(effects) < SEVERAL_RUNS:
        return None
    n_unnamed = sum(effect < NO_COPYING_HEAD for effect in effects)
    accuracies = [accuracy.value for accuracy in evidence.over_runs("heads", "plain.copy")]
    return CopyingRuns(
        len(effects),
        evidence.n_recipes("heads"),
        Span(f"{min(effects):.2f}", f"{max(effects):.2f}"),
        n_unnamed,
        differ=0 < n_unnamed < len(effects),
        all_copy=len(accuracies) == len(effects) and min(accuracies) > COPIES,
    )


Steers = Literal["at one", "at two", "no"]


@dataclass(frozen=True)
class Steered:
    """How often other queries, moved along a direction, are answered with a query variable."""

    plus: Number
    random: Shown  # the same along random directions

    @property
    def works(self) -> bool:
        return clearly_more(self.plus, self.random)


@dataclass(frozen=True)
class IdentityDirection:
    """The first principal direction of a model's last attention output, and what moves along it do."""

    model: str
    separates: Number  # balanced accuracy of a threshold on it
    once: Steered  # by the distance between the two clusters
    twice: Steered | None
    guessed: Stated | None  # how often a guess among all variables is one of the query's

    @property
    def steers(self) -> Steers:
        return "at one" if self.once.works else "at two" if self.twice and self.twice.works else "no"


@dataclass(frozen=True)
class Identity:
    models: list[IdentityDirection]
    all_separate: bool
    published_steered: Stated

    @property
    def all_weaker(self) -> bool:
        """By both moves, in every model."""
        moves = [move for item in self.models for move in (item.once, item.twice) if move]
        return all(100 * move.plus.high < self.published_steered.value for move in moves)

    @property
    def separated(self) -> Span:
        """Balanced accuracy, over models."""
        return span([item.separates for item in self.models])

    @property
    def random(self) -> Span:
        return span([item.once.random for item in self.models if isinstance(item.once.random, Number)])

    @property
    def all_twice(self) -> bool:
        return all(item.twice for item in self.models)


def read_identity(evidence: Evidence) -> Identity | None:
    models = evidence.each("identity", _identity_direction)
    if not models:
        return None
    separate = all(model.separates.low > SEPARATES for model in models)
    return Identity(models, separate, stated("I3.plus"))


def _identity_direction(model: str, values: Values) -> IdentityDirection:
    once = [values.number(f"steer_distance.{way}.query_variable") for way in ("plus", "random")]
    separates = values.number("pc1.balanced_accuracy")
    return IdentityDirection(model, separates, Steered(*once), _twice(values), _guessed(values))


def _guessed(values: Values) -> Stated | None:
    """None where the result does not say how many variables there are."""
    world = values.config.get("world", {})
    return Stated(100 * OPERANDS / world["n_variables"], "%") if "n_variables" in world else None


def _twice(values: Values) -> Steered | None:
    """From the dose-response curves; None where they do not go so far."""
    if "distance" not in values.result.details:
        return None
    wanted = FURTHER * values.detail("distance")
    plus, random = (at_dose(values, way, wanted) for way in ("plain", "random"))
    return Steered(plus, random) if isinstance(plus, Number) else None


@dataclass(frozen=True)
class Exchanged:
    """Interchange accuracy of one model's subspaces of the last attention output, on pairs without identity facts."""

    model: str
    closure: Number
    cancellation: Number


@dataclass(frozen=True)
class Sets:
    size: int  # dimensions of the subspaces
    models: list[Exchanged]
    title: Literal["both", "closure only", "models differ", "in part"]
    elsewhere: list[Elsewhere]
    both_exchanged: bool  # after the last attention, in every model that was measured there

    @property
    def elsewhere_in(self) -> Markup:
        return listed([named(item.model) for item in self.elsewhere])

    @property
    def exchanged(self) -> Span:
        """In the residual stream, over models and both sets."""
        return span([number for item in self.elsewhere for number in (item.closure, item.cancellation)])


def read_sets(evidence: Evidence) -> Sets | None:
    models, elsewhere = evidence.each("subspaces", _exchanged), read_elsewhere(evidence)
    if not models:
        return None
    return Sets(
        size=evidence.of("subspaces", evidence.models("subspaces")[0]).config["size"],
        models=models,
        title=_what_is_exchanged(models),
        elsewhere=elsewhere,
        both_exchanged=bool(elsewhere) and all(item.both_exchanged for item in elsewhere),
    )


def _exchanged(model: str, values: Values) -> Exchanged:
    return Exchanged(
        model=model,
        closure=values.number("closure.no_identity"),
        cancellation=values.number("cancellation.no_identity"),
    )


def _what_is_exchanged(models: list[Exchanged]) -> Literal["both", "closure only", "models differ", "in part"]:
    found = {(model.closure.value > EXCHANGED, model.cancellation.value > EXCHANGED) for model in models}
    if len(found) > 1:
        return "models differ"
    ((closure, cancellation),) = found
    return "both" if closure and cancellation else "closure only" if closure else "in part"


@dataclass(frozen=True)
class ProbeAccuracy:
    fitted: list[Number]  # in the closure and the cancellation subspace
    random: list[Number]  # in random subspaces of the same size
    frequent: list[Number]  # accuracy of always giving the more frequent answer

    @property
    def control_informs(self) -> bool:
        return all(random.low > frequent.high for random, frequent in zip(self.random, self.frequent))


@dataclass(frozen=True)
class Probes:
    models: list[ProbeAccuracy]

    @property
    def need_control(self) -> bool:
        """In every model, random subspaces do better than the more frequent answer."""
        return all(model.control_informs for model in self.models)

    @property
    def fitted(self) -> Span:
        return span([number for model in self.models for number in model.fitted])

    @property
    def random(self) -> Span:
        return span([number for model in self.models for number in model.random])


def read_probes(evidence: Evidence) -> Probes | None:
    models = evidence.each("probes", _probe_accuracy)
    return Probes(models) if models else None


def _probe_accuracy(_: str, values: Values) -> ProbeAccuracy:
    parts = [
        [values.number(f"{kind}.{part}") for kind in ("closure", "cancellation")]
        for part in ("accuracy", "random", "commoner_answer")
    ]
    return ProbeAccuracy(*parts)


@dataclass(frozen=True)
class CopyingHead:
    """Attention of a model's copying head to tokens of the fact that it copies."""

    model: str
    answer: Number
    comma: Number  # after the fact

    @property
    def reads(self) -> Literal["answer", "comma"]:
        return "answer" if self.answer.value > self.comma.value else "comma"

    @property
    def most(self) -> Number:
        return max(self.answer, self.comma, key=lambda number: number.value)


@dataclass(frozen=True)
class TokenRead:
    copying: list[CopyingHead]  # of models that have a copying head

    @property
    def differ(self) -> bool:
        return len({head.reads for head in self.copying}) > 1

    @property
    def as_published(self) -> list[CopyingHead]:
        """Those that read the answer."""
        return [head for head in self.copying if head.reads == "answer"]

    @property
    def of_comma(self) -> list[CopyingHead]:
        return [head for head in self.copying if head.reads == "comma"]


def read_token_read(evidence: Evidence) -> TokenRead | None:
    heads = evidence.each("copying", _copying_head)
    return TokenRead([head for head in heads if head]) if any(heads) else None


def _copying_head(model: str, values: Values) -> CopyingHead | None:
    if values.number("aie.copy.first").value <= NO_COPYING_HEAD:
        return None
    return CopyingHead(model, values.number("copy.slot.answer"), values.number("copy.slot.comma_behind"))
