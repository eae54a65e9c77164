"""`icalgebra train`: start a run by a preset or a config file, or go on with one."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

from icalgebra.algebra.structures import split_names
from icalgebra.cli.common import OPTION_NAMES, MaybePath, MaybeText, read_table
from icalgebra.errors import InputError
from icalgebra.train import TrainConfig, preset, train
from icalgebra.train.loop import TrainResult
from icalgebra.train.presets import PRESETS


def _overrides() -> type:
    """A dataclass of all config fields, each left alone unless given."""
    hints = get_type_hints(TrainConfig)

    def left_alone(name: str, help: str) -> tuple[str, Any, Any]:
        shown = tyro.conf.arg(
            name=OPTION_NAMES.get(name, name), help=help, metavar=_metavar(hints[name]), help_behavior_hint=""
        )
        return name, Annotated[hints[name] | None, shown], field(default=None)

    options = [left_alone(item.name, item.metadata["help"]) for item in fields(TrainConfig)]
    return make_dataclass("Overrides", options, frozen=True)


def _metavar(kind: Any) -> str:
    """What the help shows for a value of this type."""
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    if get_origin(kind) is tuple:
        return f"{get_args(kind)[0].__name__.upper()} …"
    return "True|False" if kind is bool else kind.__name__.upper()


Overrides: Any = _overrides()
KNOWN = ", ".join(PRESETS)
PresetName = Annotated[
    tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[PRESET]", help=f"One of {KNOWN}.", help_behavior_hint="")
]


@dataclass(frozen=True)
class Train(Overrides):
    """Train a model: a preset, with any field changed, or go on with a run."""

    preset: PresetName = None
    table: MaybePath = None
    """A Cayley table of your own (CSV or JSON), added to --structures or used alone."""
    out: MaybePath = None
    """The new run folder: config.json, metrics.jsonl, checkpoints."""
    resume: MaybePath = None
    """Go on with this run folder from its newest sound checkpoint."""
    config: MaybePath = None
    """A JSON file of fields instead of a preset."""
    device: MaybeText = None
    """cpu, cuda, cuda:1, …; CUDA where there is one unless told."""
    json: bool = False
    """The result as one JSON object."""

    def run(self) -> None:
        changes = {item.name: getattr(self, item.name) for item in fields(TrainConfig)}
        changes = {name: value for name, value in changes.items() if value is not None} | self._structures()
        if self.resume is not None:
            if changes or self.preset or self.config or self.out:
                raise InputError("--resume goes on with the run's own config: give it nothing but --device")
            result = train(resume=self.resume, device=self.device, progress=True)
        else:
            result = self._started(self._chosen().with_changes(**changes), self._out())
        self._print(result)

    def _started(self, config: TrainConfig, out: Path) -> TrainResult:
        try:
            return train(config, out, device=self.device, progress=True)
        except KeyboardInterrupt:
            if (out / "config.json").exists():
                print(f"icalgebra: what is done is kept; icalgebra train --resume {out} goes on", file=sys.stderr)
            raise

    def _structures(self) -> dict[str, tuple[str, ...]]:
        """Names, with blanks or commas between them; the user's own table is written out, so that the config has it."""
        named = split_names(",".join(self.structures or ()))
        own = (read_table(self.table).written_out,) if self.table is not None else ()
        return {"structures": named + own} if self.structures is not None or own else {}

    def _chosen(self) -> TrainConfig:
        if self.preset is not None and self.config is None:
            return preset(self.preset)
        if self.config is not None and self.preset is None:
            return TrainConfig.load(self.config)
        raise InputError(f"name a preset ({KNOWN}) or give --config FILE: one of them")

    def _out(self) -> Path:
        if self.out is None:
            raise InputError("--out RUN says where the run folder goes")
        return self.out

    def _print(self, result: TrainResult) -> None:
        if not result.final:
            return  # this is not the leading rank
        final = {name: value for name, value in result.final.items() if isinstance(value, float)}
        if self.json:
            print(json.dumps({"run": str(result.run), "step": result.step, "seconds": result.seconds, **final}))
            return
        print(f"{result.run}: {result.step} steps in {result.seconds:.1f} s, hold-out {final['holdout']:.1%}")
