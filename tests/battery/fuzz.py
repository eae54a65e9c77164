"""Random and mutated input for every parser and reader, and odd arguments for the public functions.

Lost is what ends in anything but an InputError of one short line.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import string
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import icalgebra
from battery.damage import OTHER_VALUES, mutated_json
from battery.tally import Tally
from icalgebra.algebra.structures import known_names, split_names, structure
from icalgebra.algebra.table_files import load_structure
from icalgebra.cli.main import COMMANDS, _run
from icalgebra.language.parsing import read_prompt, read_sequences
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.language.world import World
from icalgebra.results import Result
from icalgebra.sweep.description import expand
from icalgebra.sweep.manifest import read_manifest
from icalgebra.train.config import TrainConfig
from icalgebra.train.metrics import read_line

SIGNS = string.ascii_letters + string.digits + ",=?-_()[]|x \t\n²é\0\udcff٣"
NUMBERS = ("0", "-1", "1", "3.5", "1e400", "nan", "9" * 30, "9" * 5000, "²", "")
PROMPT, NAMES = (
    ",pf=p,ee=n,ae=f,pp=e,pn=f,pe=",
    ("C6", "D4", "C4xC2", "SmallGroup(16,3)", "Quasigroup(8,0)", "m[0 1|1 0]"),
)
VOCABULARIES = [Vocabulary(n) for n in (1, 6, 16, 52)]


def noise(rng: Random, longest: int = 60) -> str:
    return "".join(rng.choices(SIGNS, k=rng.randrange(longest)))


def mutated(text: str, rng: Random) -> str:
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(text) + 1)
        extra = rng.choice(
            (noise(rng, 6), text[place : place + 5], rng.choice(NUMBERS), text * 50 if rng.random() < 0.05 else "")
        )
        text = text[:place] + extra + text[place + rng.choice((0, 1, 4)) :]
    return text


# --- one function per parser: rng and a folder for files --------------------------------------------------------------


def sequences(rng: Random, folder: Path) -> None:
    text = mutated(PROMPT, rng) if rng.random() < 0.7 else noise(rng)
    read_prompt(text, 1, rng.choice(VOCABULARIES))


def files_of_sequences(rng: Random, folder: Path) -> None:
    lines = [(i, mutated(",ab=c,de=f", rng)) for i in range(1, 4)]
    read_sequences(lines, rng.choice(VOCABULARIES))


def structures(rng: Random, folder: Path) -> None:
    for name in split_names(mutated(rng.choice(NAMES), rng) if rng.random() < 0.8 else noise(rng)):
        structure(name)


def tables(rng: Random, folder: Path) -> None:
    path = folder / f"table.{rng.choice(('csv', 'json'))}"
    text = mutated("0,1,2\n1,2,0\n2,0,1", rng) if path.suffix == ".csv" else mutated('{"table": [[0, 1], [1, 0]]}', rng)
    path.write_text(text, errors="surrogatepass", encoding="utf-8")
    load_structure(path)


def worlds(rng: Random, folder: Path) -> None:
    plain = json.loads(mutated_json(json.dumps(World().to_dict()).encode(), rng))
    World.from_dict(plain)


CONFIG = json.dumps(TrainConfig().to_dict()).encode()


def configs(rng: Random, folder: Path) -> None:
    TrainConfig.from_dict(json.loads(mutated_json(CONFIG, rng)))


DESCRIPTION = json.dumps(
    {
        "preset": "tiny",
        "seeds": [0, 1],
        "fixed": {"steps": 5},
        "grid": {"n_layers": [1, 2]},
        "evaluate": {"p7": {"p_mix": 0.7}},
    }
).encode()


def sweeps(rng: Random, folder: Path) -> None:
    expand(json.loads(mutated_json(DESCRIPTION, rng)), folder)


def manifests(rng: Random, folder: Path) -> None:
    line = json.dumps({"id": "0", "name": "x", "config": {}, "evaluate": {}})
    read_manifest(mutated(line, rng) if rng.random() < 0.5 else mutated_json(line.encode(), rng).decode())


LINE = '{"kind": "train", "step": 1, "tokens": 5, "loss": 1.5, "clock": {"seconds": 1, "training_seconds": 1}}'


def metrics(rng: Random, folder: Path) -> None:
    read_line(mutated(LINE, rng) if rng.random() < 0.5 else mutated_json(LINE.encode(), rng).decode())


RESULT = json.dumps(
    {"experiment": "e", "tier": "full", "model": "m", "seed": 0, "config": {}, "command": "c",
     "values": {"v": {"value": 1, "low": 0, "high": 2, "n": 3}}, "details": {}, "provenance": {"seconds": 1.0},
     "curves": {"c": {"x": [1], "y": [1], "low": [0], "high": [2], "n": [3]}}}
).encode()  # fmt: skip


def result_files(rng: Random, folder: Path) -> None:
    Result.from_dict(json.loads(mutated_json(RESULT, rng)))


def command_lines(rng: Random, folder: Path) -> None:
    """Parsing alone: words that no command understands, so that nothing is run."""
    words = [rng.choice((*COMMANDS, noise(rng, 8))), "--seed", mutated("5", rng), f"--{noise(rng, 9)}", noise(rng)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        _run([word.replace("\0", "") for word in words] + ["--no-such-option"])


ODD: tuple[Any, ...] = (
    *OTHER_VALUES, np.zeros(3), np.zeros((2, 4), dtype=np.uint8), np.array([[17, 0, 1, 16]]), float("nan"), object(),
    b"bytes", World(), "holdout", "small", lambda x: x, Path("nowhere"), 2**70, -(2**70), ("C3", 5), 1j,
)  # fmt: skip
# What trains, draws or waits is left out; so are functions that take a model or a predictor, whose types are their own.
CALLED = (
    "Vocabulary", "World", "all_groups", "batches", "classify_queries", "counterfactual_pairs", "load_model",
    "load_structure", "oracle_predictor", "posterior", "sample", "slot_floors", "solver", "structure",
)  # fmt: skip


def python_calls(rng: Random, folder: Path) -> None:
    call = getattr(icalgebra, rng.choice(CALLED))
    names = [name for name in inspect.signature(call).parameters if name not in ("self",)]
    needed = {n: rng.choice(ODD) for n, p in inspect.signature(call).parameters.items() if p.default is p.empty}
    chosen = rng.sample(names, min(len(names), 1))
    found = call(**needed | {name: rng.choice(ODD) for name in chosen})
    if inspect.isgenerator(found):
        next(found, None)  # a stream may be empty


PARSERS: dict[Callable[[Random, Path], None], int] = {
    sequences: 24, files_of_sequences: 8, structures: 12, tables: 6, worlds: 8, configs: 12, sweeps: 6, manifests: 6,
    metrics: 10, result_files: 12, command_lines: 1, python_calls: 2,
}  # fmt: skip  # of about a hundred inputs: a command line takes 20 ms to parse, a call may sample


def run(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    assert set(NAMES[:3]) <= {*known_names(), "C6"}
    chosen = rng.choices(list(PARSERS), weights=list(PARSERS.values()), k=count)
    for i, parser in enumerate(chosen):
        state = rng.getrandbits(64)
        with tally.trial(f"input {i}: {parser.__name__}({state})"), contextlib.redirect_stderr(io.StringIO()):
            parser(Random(state), folder)
