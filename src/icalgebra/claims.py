"""Claims: every number the paper states, and the verdict on it by the rule that claims.toml gives it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from icalgebra.results import Result
from icalgebra.statistics import Estimate

Verdict = Literal["reproduced", "differs", "not measured"]
RULES = ("within", "at_least", "at_most", "holds")


@dataclass(frozen=True)
class Claim:
    """One statement of the paper and how ours is judged."""

    id: str
    row: str
    place: str
    text: str
    experiment: str
    value: str
    scope: str
    published: float | str
    rule: str
    threshold: float
    unit: str = ""
    why: str = ""  # a sentence on the cause, for where ours differs
    note: str = ""  # what to keep in mind whatever the verdict
    late: bool = False  # the rule was written or changed when a related number was known

    def measure(self, result: Result | None) -> Estimate | None:
        """Our value in the claim's unit, or None where it was not measured."""
        estimate = result.values.get(self.value) if result else None
        return estimate.scaled(100.0) if estimate and self.unit == "%" else estimate

    def verdict(self, ours: Estimate | None) -> Verdict:
        if ours is None:
            return "not measured"
        return "reproduced" if self._agrees(ours) else "differs"

    def _agrees(self, ours: Estimate) -> bool:
        if self.rule == "within":
            assert isinstance(self.published, float | int)
            return ours.low <= self.published + self.threshold and ours.high >= self.published - self.threshold
        if self.rule == "at_most":
            return ours.low <= self.threshold
        return ours.high >= self.threshold

    @property
    def rule_text(self) -> str:
        return {
            "within": f"the interval comes within ± {self.threshold:g} of it",
            "at_least": f"the interval reaches {self.threshold:g} or more",
            "at_most": f"the interval reaches {self.threshold:g} or less",
            "holds": "it holds",
        }[self.rule]


def load_claims() -> list[Claim]:
    """Every claim of claims.toml, in its order."""
    data = tomllib.loads(files("icalgebra").joinpath("claims.toml").read_text(encoding="utf-8"))
    return [_claim(row, entry) for row in data["row"] for entry in row["claims"]]


def stated(claim_id: str) -> float:
    """The number the paper states in a claim, in the claim's unit."""
    (found,) = [claim.published for claim in load_claims() if claim.id == claim_id]
    assert isinstance(found, float | int)
    return float(found)


def _claim(row: dict[str, Any], entry: dict[str, Any]) -> Claim:
    (rule,) = [key for key in entry if key in RULES]
    threshold = 0.5 if rule == "holds" else float(entry[rule])
    shared = {key: row[key] for key in ("place", "experiment", "scope")}
    own = {key: entry[key] for key in ("value", "published")}
    text = f"{row['text']}: {entry['text']}"
    return Claim(
        id=f"{row['id']}.{entry['id']}",
        row=row["id"],
        text=text,
        rule=rule,
        threshold=threshold,
        unit=entry.get("unit", ""),
        why=entry.get("why", row.get("why", "")),
        note=entry.get("note", ""),
        late=entry.get("late", row.get("late", False)),
        **shared,
        **own,
    )
