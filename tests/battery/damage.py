"""Damaged files: each must be noticed. Weights that are loaded are those of the step that is claimed, and records that
are read are records that were written; anything less comes with a warning or an error of one line."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import torch
from markupsafe import Markup

from battery.tally import Tally
from icalgebra.experiments import EXPERIMENTS
from icalgebra.model.checkpoints import by_step, find_checkpoint, read_checkpoint
from icalgebra.report import page
from icalgebra.results import result_paths
from icalgebra.sweep import load_sweep, write_manifest
from icalgebra.sweep.outcome import finished
from icalgebra.sweep.table import read_table, write_table
from icalgebra.train import TrainConfig, train
from icalgebra.train.metrics import read_metrics
from sweep_helpers import FOUR, described
from training_helpers import MICRO

ROOT = Path(__file__).parents[2]


# --- ways to damage a file --------------------------------------------------------------------------------------------


def truncate(content: bytes, rng: Random) -> bytes:
    return content[: rng.randrange(len(content))] if content else content


def flip(content: bytes, rng: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def zero(content: bytes, rng: Random) -> bytes:
    begin = rng.randrange(len(content))
    end = min(len(content), begin + rng.choice((1, 16, 512, 4096)))
    return content[:begin] + b"\0" * (end - begin) + content[end:]


def insert(content: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.randbytes(rng.choice((1, 7, 100))) + content[place:]


def repeat(content: bytes, rng: Random) -> bytes:
    lines = content.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    return b"".join([*lines[: place + 1], lines[place], *lines[place + 1 :]])


def replace(content: bytes, rng: Random) -> bytes:
    return rng.choice((b"", b"[]", b"{}", b"null", b"[" * 100_000, b"\x80\x04K\x01.", b"PK\x03\x04", rng.randbytes(50)))


WAYS: tuple[Callable[[bytes, Random], bytes], ...] = (truncate, flip, zero, insert, repeat, replace)


# --- run folders ------------------------------------------------------------------------------------------------------


def run_folders(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """One file of a finished run damaged, removed, or exchanged with another."""
    whole = folder / "whole"
    train(MICRO, whole, device="cpu")
    truth = {step: read_checkpoint(path).weights for step, path in by_step(whole / "checkpoints").items()}
    records, config = read_metrics(whole / "metrics.jsonl"), TrainConfig.load(whole / "config.json")
    files = [path.relative_to(whole) for path in sorted(whole.rglob("*")) if path.is_file() and path.name != ".lock"]
    for i in range(count):
        run = folder / "damaged"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(whole, run)
        file, how = rng.choice(files), rng.choice((*WAYS, "remove", "exchange"))
        if how == "remove":
            (run / file).unlink()
        elif how == "exchange":
            (run / file).write_bytes((whole / rng.choice(files)).read_bytes())
        else:
            (run / file).write_bytes(how(((whole / file).read_bytes()), rng))  # type: ignore[operator]
        same = (run / file).is_file() and (run / file).read_bytes() == (whole / file).read_bytes()
        with tally.trial(f"case {i}: {getattr(how, '__name__', how)} {file}"), told() as warnings:
            _check_run(run, truth, records, config, "" if same else str(file), warnings)


def _check_run(
    run: Path, truth: dict[int, Any], records: list[Any], config: TrainConfig, damaged: str, warnings: io.StringIO
) -> None:
    found = find_checkpoint(run)
    assert all(torch.equal(found.weights[name], tensor) for name, tensor in truth[found.step].items()), "other weights"
    newest = found.step == max(truth)
    assert newest or warnings.getvalue(), "an older checkpoint without a word"
    before = warnings.getvalue()
    read = read_metrics(run / "metrics.jsonl")
    assert all(record in records for record in read), "records that were never written"
    if damaged == "metrics.jsonl" and read != records:
        cut = read == records[: len(read)]  # at the end of a line: only the checkpoint's count tells
        assert cut or warnings.getvalue() != before, "records lost without a word"
        assert found.records is not None
        assert not cut or found.records > len(read) or warnings.getvalue() != before, "records cut without a word"
    assert TrainConfig.load(run / "config.json") == config or damaged == "config.json"


@contextlib.contextmanager
def told() -> Iterator[io.StringIO]:
    """What is printed on standard error."""
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        yield stream


# --- files of sweeps --------------------------------------------------------------------------------------------------


def sweep_files(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """Descriptions, manifests, tables and done.json: read as what they were, or refused."""
    file = described(folder, FOUR)
    entries = load_sweep(file)
    manifest = write_manifest(folder, entries)
    done = json.loads((ROOT / "sweeps" / "mixing" / "table.json").read_text())["runs"][0]
    done = {**done, "id": entries[0].id, "config": entries[0].config.to_dict(), "evaluate": entries[0].evaluate}
    run = entries[0].folder(folder)
    run.mkdir(parents=True)
    (run / "done.json").write_text(json.dumps(done))
    assert finished(entries[0], run) is not None
    write_table("mine", entries, folder)
    for i in range(count):
        path = rng.choice((file, manifest, folder / "table.json", run / "done.json"))
        content, how = path.read_bytes(), rng.choice(WAYS)
        path.write_bytes(
            mutated_json(content, rng) if path.suffix == ".json" and rng.random() < 0.5 else how(content, rng)
        )
        with tally.trial(f"case {i}: {path.name}"):
            if path.name == "table.json":
                read_table(path)
            elif path.name == "done.json":
                finished(entries[0], run)
                write_table("mine", entries, folder / "other")
            else:
                load_sweep(path)
        path.write_bytes(content)


# --- results ----------------------------------------------------------------------------------------------------------

OTHER_VALUES = (None, True, 0, -1, 3.5, "x", "", [], {}, [1], {"a": 1}, 1e308, 10**30, "<script>", "3.6", [[]], [None])


def results(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """One field of a committed result changed or removed: the page is written, or one line names the field."""
    once = {path.stem: path for path in result_paths(ROOT / "results", EXPERIMENTS)}
    committed = {name: (path.relative_to(ROOT / "results"), path.read_bytes()) for name, path in once.items()}
    drawn = page.drawings
    for i in range(count):
        name = rng.choice(sorted(committed))
        place, content = committed[name]
        file = folder / "results" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(mutated_json(content, rng))
        # Drawing takes a second, so only some are drawn; the words are written each time.
        page.drawings = drawn if i % 20 == 0 else _undrawn  # type: ignore[assignment]
        try:
            with tally.trial(f"case {i}: {name}"), contextlib.redirect_stderr(io.StringIO()):
                page.build_report(folder / "page", None, folder / "results")
        finally:
            page.drawings = drawn  # type: ignore[assignment]
            file.unlink()


def _undrawn(experiment: Any, result: Any) -> dict[str, Markup]:
    return {draw.__name__: Markup("") for draw in experiment.figures}


def mutated_json(content: bytes, rng: Random) -> bytes:
    """One value of a JSON file replaced by one of another kind, or removed."""
    whole = json.loads(content)
    value, key, at = whole, None, None
    for _ in range(rng.randrange(1, 8)):
        if not isinstance(value, dict | list) or not value:
            break
        at, key = value, rng.choice(sorted(value)) if isinstance(value, dict) else rng.randrange(len(value))
        value = at[key]
    if at is None:
        return json.dumps(rng.choice(OTHER_VALUES)).encode()
    if rng.random() < 0.2:
        del at[key]
    else:
        at[key] = copy.deepcopy(rng.choice(OTHER_VALUES))
    return json.dumps(whole).encode()


def run(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    shares = ((run_folders, 0.6), (sweep_files, 0.2), (results, 0.2))
    for part, share in shares:
        (folder / part.__name__).mkdir(parents=True)
        part(tally, round(share * count), rng, folder / part.__name__)
