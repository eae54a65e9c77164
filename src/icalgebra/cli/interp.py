"""`icalgebra interp`: one interpretability experiment on any model; figures and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.table import Table

from icalgebra.atomic_files import write_json, write_text
from icalgebra.cli.common import MaybeText, ModelName, console, working
from icalgebra.errors import unknown
from icalgebra.experiments import EXPERIMENTS, experiment
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.loaded_model import load_with_config
from icalgebra.experiments.shared.readings import published_text
from icalgebra.language.world import is_papers_world
from icalgebra.results import Result
from icalgebra.train.distributed import choose_device
from icalgebra.verdicts import decide

INSIDE = {name: item for name, item in EXPERIMENTS.items() if item.inside}
CHOICES = f"One of {', '.join(INSIDE)}."


@dataclass(frozen=True)
class Interp:
    """Run one interpretability experiment on any model: values beside the published ones, verdicts, figures."""

    what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WHAT", help=CHOICES)]
    model: ModelName = "small"
    """A shipped model's name, a run folder, a checkpoint folder or a .safetensors file."""
    out: Path = Path("build/interp")
    """Where the JSON and the figures (SVG) go."""
    tier: Literal["quick", "full"] = "quick"
    """quick: about a minute on two CPU cores; full: the paper's sample sizes."""
    seed: int = 0
    device: MaybeText = None
    """cpu, cuda, …; CUDA by default where there is one."""
    json: bool = False
    """The values as one JSON object."""

    def run(self) -> None:
        if self.what not in INSIDE:
            raise unknown("experiment", self.what, INSIDE)
        loaded = load_with_config(self.model, choose_device(self.device))
        with working(f"{INSIDE[self.what].title} ({loaded.name}, {self.tier} tier)"):
            result = run_experiment(self.what, self.tier, self.seed, loaded)
            files = self._write(result)
        if self.json:
            print(json.dumps({"files": [str(path) for path in files], **result.to_dict()}))
            return
        console().print(_roles(result) if self.what == "heads" else _beside_published(result))
        for path in files:
            print(f"wrote {path}")

    def _write(self, result: Result) -> list[Path]:
        from icalgebra.report.drawings import drawings

        write_json(self.out / f"{self.what}.json", result.to_dict())
        files = [self.out / f"{self.what}.json"]
        for name, drawing in drawings(experiment(self.what), result).items():
            files.append(self.out / f"{self.what}-{name}.svg")
            write_text(files[-1], drawing)
        return files


def _roles(result: Result) -> Table:
    table = Table("role", "heads, best first", "best score", "95 % interval", title=f"roles in {result.model}")
    for role, found in result.details["roles"].items():
        best = result.values[f"role.{role.replace(' ', '_')}"]
        table.add_row(role, ", ".join(found["heads"]), f"{best.value:.2f}", f"{best.low:.2f} – {best.high:.2f}")
    return table


def _beside_published(result: Result) -> Table:
    table = Table("claim", "what", "published", "ours", "95 % interval", "verdict", title=f"{result.model}")
    notes: list[str] = []
    judged = is_papers_world(result.config)
    for claim in experiment(result.experiment).claims():
        ours = claim.measure(result)
        if ours is not None:
            interval = f"{ours.low:.2f} – {ours.high:.2f}"
            table.add_row(
                claim.id,
                claim.text,
                published_text(claim),
                f"{ours.value:.2f}",
                interval,
                decide(claim, result).verdict if judged else "not judged",
            )
            notes += [f"{claim.id}: {claim.note}"] if claim.note else []
    if not judged:
        notes = ["trained on another world than the paper's: shown, not judged"]
    table.caption = "\n".join(notes)
    return table
