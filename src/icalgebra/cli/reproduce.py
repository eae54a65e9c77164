"""`icalgebra reproduce`: run the experiments of a tier and write the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.table import Table

from icalgebra.cli.common import MaybeText, console
from icalgebra.errors import InputError, warn
from icalgebra.experiments import EXPERIMENTS, experiment
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.loaded_model import LoadedModel, Runs, load_with_config
from icalgebra.results import committed_results, write_result
from icalgebra.train.distributed import choose_device

EXPLORE = ".venv/bin/icalgebra explore"  # from the clone, where `make reproduce` has installed it


@dataclass(frozen=True)
class Reproduce:
    """Measure the paper's numbers again and put them beside the published ones in one HTML page."""

    tier: Literal["quick", "full"] = "quick"
    """quick: minutes on two CPU cores; full: the sample sizes of the committed results."""
    only: MaybeText = None
    """One experiment by name; the rest of the page comes from earlier results."""
    list: bool = False
    """List the experiments and their questions; nothing is measured."""
    out: Path = Path("build/report")
    """Where results and page go."""
    alone: bool = False
    """The page shows this run alone, without the committed results; it is written much faster."""
    seed: int = 0
    model: str = "small"
    """The model to measure: a shipped model's name, a run folder, a checkpoint folder or a .safetensors file."""
    runs: tuple[str, ...] = ()
    """Finished runs, for --only dynamics (run folders, one per seed), architecture or mixing (a sweep's folder)."""
    device: MaybeText = None
    """cpu, cuda, …; CUDA by default where there is one."""
    json: bool = False
    """Print the paths of the page and the results as JSON."""

    def run(self) -> int:
        if self.list:
            _print_list(self.json)
            return 0
        from icalgebra.report.page import build_report

        fresh = self.out / "results"
        written, left_out = self._measure(self._names(), fresh)
        page = build_report(self.out, fresh, None if self.alone else committed_results(), written)
        summary = {"report": str(page), "results": str(fresh), "left_out": left_out}
        print(json.dumps(summary) if self.json else f"report: {page}; to try your own sequences: {EXPLORE}")
        return 1 if left_out else 0

    def _measure(self, names: Sequence[str], fresh: Path) -> tuple[Sequence[Path], dict[str, str]]:
        """The files written, and the experiments that could not run, with the reason; the others run all the same."""
        screen = console(stderr=True)
        if self.tier == "quick":
            expected = sum(EXPERIMENTS[name].seconds for name in names)
            screen.print(f"{len(names)} experiment{'s' * (len(names) > 1)}, about {expected:.0f} s")
        loaded, runs = self._loaded_model(names), Runs(self.runs, choose_device(self.device))
        written = []
        left_out: dict[str, str] = {}
        for i, name in enumerate(names, start=1):
            entry = EXPERIMENTS[name]
            try:
                with screen.status(f"{i}/{len(names)} {name}: {entry.title} (about {entry.seconds:.0f} s)"):
                    result = run_experiment(name, self.tier, self.seed, loaded, runs)
            except InputError as error:
                if len(names) == 1:
                    raise
                left_out[name] = str(error)
                warn(f"{i}/{len(names)} {name}: left out: {error}")
                continue
            written.append(write_result(fresh, result))
            screen.print(f"{i}/{len(names)} {name}: done in {result.provenance['seconds']} s")
        return written, left_out

    def _loaded_model(self, names: Sequence[str]) -> LoadedModel | None:
        if not any(EXPERIMENTS[name].about == "model" for name in names):
            return None
        return load_with_config(self.model, choose_device(self.device))

    def _names(self) -> Sequence[str]:
        if self.only is None:
            return [name for name, found in EXPERIMENTS.items() if found.can_run and not found.needs_runs]
        if not experiment(self.only).needs_runs and self.runs:
            raise InputError(f"{self.only} does not use --runs; leave it out")
        return [self.only]


def _print_list(as_json: bool) -> None:
    chosen = [item for item in EXPERIMENTS.values() if item.can_run]
    if as_json:
        print(json.dumps([{"name": e.name, "title": e.title, "about": e.about, "seconds": e.seconds} for e in chosen]))
        return
    table = Table("experiment", "question", "about", "seconds, quick tier")
    for item in chosen:
        table.add_row(item.name, item.title, item.about, "needs --runs" if item.needs_runs else f"{item.seconds:g}")
    console().print(table)
