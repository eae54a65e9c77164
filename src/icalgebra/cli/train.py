"""`icalgebra train`: start a run from a preset or a config file, or resume one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

from icalgebra.algebra.structures import split_names
from icalgebra.cli.common import OPTION_NAMES, MaybePath, MaybeText, read_table
from icalgebra.cli.estimates import check_time_without_gpu
from icalgebra.errors import InputError, warn
from icalgebra.train import TrainConfig, preset, train
from icalgebra.train.loop import TrainResult
from icalgebra.train.presets import PRESETS


def _overrides() -> type:
    """A dataclass of all config fields, each None (keep the preset's value) by default."""
    hints = get_type_hints(TrainConfig)

    def option(name: str, help: str) -> tuple[str, Any, Any]:
        shown = tyro.conf.arg(
            name=OPTION_NAMES.get(name, name), help=help, metavar=_metavar(hints[name]), help_behavior_hint=""
        )
        return name, Annotated[hints[name] | None, shown], field(default=None)

    options = [option(item.name, item.metadata["help"]) for item in fields(TrainConfig)]
    return make_dataclass("Overrides", options, frozen=True)


def _metavar(kind: Any) -> str:
    """What the help shows for a value of this type."""
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    if get_origin(kind) is tuple:
        return f"{_item_metavar(get_args(kind)[0])} …"
    return "True|False" if kind is bool else kind.__name__.upper()


def _item_metavar(kind: Any) -> str:
    return " ".join(map(_item_metavar, get_args(kind))) if get_origin(kind) is tuple else kind.__name__.upper()


Overrides: Any = _overrides()
KNOWN = ", ".join(PRESETS)
PresetName = Annotated[
    tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[PRESET]", help=f"One of {KNOWN}.", help_behavior_hint="")
]


@dataclass(frozen=True)
class Train(Overrides):
    """Train a model from a preset, with any field changed, or resume a run."""

    preset: PresetName = None
    table: MaybePath = None
    """A Cayley table of your own (CSV or JSON), added to --structures or used alone."""
    out: MaybePath = None
    """The new run folder: config.json, metrics.jsonl, checkpoints."""
    resume: MaybePath = None
    """Resume this run folder from its newest valid checkpoint."""
    config: MaybePath = None
    """A JSON file of config fields, instead of a preset."""
    device: MaybeText = None
    """cpu, cuda, cuda:1, …; CUDA by default where there is one."""
    json: bool = False
    """The result as one JSON object."""

    def run(self) -> None:
        changes = {item.name: getattr(self, item.name) for item in fields(TrainConfig)}
        changes = {name: value for name, value in changes.items() if value is not None} | self._structures()
        if self.resume is not None:
            if changes or self.preset or self.config or self.out:
                raise InputError("--resume uses the saved config; only --device may be added")
            result = train(resume=self.resume, device=self.device, progress=True)
        else:
            result = self._train_new(self._base_config().with_changes(**changes), self._out())
        self._print(result)

    def _train_new(self, config: TrainConfig, out: Path) -> TrainResult:
        check_time_without_gpu([config], self.device, f"the preset {self.preset}" if self.preset else str(self.config))
        try:
            return train(config, out, device=self.device, progress=True)
        except KeyboardInterrupt:
            if (out / "config.json").exists():
                warn(f"the run is kept; continue it with icalgebra train --resume {out}")
            raise

    def _structures(self) -> dict[str, tuple[str, ...]]:
        """Names, separated by spaces or commas. The user's own table is written out, to be part of config.json."""
        named = split_names(",".join(self.structures or ()))
        own = (read_table(self.table).written_out,) if self.table is not None else ()
        return {"structures": named + own} if self.structures is not None or own else {}

    def _base_config(self) -> TrainConfig:
        if self.preset is not None and self.config is None:
            return preset(self.preset)
        if self.config is not None and self.preset is None:
            return TrainConfig.load(self.config)
        raise InputError(f"name a preset ({KNOWN}) or give --config FILE, one of the two")

    def _out(self) -> Path:
        if self.out is None:
            raise InputError("give --out RUN, the new run folder")
        return self.out

    def _print(self, result: TrainResult) -> None:
        if not result.final:
            return  # not the leading rank, which alone prints
        final = {name: value for name, value in result.final.items() if isinstance(value, float)}
        if self.json:
            print(json.dumps({"run": str(result.run), "step": result.step, "seconds": result.seconds, **final}))
            return
        print(f"{result.run}: {result.step} steps in {result.seconds:.1f} s, hold-out {final['holdout']:.1%}")
