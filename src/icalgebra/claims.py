"""Claims: what the paper states, and the verdict on it by a rule.

experiments/<name>/claims.toml holds the claims of one experiment. A row groups what one place of the paper says; a
claim is one number.

    published   what the paper states: a number, or its words where it gives none
    value       key of the value in the experiment's result (stored as a fraction where unit is "%" or "points")
    within      met from published − tolerance to published + tolerance
    at_least    met from the threshold on (at_most: up to it)
    holds       a predicate: the experiment stores 1 or 0
    why         a sentence on the cause, shown where ours differs
    why_above   the same where ours lies above the rule, if the cause is another one there
    unfinished  a run that was stopped early may differ for that reason alone
    note        what to keep in mind whatever the verdict
    late        the rule was written or changed when a related number was known
    changed     date and reason of the last change of the rule
    requires    settings that a result's config must have; others were measured by an earlier rule and are not judged

The verdicts, with what decides them beside the rule (verdicts.py has the order of the questions):

    reproduced       our 95 % interval meets the rule
    stronger here    it lies wholly beyond the rule on the side that `better` names ("higher" or "lower")
    differs          it lies wholly outside
    undecided        it lies across the rule's edge: the value does not meet the rule or the interval is wider than
                     ± `resolution`; it does not clear `control` (a number, or the key of a value, which `control_is`
                     names in words); or n, which counts training runs or what `sample_is` names, is below
                     `sample`
    not comparable   `not_comparable` says why, where `comparable_if` (values that must reach a level) does not hold, or
                     in any case where there is no such condition; or the claim's `setting` is not the one that fits:
                     claims that share `exclusive` state one published number under settings that exclude each other
    not measured     no result has the value

`resolution` is by default the tolerance, or the distance from the threshold to the published number. `check = true`
marks a row that is not the paper's: it is judged, and not counted. Fields of a row hold for its claims, unless they say
otherwise, and a field that is not listed here is an error. Rules were written before the numbers were measured, except
those marked `late` or `changed`. On 2026-11-18 the classes beyond reproduced and differs were added for all rules; what
a claim states for them was chosen from what the paper says or from how the number is measured, never from the verdict
that follows, and each `changed` says which.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from icalgebra.errors import InputError, unknown
from icalgebra.results import Result
from icalgebra.statistics import Estimate

Verdict = Literal["reproduced", "stronger here", "differs", "undecided", "not comparable", "not measured"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced", "stronger here", "differs", "undecided", "not comparable", "not measured",
)  # fmt: skip
RULES = ("within", "at_least", "at_most", "holds")
NUMBER = (int, float)
IN_HUNDREDTHS = ("%", "points")  # stored as fractions; differences between shares are points
TEXT_OF_ROW = dict.fromkeys(("id", "family", "place", "text"), str)
# What a row states holds for its claims, unless they state it themselves.
TYPES_OF_ROW: dict[str, Any] = {
    **dict.fromkeys(("why", "why_above", "changed", "better", "control_is"), str),
    **dict.fromkeys(("exclusive", "setting", "not_comparable", "sample_is"), str),
    "late": bool, "check": bool, "unfinished": bool, "resolution": NUMBER, "control": (str, *NUMBER), "sample": int,
    "requires": dict, "comparable_if": list,
}  # fmt: skip
TYPES_OF_CLAIM: dict[str, Any] = {
    **dict.fromkeys(("id", "text", "value", "unit", "note"), str), "published": (str, *NUMBER),
    "within": NUMBER, "at_least": NUMBER, "at_most": NUMBER, "holds": bool,
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A value of the result, in its own unit, that must reach a level before a claim can be judged."""

    value: str
    at_least: float = float("-inf")
    at_most: float = float("inf")

    def holds(self, result: Result) -> bool:
        found = result.values.get(self.value)
        return found is not None and self.at_least <= found.value <= self.at_most


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
    why_above: str = ""
    unfinished: bool = False
    note: str = ""
    late: bool = False
    changed: str = ""
    requires: tuple[tuple[str, Any], ...] = ()
    better: str = ""
    resolution: float = 0.0
    control: float | str = ""
    control_is: str = ""
    sample: int = 1
    sample_is: str = "training runs"
    exclusive: str = ""
    setting: str = ""
    not_comparable: str = ""
    comparable_if: tuple[Condition, ...] = ()
    check: bool = False
    of_row: str = ""  # what its row is about, with which the text begins

    @property
    def alone(self) -> str:
        """The text below a heading that says what the row is about."""
        return self.text.removeprefix(f"{self.of_row}: ")

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
        return self.in_unit(result.values.get(self.value))

    def in_unit(self, estimate: Estimate | None) -> Estimate | None:
        return estimate.scaled(100.0) if estimate and self.unit in IN_HUNDREDTHS else estimate

    @property
    def meets(self) -> tuple[float, float]:
        """The values that meet the rule: from, to."""
        if self.rule == "within":
            return self.number - self.threshold, self.number + self.threshold
        return (float("-inf"), self.threshold) if self.rule == "at_most" else (self.threshold, float("inf"))

    def cause(self, ours: Estimate) -> str:
        """Why ours differs, where that is known."""
        return self.why_above if self.why_above and ours.value > self.meets[1] else self.why

    @property
    def bare_rule(self) -> str:
        level = f"{self.threshold:g}" + (f" {self.unit}" if self.unit in IN_HUNDREDTHS else "")
        return {
            "within": f"within ± {self.amount(self.threshold)} of it",
            "at_least": f"{level} or more",
            "at_most": f"{level} or less",
            "holds": "it holds",
        }[self.rule]

    def amount(self, much: float) -> str:
        """A difference in words: percentages differ by points."""
        return f"{much:g}" + (" points" if self.unit in IN_HUNDREDTHS else "")

    @property
    def rule_text(self) -> str:
        return (
            self.bare_rule
            + (f"; {self.better} counts as stronger" if self.better else "")
            + (f"; clear of {self.control_is}" if self.control_is else "")
            + (f"; {self.sample} {self.sample_is} or more" if self.sample > 1 else "")
        )


