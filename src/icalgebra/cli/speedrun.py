"""`icalgebra speedrun`: how long a preset takes to 99 % hold-out accuracy, over several seeds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from icalgebra.files import write_json
from icalgebra.train import preset
from icalgebra.train.speedrun import Speedrun, speedrun


@dataclass(frozen=True)
class SpeedrunCommand:
    """Train a preset until its hold-out accuracy on fresh sequences passes the target; several seeds."""

    preset: tyro.conf.Positional[str] = "small"
    seeds: int = 3
    """Seeds 0, 1, …"""
    target: float = 0.99
    n: int = 5000
    """Fresh sequences behind each accuracy."""
    steps: int | None = None
    """Another length of the schedule than the preset's."""
    device: str | None = None
    seed: int = 0
    """The first seed."""
    out: Path | None = None
    """Write the table here as JSON, after every seed."""
    json: bool = False

    def run(self) -> None:
        config = preset(self.preset).with_changes(**({"steps": self.steps} if self.steps else {}))
        runs: list[Speedrun] = []
        for seed in range(self.seed, self.seed + self.seeds):
            runs.append(speedrun(config.with_changes(seed=seed), self.target, self.n, self.device))
            if self.out:
                write_json(
                    self.out, {"preset": self.preset, "target": self.target, "runs": [r.to_dict() for r in runs]}
                )
        if self.json:
            print(json.dumps([run.to_dict() for run in runs]))
        else:
            self._show(runs)

    def _show(self, runs: list[Speedrun]) -> None:
        table = Table(title=f"{self.preset} to {self.target:.0%} hold-out accuracy")
        for heading in ("seed", "accuracy", "steps", "training s", "in all s", "ms a step", "TFLOP/s", "of the chip"):
            table.add_column(heading, justify="right")
        for run in runs:
            interval = f"{run.accuracy.value:.2%} [{run.accuracy.low:.2%}, {run.accuracy.high:.2%}]"
            share = "" if run.share_of_chip is None else f"{run.share_of_chip:.0%}"
            times = (f"{run.training_seconds:.1f}", f"{run.seconds_in_all:.1f}", f"{run.milliseconds_a_step:.1f}")
            table.add_row(str(run.seed), interval, str(run.steps), *times, f"{run.flops_a_second / 1e12:.1f}", share)
        Console().print(table)
