"""Which result is used for an experiment: this run's where there is one, else the committed one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markupsafe import Markup

from icalgebra.claims import Claim, Verdict
from icalgebra.experiments import EXPERIMENTS, load_claims, read_checked
from icalgebra.experiments.shared.readings import with_minus, written
from icalgebra.language.world import is_papers_world
from icalgebra.results import Result, display_name, result_path, result_paths
from icalgebra.statistics import Estimate
from icalgebra.verdicts import Decision, decide, fitting_settings

# Names of committed runs that differ in their seed, and of results about such a set as a whole: they are shown only in
# tables of several models.
SEED, SEED_SETS = "-seed", ("adamw256",)
SHIPPED = "small"
# A verdict rests on the first of these that can be compared: the paper's own recipe, then its size, then the rest.
PREFERRED = ("published", "fast", SHIPPED)
EXPLAINED = ("data", SHIPPED)  # the claims' reasons apply to these, and to all committed results
THIS_RUN, EARLIER, COMMITTED = "this run", "an earlier run", "committed"
# Beside the colour, so that no verdict is told by colour alone.
SIGNS: dict[Verdict, str] = {
    "reproduced": "=", "stronger here": "+", "differs": "≠",
    "undecided": "?", "not comparable": "∥", "not measured": "·",
}  # fmt: skip


def css_class(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")


def place(model: str, elsewhere: bool = False) -> tuple[int, str]:
    """Sort key of the page: the shipped model first, then others of the paper's world, then those of other worlds."""
    return 2 if elsewhere else 0 if model == SHIPPED else 1, model


def preference(model: str) -> int:
    """Sort key: which model a claim's verdict rests on."""
    return PREFERRED.index(model) if model in PREFERRED else len(PREFERRED)


@dataclass(frozen=True)
class Stored:
    """A result and where it came from: 'this run', 'an earlier run' or 'committed'."""

    result: Result
    origin: str

    def as_shown(self) -> Stored:
        return Stored(self.result.as_shown(), self.origin)

    @property
    def of_papers_world(self) -> bool:
        return is_papers_world(self.result.config)

    @property
    def has_own_section(self) -> bool:
        """Its own figures and verdicts: all results but committed ones of runs that only add a seed."""
        return self.origin != COMMITTED or not (SEED in self.result.model or self.result.model in SEED_SETS)


@dataclass(frozen=True)
class Judged:
    """A claim with our value for one model.

    counts: there is no better result about this model. explained: the claim's reason applies to this model.
    """

    claim: Claim
    model: str
    ours: Estimate | None
    decision: Decision
    origin: str
    counts: bool = True
    explained: bool = True

    @property
    def verdict(self) -> Verdict:
        return self.decision.verdict

    @property
    def of_model(self) -> bool:
        return self.model != "data"

    @property
    def shown_model(self) -> str:
        return display_name(self.model)

    @property
    def kind(self) -> str:
        return css_class(self.verdict)

    @property
    def plain(self) -> str:
        """Our value without markup, and the model."""
        if self.ours is None:
            return ""
        unit = f" {self.claim.unit}" if self.claim.unit else ""
        return f": {with_minus(f'{self.ours.value:.3g}')}{unit} ({self.shown_model})"

    @property
    def needs_reason(self) -> bool:
        return self.explained and self.verdict in ("differs", "stronger here")

    @property
    def has_interval(self) -> bool:
        return self.claim.rule != "holds" and self.ours is not None and self.ours.low < self.ours.high

    @property
    def of_this_run(self) -> bool:
        return self.origin.startswith(THIS_RUN)

    @property
    def usual(self) -> bool:
        """Of the committed full tier, as nearly all are: the table does not say so in every row."""
        return self.origin == f"{COMMITTED}, full tier"

    @property
    def shown(self) -> str:
        """Our value as shown in the table; 1 and 0 of a predicate as yes and no."""
        if self.ours is None:
            return ""
        if self.claim.rule == "holds" and self.ours.value in (0, 1):
            return "yes" if self.ours.value else "no"
        return Markup(written(self.ours, self.claim.unit))


