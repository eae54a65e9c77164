"""`icalgebra reproduce`: run the experiments of a tier and write the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.table import Table

from icalgebra.cli.common import MaybeInt, MaybeText, console
from icalgebra.errors import InputError, warn
from icalgebra.experiments import EXPERIMENTS, experiment
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.loaded_model import LoadedModel, Runs, load_with_config
from icalgebra.experiments.side_by_side import Job, LeftOut, Outcomes, n_cores, run_side_by_side, suitable_workers
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
    workers: MaybeInt = None
    """Experiments at once, each in a process that has its share of the cores. By default one in the full tier and on a
    GPU; in the quick tier one per core, up to four and as many as memory holds. Results do not depend on it."""
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
        loaded, runs, workers = self._loaded_model(names), Runs(self.runs, choose_device(self.device)), self._workers()
        at_once = min(workers, len(names))
        if self.tier == "quick":
            expected = sum(EXPERIMENTS[name].seconds for name in names) / at_once
            beside = f", {at_once} at a time" if at_once > 1 else ""
            screen.print(f"{len(names)} experiment{'s' * (len(names) > 1)}{beside}, about {expected:.0f} s")
        written: dict[str, Path] = {}
        left_out: dict[str, str] = {}
        with screen.status("") as status, closing(
            self._side_by_side(names, workers, status.update) if at_once > 1
            else self._one_by_one(names, loaded, runs, status.update)
        ) as outcomes:  # fmt: skip
            for i, (name, found) in enumerate(outcomes, start=1):
                if isinstance(found, LeftOut):
                    left_out[name] = found.reason
                    warn(f"{i}/{len(names)} {name}: left out: {found.reason}")
                else:
                    written[name] = write_result(fresh, found)
                    screen.print(f"{i}/{len(names)} {name}: done in {found.provenance['seconds']} s")
        return [written[name] for name in names if name in written], left_out

    def _one_by_one(
        self, names: Sequence[str], loaded: LoadedModel | None, runs: Runs, show: Callable[[str], None]
    ) -> Outcomes:
        for i, name in enumerate(names, start=1):
            entry = EXPERIMENTS[name]
            show(f"{i}/{len(names)} {name}: {entry.title} (about {entry.seconds:.0f} s)")
            try:
                yield name, run_experiment(name, self.tier, self.seed, loaded, runs)
            except InputError as error:
                if len(names) == 1:
                    raise
                yield name, LeftOut(str(error))

    def _side_by_side(self, names: Sequence[str], workers: int, show: Callable[[str], None]) -> Outcomes:
        threads = max(1, n_cores() // workers)
        job = Job(self.tier, self.seed, self.model, str(choose_device(self.device)), threads)
        return run_side_by_side(names, job, workers, lambda running: show(", ".join(running)))

    def _workers(self) -> int:
        if self.workers is not None and self.workers < 1:
            raise InputError(f"an experiment needs at least one worker, not {self.workers}")
        by_default = suitable_workers(choose_device(self.device)) if self.tier == "quick" else 1
        return by_default if self.workers is None else self.workers

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
