"""The description of a sweep: a small TOML or JSON file.

    preset = "fast"             # or config = "file.json", beside this file
    seeds = [0]                 # the default
    fixed = { steps = 2500 }    # changes to every run
    [grid]                      # every combination
    n_layers = [2, 4]
    n_heads = [2, 8]
    [[runs]]                    # further runs, optionally with their own seeds
    d_model = 128
    seeds = [0, 1, 2]
    [evaluate.p7]               # additional evaluations of every finished model
    p_mix = 0.7

A config that is described several times is trained once.
"""

from __future__ import annotations

import json
import tomllib
from itertools import product
from pathlib import Path
from typing import Any, TypedDict

from icalgebra.atomic_files import read_text
from icalgebra.errors import InputError, shortened, unknown
from icalgebra.records import read
from icalgebra.sweep.manifest import Changes, Entry, distinct, read_manifest
from icalgebra.train.config import TrainConfig
from icalgebra.train.presets import preset


class Description(TypedDict, total=False):
    preset: str
    config: str
    seeds: list[int]
    fixed: dict[str, Any]
    grid: dict[str, list[Any]]
    runs: list[dict[str, Any]]
    evaluate: dict[str, dict[str, Any]]


READERS = {".toml": tomllib.loads, ".json": json.loads}


def load_sweep(path: Path) -> list[Entry]:
    """The runs of a description (.toml, .json) or of a manifest (.jsonl)."""
    text = read_text(path)
    try:
        entries = read_manifest(text) if path.suffix == ".jsonl" else distinct(expand(_parsed(path, text), path.parent))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if not entries:
        raise InputError(f"{path} describes no runs")
    return entries


def expand(description: Changes, beside: Path) -> list[Entry]:
    """Every run described, in the order of the file: the grid, then the single runs."""
    _check(description)
    base = _base(description, beside).with_changes(**_without_seed(description.get("fixed", {})))
    default_seeds = _seeds(description.get("seeds", [0]))
    evaluate = description.get("evaluate", {})
    return [
        Entry(base.with_changes(**changes, seed=seed), evaluate)
        for changes, seeds in [*_grid(description), *_runs(description)]
        for seed in (default_seeds if seeds is None else seeds)
    ]


def _parsed(path: Path, text: str) -> Any:
    if path.suffix not in READERS:
        raise InputError("a sweep is a description (.toml or .json) or a manifest (.jsonl)")
    try:
        return READERS[path.suffix](text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is not {path.suffix[1:].upper()}: {error}") from error


def _check(description: Any) -> None:
    if not isinstance(description, dict):
        raise InputError("expected an object with preset, grid, …")
    for key in description:
        if key not in Description.__annotations__:
            raise unknown("key", key, Description.__annotations__)
    read(Description, description, "the description")


def _base(description: Changes, beside: Path) -> TrainConfig:
    if ("preset" in description) == ("config" in description):
        raise InputError("name either a preset or a config file")
    if "preset" in description:
        return preset(description["preset"])
    return TrainConfig.load(beside / description["config"])


def _grid(description: Changes) -> list[tuple[Changes, None]]:
    grid = _without_seed(description.get("grid", {}))
    if not grid and description.get("runs"):
        return []
    return [(dict(zip(grid, values)), None) for values in product(*grid.values())]


def _runs(description: Changes) -> list[tuple[Changes, list[int] | None]]:
    found = []
    for run in description.get("runs", []):
        changes = _without_seed({field: value for field, value in run.items() if field != "seeds"})
        found.append((changes, _seeds(run["seeds"]) if "seeds" in run else None))
    return found


def _seeds(seeds: Any) -> list[int]:
    if not isinstance(seeds, list) or not seeds or any(type(seed) is not int for seed in seeds):
        raise InputError(f"seeds must be a list of integers, not {shortened(seeds)}")
    return seeds


def _without_seed(changes: Changes) -> Changes:
    """Seeds are given as `seeds` only, so that a run's seed is never stated twice."""
    if "seed" in changes:
        raise InputError("give seeds = [0, 1, …] instead of seed")
    return changes
