"""Which result answers for an experiment: the one of this run where there is one, else the committed one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from icalgebra.claims import Claim, Verdict
from icalgebra.results import Result, read_results
from icalgebra.statistics import Estimate

OTHER_WORLDS = ("tiny",)  # models of a world of their own: shown, but no witnesses for the paper's claims
SEED = "-seed"  # in the name of a run that stands beside others of its kind: shown in tables of several models alone


def stands_alone(model: str) -> bool:
    return SEED not in model


def place(model: str) -> tuple[int, str]:
    """Everywhere on the page: the shipped model first, then others of the paper's world, those of other worlds last."""
    return 0 if model == "small" else 2 if model in OTHER_WORLDS else 1, model


@dataclass(frozen=True)
class Stored:
    """A result and where it came from: 'this run' or 'committed'."""

    result: Result
    origin: str


@dataclass(frozen=True)
class Judged:
    """A claim with our value for one model; `counts`: no better evidence about this model is at hand."""

    claim: Claim
    model: str
    ours: Estimate | None
    verdict: Verdict
    origin: str
    counts: bool = True


class Store:
    """Results by experiment and model: this run's first, then the committed ones about the same model."""

    def __init__(self, fresh: Path | None, committed: Path | None) -> None:
        self._found: dict[tuple[str, str], list[Stored]] = {}
        for folder, origin in ((fresh, "this run"), (committed, "committed")):
            if folder is not None and folder.is_dir():
                for result in sorted(read_results(folder), key=lambda result: result.tier):  # full before quick
                    self._take(Stored(result, origin))

    def _take(self, stored: Stored) -> None:
        """One result from each folder; a committed one of another model with the same name is no witness."""
        held = self._found.setdefault((stored.result.experiment, stored.result.model), [])
        known = any(other.origin == stored.origin for other in held)
        if not known and all(other.result.model_hash == stored.result.model_hash for other in held):
            held.append(stored)

    def get(self, experiment: str, model: str = "data") -> Stored | None:
        held = self._found.get((experiment, model))
        return held[0] if held else None

    def best(self, experiment: str, model: str = "data") -> Stored | None:
        """The evidence that counts: the full tier's where there is one."""
        held = self._found.get((experiment, model), [])
        return next((stored for stored in held if stored.result.tier == "full"), held[0] if held else None)

    def models(self, experiment: str) -> list[str]:
        """The models that have results for an experiment."""
        return sorted((model for name, model in self._found if name == experiment), key=place)

    def all(self) -> list[Stored]:
        return [held[0] for held in self._found.values()]

    def judge(self, claim: Claim) -> list[Judged]:
        """The claim's verdict, for every model that was measured; once as not measured where none was."""
        witnesses = [m for m in self.models(claim.experiment) if m not in OTHER_WORLDS and stands_alone(m)]
        judged = [item for model in witnesses for item in self._judge_for(claim, model)]
        measured = [item for item in judged if item.ours is not None]
        return measured or [Judged(claim, "", None, "not measured", "")]

    def _judge_for(self, claim: Claim, model: str) -> list[Judged]:
        best = self.best(claim.experiment, model)
        return [self._judged(claim, stored, stored is best) for stored in self._found[(claim.experiment, model)]]

    @staticmethod
    def _judged(claim: Claim, stored: Stored, counts: bool) -> Judged:
        ours = claim.measure(stored.result)
        origin = f"{stored.origin}, {stored.result.tier} tier"
        return Judged(claim, stored.result.model, ours, claim.verdict(ours), origin, counts)
