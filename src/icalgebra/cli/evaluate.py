"""`icalgebra eval`: every evaluation of a model, with intervals."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rich.table import Table

from icalgebra.cli.common import MaybeInt, MaybeText, ModelName, console, progress
from icalgebra.model.checkpoints import Checkpoint, find_checkpoint
from icalgebra.statistics import Estimate
from icalgebra.train.config import TrainConfig
from icalgebra.train.distributed import choose_device
from icalgebra.train.evaluation import Evaluations


@dataclass(frozen=True)
class Evaluate:
    """Measure a model: hold-out in three variants, the five distributions, closure, structural tokens, loss by slot."""

    model: ModelName = "small"
    """A shipped model's name, a run folder, a checkpoint folder or a .safetensors file."""
    n: int = 1000
    """Sequences per evaluation."""
    facts: MaybeInt = None
    """Facts per sequence, the query included; by default as many as in training."""
    seed: int = 1
    """Seed of the evaluation streams. Evaluations during training use the run's own seed."""
    device: MaybeText = None
    """cpu, cuda, …; CUDA by default where there is one."""
    json: bool = False
    """The estimates as one JSON object."""

    def run(self) -> None:
        checkpoint = find_checkpoint(self.model)
        config = TrainConfig.from_dict(checkpoint.config)
        n_facts = config.n_facts if self.facts is None else self.facts
        evaluations = Evaluations(config.world, n_facts, self.n, config.eval_facts, self.seed)
        model = checkpoint.model(choose_device(self.device))
        measured = evaluations(model, lambda names: progress(names, len(names), "evaluating"))
        self._print(checkpoint, measured)

    def _print(self, checkpoint: Checkpoint, measured: dict[str, Estimate]) -> None:
        if self.json:
            values = {name: estimate.to_dict() for name, estimate in measured.items()}
            print(json.dumps({"model": str(checkpoint.path), "step": checkpoint.step, "evaluations": values}))
            return
        step = f" (step {checkpoint.step})" if checkpoint.step else ""  # a single weights file does not say its step
        table = Table("evaluation", "value", "95 % interval", "n", title=f"{checkpoint.path}{step}")
        for name, estimate in measured.items():
            table.add_row(name, *_cells(name, estimate), f"{estimate.n:,}")
        console().print(table)


def _cells(name: str, estimate: Estimate) -> tuple[str, str]:
    shown = "{:.3f}" if name.startswith("loss/") else "{:.1%}"
    return shown.format(estimate.value), f"{shown} – {shown}".format(estimate.low, estimate.high)