class Store:
    """Results by experiment and model: this run's first, then the committed ones about the same model.

    written: the files that this run wrote, by default all; the folder may also hold files of earlier runs.
    """

    def __init__(self, fresh: Path | None, committed: Path | None, written: Collection[Path] | None = None) -> None:
        self._found: dict[tuple[str, str], list[Stored]] = {}
        for stored in _fresh(fresh, written) if fresh else []:
            self._take(stored)
        for result in sorted(_read(committed), key=lambda result: result.tier) if committed else []:
            self._take(Stored(result, COMMITTED))  # full before quick

    def _take(self, stored: Stored) -> None:
        """One result per folder; a committed result of a different model with the same name is ignored."""
        held = self._found.setdefault((stored.result.experiment, stored.result.model), [])
        known = any((other.origin == COMMITTED) == (stored.origin == COMMITTED) for other in held)
        if not known and all(other.result.model_hash == stored.result.model_hash for other in held):
            held.append(stored)

    def get(self, experiment: str, model: str = "data") -> Stored | None:
        held = self._found.get((experiment, model))
        return held[0] if held else None

    def best(self, experiment: str, model: str = "data") -> Stored | None:
        """The result that counts: the full tier's where there is one."""
        held = self._found.get((experiment, model), [])
        return next((stored for stored in held if stored.result.tier == "full"), held[0] if held else None)

    def of_this_run(self) -> list[Stored]:
        return [stored for held in self._found.values() for stored in held if stored.origin == THIS_RUN]

    def models(self, experiment: str) -> list[str]:
        """The models that have results for an experiment."""
        found = {model: held[0] for (name, model), held in self._found.items() if name == experiment}
        return sorted(found, key=lambda model: place(model, not found[model].of_papers_world))

    def for_findings(self, incomplete: Collection[tuple[str, str]] = ()) -> Store:
        """The same without models of other worlds, and without what is incomplete, by experiment and shown name."""
        part = Store(None, None)
        part._found = {
            (name, model): held
            for (name, model), held in self._found.items()
            if held[0].of_papers_world and (name, display_name(model)) not in incomplete
        }
        return part

    def judged_models(self, experiment: str) -> list[str]:
        """Models that get verdicts: those of the paper's world with a section of their own."""
        found = {model: self._found[experiment, model][0] for model in self.models(experiment)}
        return [model for model, first in found.items() if first.of_papers_world and first.has_own_section]

    def judge(self, claim: Claim) -> list[Judged]:
        """The claim's verdict for every model that its experiment was run on, or a single "not measured"."""
        judged = [item for model in self.judged_models(claim.experiment) for item in self._judge_for(claim, model)]
        return judged or [Judged(claim, "", None, Decision("not measured"), "")]

    def judge_model(self, claim: Claim, model: str) -> Judged | None:
        """One model's verdict, by the result that counts, also where it has no section of its own; None where the model
        is of another world or has no value."""
        stored = self.best(claim.experiment, model)
        if stored is None or not stored.of_papers_world:
            return None
        judged = self._judged(claim, stored, True)
        return judged if judged.ours is not None else None

    @cached_property
    def fitting(self) -> dict[str, str]:
        """Of each group of settings that exclude each other, the one that fits the published numbers."""
        return fitting_settings(load_claims(), self._measured)

    def _measured(self, claim: Claim) -> Estimate | None:
        """The value of the first model that has it, in the order of preference."""
        for model in sorted(self.judged_models(claim.experiment), key=preference):
            stored = self.best(claim.experiment, model)
            if stored and (ours := claim.measure(stored.result)) is not None:
                return ours
        return None

    def _judge_for(self, claim: Claim, model: str) -> list[Judged]:
        """A verdict per result about this model that contains the value; where none does, one "not measured"."""
        best = self.best(claim.experiment, model)
        judged = [self._judged(claim, item, item is best) for item in self._found[claim.experiment, model]]
        return [item for item in judged if item.ours is not None] or [item for item in judged if item.counts]

    def _judged(self, claim: Claim, stored: Stored, counts: bool) -> Judged:
        model, ours = stored.result.model, claim.measure(stored.result)
        origin = f"{stored.origin}, {stored.result.tier} tier"
        committed = any(other.origin == COMMITTED for other in self._found[claim.experiment, model])
        decision = decide(claim, stored.result, self.fitting)
        return Judged(claim, model, ours, decision, origin, counts, committed or model in EXPLAINED)


def _fresh(folder: Path, written: Collection[Path] | None) -> list[Stored]:
    """This run's results first, then those of earlier runs, newest first; at the same time, the full tier first."""
    found = sorted(_read(folder), key=lambda result: result.tier)
    found.sort(key=lambda result: str(result.provenance.get("time", "")), reverse=True)
    ours = [
        written is None or result_path(folder, result.tier, result.model, result.experiment) in written
        for result in found
    ]
    marked = [Stored(result, THIS_RUN if own else EARLIER) for result, own in zip(found, ours)]
    return sorted(marked, key=lambda stored: stored.origin != THIS_RUN)


def _read(folder: Path) -> list[Result]:
    return [read_checked(path) for path in result_paths(folder, EXPERIMENTS)]
