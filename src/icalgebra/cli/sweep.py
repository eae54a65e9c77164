"""`icalgebra sweep`: many runs from one description, on this machine, on a cluster, or as a written Slurm array."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from icalgebra.atomic_files import write_text
from icalgebra.cli.common import MaybeInt, MaybePath, MaybeText, console
from icalgebra.cli.estimates import check_time_without_gpu
from icalgebra.cli.sweep_progress import live_status
from icalgebra.errors import InputError, RunError
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.sweep import Entry, LocalWorkers, Status, Workers, load_sweep, run_sweep, write_manifest
from icalgebra.sweep.manifest import chosen
from icalgebra.sweep.outcome import finished
from icalgebra.sweep.slurm import slurm_script
from icalgebra.sweep.table import adopt_table, sweep_curves, write_table
from icalgebra.train.distributed import choose_device

PIPED_WIDTH = 160  # columns of the table when piped, where rich would assume 80 and fold it


@dataclass(frozen=True)
class Sweep:
    """Train every run of a description. If the sweep is stopped or killed, the same command continues it.

    On another machine, table.json is enough to continue: put it into --out, and the runs it lists as done are skipped.
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DESCRIPTION")]
    """The description (.toml, .json), or a sweep's manifest.jsonl."""
    out: Path
    """The sweep's folder: manifest.jsonl, runs/, table.json, curves.svg."""
    workers: MaybeInt = None
    """Runs at a time, as processes that share this machine's device; 1 by default."""
    ray: bool = False
    """Use a Ray cluster: the one that RAY_ADDRESS names, or one started on this machine."""
    slurm: MaybePath = None
    """Write a Slurm array script to this file and run nothing; --workers limits how many tasks run at a time."""
    device: MaybeText = None
    """cpu, cuda, …, or several: cuda:0,cuda:1; CUDA by default where there is one."""
    retries: int = 2
    """How often a run that crashed is resumed from its checkpoint."""
    only: tuple[str, ...] = ()
    """Only the runs whose name contains all these words, such as d_model=256 seed=0; the table keeps the others."""
    task: MaybeInt = None
    """Only the run on this line of the manifest, counted from 0."""
    collect: bool = False
    """Run nothing; write the table and the figure of the runs that are done."""
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
        finally:  # an interrupted sweep still writes the table of what is done
            table = write_table(self.file.stem, entries, self.out)
            self._write_figure(entries)
        self._print(table)
        return _exit_code(status, self.out)

    def _check(self) -> None:
        ways = {"--ray": self.ray, "--slurm": self.slurm, "--collect": self.collect, "--task": self.task is not None}
        chosen_ways = [name for name, given in ways.items() if given]
        if len(chosen_ways) > 1:
            raise InputError(f"{' and '.join(chosen_ways)} cannot be combined")
        if self.only and chosen_ways and chosen_ways != ["--ray"]:
            raise InputError(f"--only and {chosen_ways[0]} cannot be combined")
        if self.workers is not None and self.workers < 1:
            raise InputError(f"--workers must be at least 1, not {self.workers}")
        if self.retries < 0:
            raise InputError(f"--retries must be at least 0, not {self.retries}")

    def _run_all(self, selected: list[Entry], entries: list[Entry]) -> Status:
        """Rewrites the table whenever a run is done, since a sweep may be killed without warning."""
        if not self.ray:
            left = [entry.config for entry in selected if not finished(entry, entry.folder(self.out))]
            check_time_without_gpu(left, self.device, f"this sweep ({len(left)} runs)")
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
        with live_status(self.out) as show:  # no table: the tasks of an array would all write it at once
            status = run_sweep([entries[self.task]], self.out, self._workers(), self.retries, show)
        return _exit_code(status, self.out)

    def _workers(self) -> Workers:
        if self.ray:
            from icalgebra.sweep.cluster import RayWorkers

            return RayWorkers(self.workers or 1, self.device)
        devices = self.device.split(",") if self.device else []
        for device in devices:
            choose_device(device)  # a wrong name fails here, not in every run
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
            shown.add_row(row["name"], *(_cells(row) if row["done"] else [row.get("failed", "not done")]))
        screen = console()
        (screen if screen.is_terminal else console(width=PIPED_WIDTH)).print(shown)


def _cells(row: dict[str, Any]) -> list[str]:
    holdout = {key: 100 * value for key, value in row["final"]["holdout"].items()}
    skills = [row["final"].get(name) for name in MECHANISMS]  # some worlds are too small for some distributions
    return [
        f"{holdout['value']:.1f} [{holdout['low']:.1f}, {holdout['high']:.1f}]",
        *("" if skill is None else f"{100 * skill['value']:.1f}" for skill in skills),
        *("never" if step is None else f"{step:,}" for step in row["steps_to"].values()),
        f"{row['clock']['seconds']:,.1f}",
    ]


def _exit_code(status: Status, out: Path) -> int:
    """0, or an error that names the first run that failed."""
    if status.failed:
        first = status.failed[0]
        reason = f"{first.name} ({first.folder(out)}): {status.complaints[first.id]}"
        raise RunError(f"{len(status.failed)} of the runs failed after all retries; {reason}")
    return 0
