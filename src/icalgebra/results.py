"""Result files: written by experiments, read by figures and report.

results/<tier>/<model>/<experiment>.json; <model> is `data` where no model takes part. Commit, time and machine are in a
`provenance` block; everything outside it is the same for the same seed.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from icalgebra import __version__
from icalgebra.atomic_files import read_json, write_json
from icalgebra.errors import InputError
from icalgebra.statistics import Estimate, mean, proportion

DIGITS = 5  # decimals of measured values
TIERS = ("full", "quick")
# Keys of settings, at any depth. They are never rounded: at five decimals a learning rate of 2.5e-6 became 0.
SETTINGS = ("config", "recipe")


@dataclass(frozen=True)
class Curve:
    """Values against x, each with its interval and number of observations."""

    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]
    n: list[int]

    @staticmethod
    def from_estimates(x: Iterable[float | int], estimates: Sequence[Estimate]) -> Curve:
        columns = zip(*[(e.value, e.low, e.high, e.n) for e in estimates], strict=True)
        y, low, high, n = (list(column) for column in columns)
        return Curve(list(x), y, low, high, n)

    def at(self, xs: Iterable[float | int]) -> Curve:
        """Only the points at the given x."""
        wanted = set(xs)
        kept = [i for i, x in enumerate(self.x) if x in wanted]
        return Curve(*([column[i] for i in kept] for column in vars(self).values()))

    @staticmethod
    def from_means(values: np.ndarray, x: Iterable[float | int]) -> Curve:
        """The mean of each column, against x."""
        return Curve.from_estimates(x, [mean(column) for column in np.asarray(values).T])

    @staticmethod
    def from_hits(hits: np.ndarray, x: Iterable[float | int]) -> Curve:
        """The proportion of hits in each column, against x."""
        return Curve.from_estimates(x, [proportion(float(column.sum()), len(column)) for column in np.asarray(hits).T])


@dataclass(frozen=True)
class Result:
    """One experiment's values (each with n and a 95 % interval), curves and details, and how they were obtained."""

    experiment: str
    tier: str
    model: str
    seed: int
    config: dict[str, Any]
    command: str
    values: dict[str, Estimate]
    curves: dict[str, Curve] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    model_hash: str | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        plain = {**vars(self)}
        plain["values"] = {key: estimate.to_dict() for key, estimate in self.values.items()}
        plain["curves"] = {key: vars(curve) for key, curve in self.curves.items()}
        return _plain(plain)

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> Result:
        """The inverse of to_dict. A value of null, which was not finite, is left out: it counts as not measured."""
        plain = _renamed(plain)
        finite = {key: value for key, value in plain["values"].items() if value["value"] is not None}
        values = {key: Estimate(**{name: _number(x) for name, x in value.items()}) for key, value in finite.items()}
        curves = {
            key: Curve(**{name: [_number(x) for x in column] for name, column in curve.items()})
            for key, curve in plain["curves"].items()
        }
        return Result(**{**plain, "values": values, "curves": curves})


def reproduce_command(experiment: str, tier: str, seed: int, about: str = "") -> str:
    """The command that makes a result; `about` holds the options that name its model or runs."""
    return f"icalgebra reproduce --tier {tier} --only {experiment} --seed {seed} {about}".rstrip()


def result_path(folder: Path, tier: str, model: str, experiment: str) -> Path:
    return folder / tier / model / f"{experiment}.json"


def write_result(folder: Path, result: Result) -> Path:
    """Write folder/<tier>/<model>/<experiment>.json atomically; returns its path."""
    path = result_path(folder, result.tier, result.model, result.experiment)
    write_json(path, result.to_dict())
    return path


def read_result(path: Path) -> Result:
    """Read one result file; InputError says what is wrong with a file that is not a result."""
    try:
        return Result.from_dict(read_json(path))
    except (AttributeError, TypeError, KeyError) as error:
        raise InputError(f"{path} is not a result file: {error}") from error


def read_results(folder: Path, experiments: Collection[str] | None = None) -> list[Result]:
    """All results in a folder, or those of some experiments.

    A user's folder may hold other JSON files: results are recognised by their paths, and a damaged one is an error.
    """
    paths = [path for tier in TIERS for path in sorted(folder.glob(f"{tier}/*/*.json"))]
    return [read_result(path) for path in paths if experiments is None or path.stem in experiments]


def provenance(seconds: float, device: str = "cpu") -> dict[str, Any]:
    """Where, when and how long: the part of a result that differs between equal runs."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 2),
        "commit": _commit(),
        "version": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores" + (f", {device}" if device != "cpu" else ""),
    }


def _commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _renamed(plain: dict[str, Any]) -> dict[str, Any]:
    """Older files of subspaces and probes call the cancellation set "elimination"."""
    if plain["experiment"] not in ("subspaces", "probes"):
        return plain
    return json.loads(json.dumps(plain).replace("elimination", "cancellation"))


def _plain(value: Any, measured: bool = True) -> Any:
    """A value as JSON: measured floats are rounded, and null where not finite; settings stay unchanged."""
    if isinstance(value, dict):
        return {str(key): _plain(item, measured and key not in SETTINGS) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, measured) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if not measured or not isinstance(value, float):
        return value
    return round(value, DIGITS) if math.isfinite(value) else None


def _number(value: Any) -> Any:
    return math.nan if value is None else value
