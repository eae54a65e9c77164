"""Which result answers for an experiment: the one of this run where there is one, else the committed one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from icalgebra.claims import Claim, Verdict
from icalgebra.results import Result, read_results
from icalgebra.statistics import Estimate

OTHER_WORLDS = ("tiny",)  # models of a world of their own: shown, but no witnesses for the paper's claims


@dataclass(frozen=True)
class Stored:
    """A result and where it came from: 'this run' or 'committed'."""

    result: Result
    origin: str


@dataclass(frozen=True)
class Judged:
    """A claim with our value for one model."""

    claim: Claim
    model: str
    ours: Estimate | None
    verdict: Verdict
    origin: str


class Store:
    """Results by experiment and model."""

    def __init__(self, fresh: Path | None, committed: Path | None) -> None:
        self._found: dict[tuple[str, str], Stored] = {}
        for folder, origin in ((committed, "committed"), (fresh, "this run")):
            if folder is not None and folder.is_dir():
                for result in read_results(folder):
                    self._take(result, origin)

    def _take(self, result: Result, origin: str) -> None:
        """Later folders win; within one folder the full tier wins over the quick one."""
        key = (result.experiment, result.model)
        held = self._found.get(key)
        if held is None or held.origin != origin or result.tier == "full":
            self._found[key] = Stored(result, origin)

    def get(self, experiment: str, model: str = "data") -> Stored | None:
        return self._found.get((experiment, model))

    def models(self, experiment: str) -> list[str]:
        """The models that have results for an experiment."""
        return [model for name, model in self._found if name == experiment]

    def all(self) -> list[Stored]:
        return list(self._found.values())

    def judge(self, claim: Claim) -> list[Judged]:
        """The claim's verdict, once for every model that was measured; once as not measured where none was."""
        witnesses = [model for model in self.models(claim.experiment) if model not in OTHER_WORLDS]
        judged = [self._judge_for(claim, model) for model in witnesses]
        measured = [item for item in judged if item.ours is not None]
        return measured or [Judged(claim, "", None, "not measured", "")]

    def _judge_for(self, claim: Claim, model: str) -> Judged:
        stored = self._found[(claim.experiment, model)]
        ours = claim.measure(stored.result)
        return Judged(claim, model, ours, claim.verdict(ours), f"{stored.origin}, {stored.result.tier} tier")
