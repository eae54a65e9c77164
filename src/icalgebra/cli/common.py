"""Options, input and output that the commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import IO, Annotated, Any, Literal, TypeVar

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from icalgebra.algebra.structures import Structure, split_names
from icalgebra.algebra.table_files import load_structure
from icalgebra.atomic_files import atomic_path, read_text
from icalgebra.errors import InputError, warn
from icalgebra.language.world import WORLD_FIELDS, MixtureRule, World

T = TypeVar("T")
PAPER = World()
OPTION_NAMES = {"n_variables": "variables", "n_facts": "facts"}  # options that are not named after their field


def optional_arg(metavar: str) -> Any:
    """An option that may be left out. Its help says what happens then, so tyro's "(default: None)" is not shown."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


MaybeText = Annotated[str | None, optional_arg("TEXT")]
MaybePath = Annotated[Path | None, optional_arg("PATH")]
MaybeQuery = Annotated[Literal["holdout", "train"] | None, optional_arg("holdout|train")]
MaybeInt = Annotated[int | None, optional_arg("INT")]
ModelName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[MODEL]")]


def world_arg(name: str, **shown: Any) -> Any:
    """A field of World as an option, with the help text stated there."""
    help = WORLD_FIELDS[name].metadata["help"]
    return tyro.conf.arg(name=OPTION_NAMES.get(name, name), help=f"{help[0].upper()}{help[1:]}.", **shown)


@dataclass(frozen=True)
class WorldOptions:
    """The world that sequences come from, by default the paper's. Commands inherit these options."""

    structures: Annotated[str | None, world_arg("structures", metavar="NAME,…", help_behavior_hint="")] = None
    table: MaybePath = None
    """A Cayley table of your own (CSV or JSON), added to --structures or used alone."""
    n_variables: Annotated[int, world_arg("n_variables")] = PAPER.n_variables
    p_mix: Annotated[float, world_arg("p_mix")] = PAPER.p_mix
    d2: Annotated[bool, world_arg("d2")] = PAPER.d2
    reserved: Annotated[str, world_arg("reserved")] = str(PAPER.reserved)
    mixture_rule: Annotated[MixtureRule, world_arg("mixture_rule")] = PAPER.mixture_rule

    def world(self) -> World:
        chosen: tuple[str | Structure, ...] = split_names(self.structures or "")
        if self.structures is not None and not chosen:
            raise InputError("--structures names no structure; give names such as C6,D4")
        if self.table is not None:
            chosen += (read_table(self.table),)
        given = {name: getattr(self, name) for name in WORLD_FIELDS}
        return World(**given | {"structures": chosen or PAPER.structures})


def read_table(path: Path) -> Structure:
    """The user's own structure. What it is gets printed, since one mistyped entry turns a group into a magma."""
    found = load_structure(path)
    identity = "no identity" if found.identity is None else f"identity {found.identity}"
    warn(f"{found.name}: a {found.kind} of {found.order} elements, {identity}")
    return found


def console(**options: Any) -> Console:
    """rich's console without its markup: a path or a name with [brackets] is printed as it is."""
    return Console(markup=False, **options)


def announced(names: Sequence[str]) -> Iterator[str]:
    """Names of steps, with a progress bar; when piped, a line on standard error as each begins."""
    piped = not Console(stderr=True).is_terminal
    for i, name in enumerate(progress(names, len(names), "step"), start=1):
        if piped:
            print(f"{i}/{len(names)} {name} …", file=sys.stderr, flush=True)
        yield name


def progress(items: Iterable[T], total: int, what: str, size: Callable[[T], int] = lambda item: 1) -> Iterator[T]:
    """A progress bar on standard error, none when piped. size(item): how much of the total an item is."""
    screen = console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as bar:
        task = bar.add_task(what, total=total)
        for item in items:
            yield item
            bar.advance(task, size(item))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Says on standard error what takes a while: as a spinner, or in two lines when piped."""
    console, begin = Console(stderr=True), perf_counter()
    if console.is_terminal:
        with console.status(what):
            yield
        return
    print(f"{what} …", file=sys.stderr, flush=True)
    yield
    print(f"{what}: done in {perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)


@contextmanager
def output(path: Path | None, mode: str = "w") -> Iterator[IO]:
    """Standard output, or a file that is written atomically."""
    if path is None:
        yield sys.stdout if mode == "w" else sys.stdout.buffer
        return
    with atomic_path(path) as temporary, open(temporary, mode, encoding="utf-8" if mode == "w" else None) as stream:
        yield stream


def read_texts(source: Path | None) -> list[tuple[int, str]]:
    """The lines of a file, or of standard input ('-' or None), with line numbers from 1; empty lines are skipped."""
    try:
        content = sys.stdin.read() if source is None or str(source) == "-" else read_text(source)
    except UnicodeDecodeError:
        raise InputError("standard input is not text") from None
    lines = [(number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()]
    if not lines:
        raise InputError(
            f"no sequence in {'standard input' if source is None else source}; expected lines like ,ab=c,de="
        )
    return lines
