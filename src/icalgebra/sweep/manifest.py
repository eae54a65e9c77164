"""The manifest: one frozen run per line, with an id that depends on its config alone and a readable name."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from icalgebra.atomic_files import write_text
from icalgebra.errors import InputError, shortened, unknown
from icalgebra.language.world import WORLD_FIELDS, current_names
from icalgebra.records import argument
from icalgebra.train.config import RENAMED, TrainConfig

MANIFEST = "manifest.jsonl"
LINE = ("id", "name", "config", "evaluate")
# What an additional evaluation may change. Not the alphabet: it is part of the model.
EVALUATION_FIELDS = (*(f for f in WORLD_FIELDS if f != "n_variables"), "n_facts", "seed", "eval_n", "eval_facts")
FIRST_NAMES = {new: old for old, new in RENAMED.items()}

Changes = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """One run of a sweep, and the additional settings under which its finished model is evaluated."""

    config: TrainConfig
    evaluate: dict[str, Changes]
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "evaluate", current_evaluations(self.evaluate))
        self.evaluation_configs  # noqa: B018 (building them checks the fields)

    @cached_property
    def id(self) -> str:
        """A hash of what differs from the defaults, under the fields' first names, so that a finished run keeps its id
        when a later version adds or renames a field."""
        default, own = TrainConfig().to_dict(), self.config.to_dict()
        differing = {FIRST_NAMES.get(field, field): own[field] for field in own if own[field] != default[field]}
        frozen = json.dumps(differing, sort_keys=True)
        return hashlib.sha256(frozen.encode()).hexdigest()[:12]

    @cached_property
    def evaluation_configs(self) -> dict[str, TrainConfig]:
        for changes in self.evaluate.values():
            for field in changes:
                if field not in EVALUATION_FIELDS:
                    raise unknown("evaluation field", field, EVALUATION_FIELDS)
        return {name: self.config.with_changes(**changes) for name, changes in self.evaluate.items()}

    def folder(self, out: Path) -> Path:
        """Named by id, so that an extended sweep finds the runs that are already done."""
        return out / "runs" / self.id

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "config": self.config.to_dict(), "evaluate": self.evaluate}

    @staticmethod
    def from_dict(values: Any) -> Entry:
        if not isinstance(values, dict) or set(values) != set(LINE):
            raise InputError(f"expected an object with {', '.join(LINE)}")
        argument(str, values["name"], "name")
        entry = Entry(TrainConfig.from_dict(values["config"]), values["evaluate"], values["name"])
        if entry.id != values["id"]:
            raise InputError(
                f"its config was changed: {values['id']} is not its id; write a new manifest from the description"
            )
        return entry


def current_evaluations(evaluate: Any) -> dict[str, Changes]:
    """The additional evaluations of a run, with their fields under the current names."""
    if not isinstance(evaluate, dict) or not all(isinstance(changes, dict) for changes in evaluate.values()):
        raise InputError(f"evaluate must be a table of tables of fields, not {shortened(evaluate)}")
    return {name: current_names(changes, RENAMED) for name, changes in evaluate.items()}


def distinct(entries: list[Entry]) -> list[Entry]:
    """Each config once, in the order of first mention, named by the fields that vary."""
    once = list({entry.id: entry for entry in entries}.values())
    fields = varying_fields(once)
    return [replace(entry, name=_name(entry, fields)) for entry in once]


def chosen(entries: list[Entry], words: tuple[str, ...]) -> list[Entry]:
    """The runs whose name contains all these words."""
    found = [entry for entry in entries if set(words) <= set(entry.name.split())]
    if not found:
        raise InputError(f"no run is called {' '.join(words)}; the first is {entries[0].name}")
    return found


def varying_fields(entries: list[Entry]) -> list[str]:
    configs = [entry.config.to_dict() for entry in entries]
    first = configs[0] if configs else {}
    return [field for field in first if any(config[field] != first[field] for config in configs)]


def _name(entry: Entry, fields: list[str]) -> str:
    values = entry.config.to_dict()
    shown = {field: ",".join(map(str, v)) if isinstance(v := values[field], list) else str(v) for field in fields}
    return " ".join(f"{field}={value}" for field, value in shown.items()) or "the only run"


def write_manifest(out: Path, entries: list[Entry]) -> Path:
    path = out / MANIFEST
    write_text(path, "".join(json.dumps(entry.to_dict()) + "\n" for entry in entries))
    return path


def read_manifest(text: str) -> list[Entry]:
    entries = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            entries.append(Entry.from_dict(json.loads(line)))
        except (ValueError, RecursionError) as error:  # InputError is a ValueError
            raise InputError(f"line {number}: {error}") from error
    return entries
