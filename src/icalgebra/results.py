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
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np

from icalgebra import __version__
from icalgebra.atomic_files import read_json, write_json
from icalgebra.errors import InputError, unknown
from icalgebra.records import Count, FileName, argument, not_empty, read
from icalgebra.statistics import Estimate, mean, proportion

DIGITS = 5  # decimals of measured values
TIERS = ("full", "quick")
# Keys of settings, at any depth. They are never rounded: at five decimals a learning rate of 2.5e-6 became 0.
SETTINGS = ("config", "recipe")
# Preset `published` and our run of it keep that name in commands and folders. To a reader "published" is the paper, so
# wherever a model's name is shown, this run has another.
SHOWN_AS = {"published": "rerun"}


def display_name(model: str) -> str:
    """A model's name in text, tables, legends and filters; its seeds follow it: rerun-seed1."""
    name, dash, rest = model.partition("-")
    return SHOWN_AS.get(name, name) + dash + rest


class NotMeasuredError(Exception):
    """A section or a figure needs something that this result does not have."""


class Measured(dict[str, Any]):
    """What a result holds. Asking for a key that is not there says that it was not measured, which is no bug: results
    of other worlds, lengths and versions lack some."""

    def __missing__(self, key: str) -> Any:
        raise NotMeasuredError(key)

    @staticmethod
    def of(value: Any) -> Any:
        """Dictionaries at any depth of plain values."""
        if isinstance(value, dict):
            return Measured({key: Measured.of(item) for key, item in value.items()})
        return [Measured.of(item) for item in value] if isinstance(value, list) else value


class PlainEstimate(TypedDict):
    """As a file has it: null where a number was not finite."""

    value: float | None
    low: float | None
    high: float | None
    n: Count


class PlainCurve(TypedDict):
    x: Annotated[list[float], not_empty]
    y: list[float | None]
    low: list[float | None]
    high: list[float | None]
    n: list[Count]


class Provenance(TypedDict, total=False):
    time: str
    seconds: float
    commit: str | None
    version: str
    python: str
    machine: str


class PlainResult(TypedDict):
    """A result file; experiments/<name>/record.py says what config and details hold."""

    experiment: FileName
    tier: Literal["full", "quick"]
    model: FileName
    seed: int
    config: dict[str, Any]
    command: str
    values: dict[str, PlainEstimate]
    curves: NotRequired[dict[str, PlainCurve]]
    details: NotRequired[dict[str, Any]]
    model_hash: NotRequired[str | None]
    provenance: NotRequired[Provenance]


@dataclass(frozen=True)
class Curve:
    """Values against x, each with its interval and number of observations."""

    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]
    n: list[int]

    def __post_init__(self) -> None:
        if len({len(column) for column in vars(self).values()}) > 1:
            raise InputError("the columns of a curve must have the same length")

    @property
    def estimates(self) -> list[Estimate]:
        return [Estimate(*point) for point in zip(self.y, self.low, self.high, self.n)]

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


@dataclass(frozen=True, repr=False)
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

    def __post_init__(self) -> None:
        for name in ("config", "values", "curves", "details"):
            object.__setattr__(self, name, Measured.of(getattr(self, name)))

    def __repr__(self) -> str:
        counts = f"{len(self.values)} values, {len(self.curves)} curves"
        return f"Result({self.experiment!r}, {self.model!r}, {self.tier} tier, {counts})"

    def _repr_html_(self) -> str:
        """The values with their intervals; shares also as bars."""
        from icalgebra.markup import bar, join, paragraph, table

        rows = [(name, f"{found.value:.4g}", f"{found.low:.4g} to {found.high:.4g}", f"{found.n:,}",
                 bar(found.value) if 0 <= found.value <= 1 else "") for name, found in self.values.items()]  # fmt: skip
        head = ("value", "estimate", "95 % interval", "n", "")
        return join([paragraph(repr(self)), table(head, rows), paragraph(f"made by {self.command}")])

    def as_shown(self) -> Result:
        """Under the name that readers see, for readings and figures."""
        return replace(self, model=display_name(self.model))

    def to_dict(self) -> dict[str, Any]:
        plain = {**vars(self)}
        plain["values"] = {key: estimate.to_dict() for key, estimate in self.values.items()}
        plain["curves"] = {key: vars(curve) for key, curve in self.curves.items()}
        return _plain(plain)

    @staticmethod
    def from_dict(plain: Any, source: object = "a result") -> Result:
        """The inverse of to_dict. A value of null, which was not finite, is left out: it counts as not measured."""
        read(PlainResult, plain, source)
        for name in plain:
            if name not in PlainResult.__annotations__:
                raise InputError(f"{source}: it has an {unknown('field', name, PlainResult.__annotations__)}")
        plain = _renamed(plain)
        values = {key: _estimate(found) for key, found in plain["values"].items() if found["value"] is not None}
        try:
            curves = {key: _curve(found) for key, found in plain.get("curves", {}).items()}
        except InputError as error:
            raise InputError(f"{source}: {error}") from error
        return Result(**{**plain, "values": values, "curves": curves})


def reproduce_command(experiment: str, tier: str, seed: int, about: str = "") -> str:
    """The command that makes a result; `about` holds the options that name its model or runs."""
    return f"icalgebra reproduce --tier {tier} --only {experiment} --seed {seed} {about}".rstrip()


def committed_results() -> Path | None:
    """The folder of the results behind the report: part of an installed package, beside `src` in a clone."""
    package = Path(__file__).parent
    clone = package.parents[1]
    if (package / "committed_results").is_dir():
        return package / "committed_results"
    return clone / "results" if (clone / "pyproject.toml").is_file() and (clone / "results").is_dir() else None


def result_path(folder: Path, tier: str, model: str, experiment: str) -> Path:
    for name, value in (("tier", tier), ("model", model), ("experiment", experiment)):
        argument(FileName, value, name)  # a name with a slash would lead out of the folder
    return folder / tier / model / f"{experiment}.json"


def write_result(folder: Path, result: Result) -> Path:
    """Write folder/<tier>/<model>/<experiment>.json atomically; returns its path."""
    path = result_path(folder, result.tier, result.model, result.experiment)
    write_json(path, result.to_dict())
    return path


def read_result(path: Path) -> Result:
    """Read one result file; InputError names the field that is wrong."""
    return Result.from_dict(read_json(path), path)


def result_paths(folder: Path, experiments: Collection[str]) -> list[Path]:
    """The results of some experiments in a folder, which may hold other JSON files: their paths tell them apart."""
    paths = [path for tier in TIERS for path in sorted(folder.glob(f"{tier}/*/*.json"))]
    return [path for path in paths if path.stem in experiments]


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


def _estimate(found: PlainEstimate) -> Estimate:
    value, low, high = (float(_number(found[name])) for name in ("value", "low", "high"))
    return Estimate(value, low, high, found["n"])


def _curve(found: PlainCurve) -> Curve:
    y, low, high = ([_number(value) for value in found[name]] for name in ("y", "low", "high"))
    return Curve(found["x"], y, low, high, found["n"])


def _number(value: float | None) -> float:
    return math.nan if value is None else value
