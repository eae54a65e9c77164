"""`icalgebra export`: a model as a folder for Hugging Face's transformers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from icalgebra.cli.common import MaybeText


@dataclass(frozen=True)
class Export:
    """Write weights, config, tokenizer and model card; the folder appears once its logits agree with the model's."""

    model: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
    """A shipped model's name, a run folder, a checkpoint folder or a .safetensors file."""
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """The folder to write; it must not exist yet."""
    architecture: Literal["starcoder2", "gpt-neox"] = "starcoder2"
    """The architecture of transformers. Both hold the same weights; TransformerLens reads Starcoder2."""
    name: MaybeText = None
    """The title of the model card; by default the model's name."""
    json: bool = False
    """The folder and the largest difference of a logit, as one JSON object."""

    def run(self) -> None:
        from icalgebra.bridges.huggingface import to_huggingface

        difference = to_huggingface(self.model, self.out, self.architecture, self.name or "")
        if self.json:
            found = {"folder": str(self.out), "architecture": self.architecture, "logit_difference": difference}
            print(json.dumps(found))
            return
        print(f"{self.out}: {self.architecture}; logits at 1000 tokens differ by at most {difference:.1e}")
