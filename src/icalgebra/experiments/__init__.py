"""One folder per question. The folder is the registration: whatever holds an experiment.toml is an experiment.

experiment.toml     title, place on the page, what it is about, seconds, settings of the two tiers
claims.toml         what the paper claims, with the rule of each verdict
record.py           Config and Details: what its results hold, checked when one is read
measure.py          run(tier, seed, …) -> Result: acts on data, a model or finished runs
reading.py          read(values) -> Reading: every number, threshold and decision that the words use
figures.py          FIGURES: functions from a Result to a matplotlib figure
section.html.jinja  the words of its section on the page

This module, record.py, reading.py and figures.py import no torch: the report only reads files. Folders of your own are
found through the environment variable ICALGEBRA_EXPERIMENTS (folders that hold experiment folders, joined as in PATH).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from icalgebra.claims import Claim, read_claims
from icalgebra.errors import InputError, unknown
from icalgebra.records import read
from icalgebra.results import Result, read_result

__path__ += [folder for folder in os.environ.get("ICALGEBRA_EXPERIMENTS", "").split(os.pathsep) if folder]


@dataclass(frozen=True)
class Experiment:
    """A question. seconds: its quick tier on two CPU cores."""

    name: str
    folder: Path
    title: str
    order: float  # its place among the others, when they run and on the page
    about: Literal["data", "model", "runs"]  # what run() gets besides tier, seed and settings
    seconds: float
    quick: dict[str, Any]
    full: dict[str, Any]
    inside: bool = False  # it looks inside a model, so `icalgebra interp` offers it

    def settings(self, tier: str) -> dict[str, Any]:
        return self.quick if tier == "quick" else self.full

    @property
    def can_run(self) -> bool:
        """A section may also stand on results that another command writes, as `icalgebra speedrun` does."""
        return (self.folder / "measure.py").is_file()

    @property
    def needs_runs(self) -> bool:
        return self.about == "runs"

    def part(self, name: str) -> ModuleType:
        """measure, reading or figures: imported when it is needed."""
        return import_module(f"{__name__}.{self.name}.{name}")

    @property
    def figures(self) -> tuple[Callable[..., Any], ...]:
        return self.part("figures").FIGURES if (self.folder / "figures.py").is_file() else ()

    def claims(self) -> list[Claim]:
        path = self.folder / "claims.toml"
        return read_claims(path, self.name) if path.is_file() else []


def _found() -> dict[str, Experiment]:
    """By their place on the page."""
    files = [path for folder in __path__ for path in Path(folder).glob("*/experiment.toml")]
    read = [read_entry(path) for path in files]
    return {item.name: item for item in sorted(read, key=lambda item: (item.order, item.name))}


def read_entry(path: Path) -> Experiment:
    """An experiment.toml; its folder's name is the experiment's."""
    try:
        entry = tomllib.loads(path.read_text(encoding="utf-8"))
        for tier in ("quick", "full"):
            entry[tier] = {key: _setting(value) for key, value in entry.get(tier, {}).items()}
        return Experiment(path.parent.name, path.parent, **{"seconds": 0, **entry})
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise InputError(f"{path} does not describe an experiment: {error}") from error


def _setting(value: Any) -> Any:
    """Lists become tuples; {from = 2, to = 200} is all whole numbers from 2 to 200."""
    if isinstance(value, dict):
        return tuple(range(value["from"], value["to"] + 1))
    return tuple(value) if isinstance(value, list) else value


EXPERIMENTS = _found()


def experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def read_checked(path: Path) -> Result:
    """A result file whose config and details are checked against its experiment's record.py, where it has one."""
    result = read_result(path)
    stated = (result.tier, result.model, result.experiment)
    if stated != (path.parent.parent.name, path.parent.name, path.stem):
        raise InputError(f"{path}: it was moved or renamed: it is the result {'/'.join(stated)}.json")
    known = experiment(result.experiment)
    if not (known.folder / "record.py").is_file():
        return result
    kinds = vars(known.part("record"))
    for name in ("config", "details"):
        read(kinds.get(name.capitalize(), dict[str, Any]), getattr(result, name), f"{path}, {name}")
    return result


@lru_cache(maxsize=1)
def load_claims() -> tuple[Claim, ...]:
    """Every claim of every experiment, in the order of the page."""
    return tuple(claim for item in EXPERIMENTS.values() for claim in item.claims())


def claim(claim_id: str) -> Claim:
    found = {item.id: item for item in load_claims()}
    if claim_id not in found:
        raise unknown("claim", claim_id, found)
    return found[claim_id]
