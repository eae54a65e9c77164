"""`icalgebra coverage`: how much the five mechanisms can answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from rich.table import Table

from icalgebra.cli.common import MaybePath, WorldOptions, console, optional_arg, progress, read_texts
from icalgebra.data.distributions import batches, check_request, distribution
from icalgebra.data.sampler import HOLD_NOTHING
from icalgebra.errors import InputError
from icalgebra.language.parsing import read_sequences
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.language.world import World
from icalgebra.solvers import MECHANISMS, Queries
from icalgebra.solvers.coverage import NOT_ASKED, Coverage, coverage

SHOWN_SIZES = (5, 10, 25, 50, 100)  # and the whole context


@dataclass(frozen=True)
class CoverageCommand(WorldOptions):
    """Coverage of the five mechanisms, applied in the published order, by number of context facts."""

    distribution: str = "train"
    """The distribution to sample; ignored with --file."""
    file: MaybePath = None
    """Your own sequences, one per line; '-' for standard input."""
    n: int = 2000
    """How many sequences; ignored with --file."""
    facts: int = 200
    """Facts per sequence, the query included; ignored with --file."""
    seed: int = 0
    queries: Annotated[Literal["every", "last"] | None, optional_arg("every|last")] = None
    """every: each fact is a query to the facts before it (default for train, copy and files); last: the last query
    follows every prefix (default for distributions that hold the query out)."""
    commute_any: bool = False
    """Count a commutative copy whatever its answer, as the paper's listing does."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        world = self.world()
        measured = self._own(world) if self.file is not None else self._sampled(world)
        summary = self._summary(measured, world)
        if self.json:
            print(json.dumps(summary, allow_nan=False))
        else:
            _show(summary)

    def _queries(self) -> Queries:
        if self.queries is not None:
            return self.queries
        return "every" if self.file or distribution(self.distribution).spec.held_out == HOLD_NOTHING else "last"

    def _sampled(self, world: World) -> Coverage:
        check_request(self.distribution, self.facts, world)
        if self.n < 1:
            raise InputError(f"--n must be at least 1, not {self.n}")
        _check_facts(self.facts, "--facts")
        made = batches(self.distribution, 1024, self.facts, self.seed, world, n=self.n)
        parts = [
            coverage(part.tokens, self._queries(), world.n_variables, commute_any=self.commute_any).solved_by
            for part in progress(made, self.n, "coverage", len)
        ]
        return Coverage(np.concatenate(parts))

    def _own(self, world: World) -> Coverage:
        lines = read_texts(self.file)
        rows = read_sequences(lines, world.vocabulary)
        for (number, _), row in zip(lines, rows):
            _check_facts(len(row) // FACT_LENGTH, f"line {number}")
        longest = max(len(row) for row in rows) // FACT_LENGTH
        solved = np.full((len(rows), longest), NOT_ASKED, dtype=np.int8)
        for i, row in enumerate(rows):
            one = coverage(row[None], self._queries(), world.n_variables, commute_any=self.commute_any)
            solved[i, : one.solved_by.shape[1]] = one.solved_by[0]
        return Coverage(solved)

    def _summary(self, measured: Coverage, world: World) -> dict[str, Any]:
        estimates = {name: measured.auc(name).scaled(100) for name in (*MECHANISMS, "total")}
        longest = measured.solved_by.shape[1] - 1
        sizes = [*(n for n in SHOWN_SIZES if n < longest), longest]
        return {
            "auc": {name: round(estimate.value, 3) for name, estimate in estimates.items()},
            "interval": {name: [round(e.low, 3), round(e.high, 3)] for name, e in estimates.items()},
            "n": len(measured.solved_by),
            "at_context_facts": {
                str(n): {name: round(100 * float(measured.curve(name)[n - 1]), 2) for name in (*MECHANISMS, "total")}
                for n in sizes
            },
            "source": str(self.file) if self.file else self.distribution,
            "facts": measured.solved_by.shape[1],
            "shorter": int((measured.solved_by[:, -1] == NOT_ASKED).sum()),
            "queries": self._queries(),
            "commute_any": self.commute_any,
            "seed": self.seed,
            "world": world.to_dict(),
        }


def _check_facts(n: int, where: str) -> None:
    if n < 2:
        raise InputError(f"{where}: coverage needs at least 2 facts per sequence, the query and one before it, not {n}")


def _show(summary: dict[str, Any]) -> None:
    sizes = list(summary["at_context_facts"])
    length = f"{'up to ' if summary['shorter'] else ''}{summary['facts']}"
    table = Table(title=f"coverage of {summary['source']}, {summary['n']} sequences of {length} facts (%)")
    for heading in ("mechanism", "AUC", "95 %", *(f"n={n}" for n in sizes)):
        table.add_column(heading, justify="left" if heading == "mechanism" else "right", no_wrap=True)
    for name, value in summary["auc"].items():
        low, high = summary["interval"][name]
        cells = [f"{summary['at_context_facts'][n][name]:.1f}" for n in sizes]
        table.add_row(name, f"{value:.1f}", f"{low:.1f}–{high:.1f}", *cells, end_section=name == MECHANISMS[-1])
    console().print(table)
