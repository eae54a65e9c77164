"""Claims: what the paper states, and the verdict on it by a rule.

experiments/<name>/claims.toml holds the claims of one experiment. A row groups what one place of the paper says; a
claim is one number.

    published  what the paper states: a number, or its words where it gives none
    value      key of the value in the experiment's result (shares are stored as fractions; unit "%" multiplies)
    within     reproduced if our 95 % interval meets published ± tolerance
    at_least   reproduced if our interval reaches the threshold from below (at_most: from above)
    holds      a predicate: the experiment stores 1 or 0
    why        a sentence on the cause, shown where ours differs
    note       what to keep in mind whatever the verdict
    late       the rule was written or changed when a related number was known
    requires   settings that a result's config must have; others were measured by an earlier rule and are not judged

Rules were written before the numbers were measured, except those marked `late`: row O1, which is not the paper's;
claims added when a related number was known (most cells of C3, S1.l2 to S1.d2048 and others); and those changed after a
first measurement: C1m.unexplained (counts commutative copies as the paper does), which heads L5 judges, the base of
associate's onset (P1.associate_last, P2.seeds: by the first rule both differed), and S1.layers and S1.heads, which now
ask for the plateau as the paper does (before: steps to 90 %, in which layers were equal).
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from icalgebra.errors import InputError
from icalgebra.results import Result
from icalgebra.statistics import Estimate

Verdict = Literal["reproduced", "differs", "not measured"]
RULES = ("within", "at_least", "at_most", "holds")


@dataclass(frozen=True)
class Claim:
    """One statement of the paper and how ours is judged."""

    id: str
    row: str
    family: str
    place: str
    text: str
    experiment: str
    value: str
    published: float | str
    rule: str
    threshold: float
    unit: str = ""
    why: str = ""
    note: str = ""
    late: bool = False
    requires: tuple[tuple[str, Any], ...] = ()

    @property
    def number(self) -> float:
        """The number the paper states, in the claim's unit."""
        if not isinstance(self.published, float | int):
            raise InputError(f"{self.id} states no number but {self.published!r}")
        return float(self.published)

    def measure(self, result: Result | None) -> Estimate | None:
        """Our value in the claim's unit, or None where it was not measured, or not by this rule."""
        if result is None or any(result.config.get(key) != wanted for key, wanted in self.requires):
            return None
        estimate = result.values.get(self.value)
        return estimate.scaled(100.0) if estimate and self.unit == "%" else estimate

    def verdict(self, ours: Estimate | None) -> Verdict:
        if ours is None:
            return "not measured"
        return "reproduced" if self._agrees(ours) else "differs"

    def _agrees(self, ours: Estimate) -> bool:
        if self.rule == "within":
            return ours.low <= self.number + self.threshold and ours.high >= self.number - self.threshold
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


def read_claims(path: Path, experiment: str) -> list[Claim]:
    """The claims of one experiment's claims.toml, in its order."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return [_claim(row, entry, experiment) for row in data["row"] for entry in row["claims"]]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} does not hold claims: {error}") from error


def _claim(row: dict[str, Any], entry: dict[str, Any], experiment: str) -> Claim:
    """`why`, `late` and `requires` of a row hold for its claims, unless they say otherwise."""
    (rule,) = [key for key in entry if key in RULES]
    inherited: dict[str, Any] = {key: row[key] for key in ("why", "late") if key in row}
    own: dict[str, Any] = {
        key: entry[key] for key in ("value", "published", "unit", "note", "why", "late") if key in entry
    }
    return Claim(
        id=f"{row['id']}.{entry['id']}",
        row=row["id"],
        family=row["family"],
        place=row["place"],
        text=f"{row['text']}: {entry['text']}",
        experiment=experiment,
        rule=rule,
        threshold=0.5 if rule == "holds" else float(entry[rule]),
        requires=tuple(sorted({**row.get("requires", {}), **entry.get("requires", {})}.items())),
        **inherited | own,
    )


@lru_cache(maxsize=1)
def published() -> dict[str, Any]:
    """The paper's curves and tables as data."""
    return json.loads(files("icalgebra").joinpath("published.json").read_text(encoding="utf-8"))
