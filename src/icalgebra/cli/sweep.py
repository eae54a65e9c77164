"""`icalgebra sweep`: many runs from one description, on this machine, on a cluster, or as a written Slurm array."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from icalgebra.atomic_files import write_text
from icalgebra.cli.common import MaybeInt, MaybePath, MaybeText
from icalgebra.cli.sweep_progress import live_status
from icalgebra.errors import InputError, RunError
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.sweep import Entry, LocalWorkers, Status, Workers, load_sweep, run_sweep, write_manifest
from icalgebra.sweep.manifest import chosen
from icalgebra.sweep.slurm import slurm_script
from icalgebra.sweep.table import adopt_table, sweep_curves, write_table
from icalgebra.train.distributed import choose_device

PIPED_WIDTH = 160


@dataclass(frozen=True)
class Sweep:
    """Train every run of a description; stopped or killed, the same command goes on where it was.

    On another machine it goes on from table.json alone: put it into --out, and no run that it says is done is repeated.
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DESCRIPTION")]
    """The description (.toml, .json), or a sweep's manifest.jsonl."""
    out: Path
    """The sweep's folder: manifest.jsonl, runs/, table.json, curves.svg."""
    workers: MaybeInt = None
    """Runs at once: processes that share this machine's device; one unless told."""
    ray: bool = False
    """On a Ray cluster: the one RAY_ADDRESS names, or one started on this machine."""
    slurm: MaybePath = None
    """Write a Slurm array script here and return at once; --workers bounds its tasks at once."""
    device: MaybeText = None
    """cpu, cuda, …, or several: cuda:0,cuda:1; CUDA where there is one unless told."""
    retries: int = 2
    """How often a run that died is tried again from its checkpoint."""
    only: tuple[str, ...] = ()
    """Only the runs whose name has all these words, such as d_model=256 seed=0; the table keeps the others."""
    task: MaybeInt = None
    """Only the run of this line of the manifest, counted from 0."""
    collect: bool = False
    """Run nothing: the table and the figure of what is there."""
    json: bool = False
    """The table as one JSON object."""

    def run(self) -> int:
        self._check()
        entries = load_sweep(self.file)
        adopt_table(entries, self.out)
        if self.task is not None:
            return self._run_task(entries)
        selected = chosen(entries, self.only)
        manifest = write_manifest(self.out, entries)
        if self.slurm is not None:
            return self._write_slurm(manifest, len(entries))
        status = Status(waiting=[])
        try:
            if not self.collect:
                status = self._run_all(selected, entries)
        finally:  # an interrupted sweep leaves the table of what is done
            table = write_table(self.file.stem, entries, self.out)
            self._write_figure(entries)
        self._print(table)
        return _told_failures(status, self.out)

    def _check(self) -> None:
        ways = {"--ray": self.ray, "--slurm": self.slurm, "--collect": self.collect, "--task": self.task is not None}
        asked = [name for name, given in ways.items() if given]
        if len(asked) > 1:
            raise InputError(f"{' and '.join(asked)} do not go together")
        if self.only and asked and asked != ["--ray"]:
            raise InputError(f"--only and {asked[0]} do not go together")
        if self.workers is not None and self.workers < 1:
            raise InputError(f"--workers must be at least 1, not {self.workers}")
        if self.retries < 0:
            raise InputError(f"--retries must be at least 0, not {self.retries}")

    def _run_all(self, selected: list[Entry], entries: list[Entry]) -> Status:
        """The table is written anew whenever a run is done: a sweep may be killed without a word."""
        done = 0

        def watch(status: Status) -> None:
            nonlocal done
            if len(status.done) > done:
                done = len(status.done)
                write_table(self.file.stem, entries, self.out)
            show(status)

        with live_status(self.out) as show:
            return run_sweep(selected, self.out, self._workers(), self.retries, watch)

    def _run_task(self, entries: list[Entry]) -> int:
        assert self.task is not None
        if not 0 <= self.task < len(entries):
            raise InputError(f"--task must be between 0 and {len(entries) - 1}, not {self.task}")
        with live_status(self.out) as show:  # no table: tasks of an array would write it all at once
            status = run_sweep([entries[self.task]], self.out, self._workers(), self.retries, show)
        return _told_failures(status, self.out)

    def _workers(self) -> Workers:
        if self.ray:
            from icalgebra.sweep.cluster import RayWorkers

            return RayWorkers(self.workers or 1, self.device)
        devices = self.device.split(",") if self.device else []
        for device in devices:
            choose_device(device)  # a wrong name is told now, not by every run
        return LocalWorkers(self.workers or 1, list(devices))

    def _write_slurm(self, manifest: Path, n: int) -> int:
        assert self.slurm is not None
        write_text(self.slurm, slurm_script(manifest, n, self.device, self.retries, self.workers))
        (self.out / "slurm").mkdir(exist_ok=True)
        print(f"{n} runs written to {manifest}; submit them with: sbatch {self.slurm}")
        return 0

    def _write_figure(self, entries: list[Entry]) -> None:
        runs = sweep_curves(entries, self.out)
        if runs:
            from icalgebra.plotting import svg
            from icalgebra.plotting.sweep_curves import through_training

            write_text(self.out / "curves.svg", svg(through_training(runs)) + "\n")

    def _print(self, table: dict[str, Any]) -> None:
        if self.json:
            print(json.dumps(table))
            return
        shown = Table("run", "hold-out (%)", *MECHANISMS, "steps to 90 %", "to 99 %", "seconds", title=str(self.out))
        for row in table["runs"]:
            shown.add_row(row["name"], *(_cells(row) if row["done"] else ("not done",)))
        console = Console()
        (console if console.is_terminal else Console(width=PIPED_WIDTH)).print(shown)


def _cells(row: dict[str, Any]) -> list[str]:
    holdout = {key: 100 * value for key, value in row["final"]["holdout"].items()}
    skills = [row["final"].get(name) for name in MECHANISMS]  # a small world cannot ask them all
    return [
        f"{holdout['value']:.1f} [{holdout['low']:.1f}, {holdout['high']:.1f}]",
        *("" if skill is None else f"{100 * skill['value']:.1f}" for skill in skills),
        *("never" if step is None else f"{step:,}" for step in row["steps_to"].values()),
        f"{row['clock']['seconds']:,.1f}",
    ]


def _told_failures(status: Status, out: Path) -> int:
    if status.failed:
        first = status.failed[0]
        told = f"{first.name} ({first.folder(out)}): {status.complaints[first.id]}"
        raise RunError(f"{len(status.failed)} of the runs died too often; {told}")
    return 0