def read_claims(path: Path, experiment: str) -> list[Claim]:
    """The claims of one experiment's claims.toml, in its order."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return [_claim(row, entry, experiment) for row in data["row"] for entry in row["claims"]]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} does not hold claims: {error}") from error


def _claim(row: dict[str, Any], entry: dict[str, Any], experiment: str) -> Claim:
    name = f"{row['id']}.{entry['id']}"
    _check(f"row {row['id']}", row, {**TEXT_OF_ROW, **TYPES_OF_ROW, "claims": list})
    _check(name, entry, {**TYPES_OF_CLAIM, **TYPES_OF_ROW})
    rules = [key for key in entry if key in RULES]
    if len(rules) != 1:
        raise ValueError(f"{name} needs exactly one of {', '.join(RULES)}, not {len(rules)}")
    (rule,) = rules
    merged = {key: row[key] for key in TYPES_OF_ROW if key in row} | {k: v for k, v in entry.items() if k not in RULES}
    _check_rule(name, rule, merged)
    conditions = [_condition(name, found) for found in merged.pop("comparable_if", [])]
    threshold = 0.5 if rule == "holds" else float(entry[rule])
    stated = {
        "id": name,
        "text": f"{row['text']}: {entry['text']}",
        "requires": tuple(sorted({**row.get("requires", {}), **entry.get("requires", {})}.items())),
        "comparable_if": tuple(conditions),
        "resolution": merged["resolution"] if "resolution" in merged else _resolution(name, rule, threshold, entry),
    }
    of_row = {"row": row["id"], "family": row["family"], "place": row["place"], "of_row": row["text"]}
    return Claim(experiment=experiment, rule=rule, threshold=threshold, **of_row, **(merged | stated))


def _check(name: str, found: dict[str, Any], types: dict[str, Any]) -> None:
    for key, value in found.items():
        if key not in types:
            raise ValueError(f"{name}: {unknown('field', key, types)}")
        if not isinstance(value, types[key]) or (isinstance(value, bool) and types[key] is not bool):
            raise ValueError(f"{name}: {key} cannot be {value!r}")


def _check_rule(name: str, rule: str, fields: dict[str, Any]) -> None:
    """Fields that mean something only together."""
    if rule == "within" and isinstance(fields["published"], str):
        raise ValueError(f"{name}: within needs a published number, not {fields['published']!r}")
    if fields.get("better", "higher") not in ("higher", "lower"):
        raise ValueError(f"{name}: better must be 'higher' or 'lower', not {fields['better']!r}")
    if ("exclusive" in fields) != ("setting" in fields):
        raise ValueError(f"{name}: exclusive and setting go together")
    if ("control" in fields) != ("control_is" in fields):
        raise ValueError(f"{name}: control and control_is, its name in words, go together")
    if "comparable_if" in fields and "not_comparable" not in fields:
        raise ValueError(f"{name}: comparable_if needs not_comparable, the reason shown where it does not hold")
    if "changed" in fields and not re.match(r"\d{4}-\d\d-\d\d: \w", fields["changed"]):
        raise ValueError(f"{name}: changed must be a date and a reason, '2026-11-18: why', not {fields['changed']!r}")


def _condition(name: str, found: dict[str, Any]) -> Condition:
    _check(f"{name}: comparable_if", found, {"value": str, "at_least": NUMBER, "at_most": NUMBER})
    return Condition(**found)


def _resolution(name: str, rule: str, threshold: float, entry: dict[str, Any]) -> float:
    published = entry["published"]
    if rule == "within":
        return threshold
    if rule == "holds":
        return 0.0
    if isinstance(published, str) or published == threshold:
        raise ValueError(f"{name}: {rule} = {threshold:g} needs a resolution, since {published!r} gives none")
    return abs(published - threshold)


@lru_cache(maxsize=1)
def published() -> dict[str, Any]:
    """The paper's curves and tables as data."""
    return json.loads(files("icalgebra").joinpath("published.json").read_text(encoding="utf-8"))
