"""`icalgebra import`: a model from Hugging Face, or a checkpoint that the paper's authors released."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from icalgebra.cli.common import MaybeInt


@dataclass(frozen=True)
class Import:
    """Write a checkpoint folder, which every other command takes as its model."""

    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")]
    """A folder of transformers (Starcoder2 or GPT-NeoX), a released run folder, or a .pt file inside one."""
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """The checkpoint folder to write; it must not exist yet."""
    step: MaybeInt = None
    """Which checkpoint of a released run; by default its best."""
    json: bool = False
    """What was found and measured, as one JSON object."""

    def run(self) -> None:
        from icalgebra.bridges.importing import import_model

        found = import_model(self.source, self.out, self.step)
        if self.json:
            print(json.dumps(found))
            return
        print(f"{self.out}: {found['parameters']:,} parameters; use it as --model {self.out}")
        if "accuracy" in found:
            accuracy, n = found["accuracy"]["value"], found["accuracy"]["n"]
            print(f"hold-out accuracy at 50 facts: {accuracy:.1%} of {n}")
            print(f"probability of tokens that were dropped (unused rows): {found['dropped_mass']:.1e} on average")
