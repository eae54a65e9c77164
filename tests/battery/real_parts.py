"""Real parts: tensorboard's files read back, wandb offline, two gloo processes of which one is killed, Ray with a
killed worker and a killed driver. A part that is not installed is left out, and said."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from battery.tally import Tally
from icalgebra.sweep import run_sweep
from icalgebra.train import train
from icalgebra.train.metrics import read_metrics
from sweep_helpers import FOUR, Killer, described, four_runs, rows, wait_for
from training_helpers import MICRO, records

BLOCK = 32768
LONG = MICRO.with_changes(steps=60, eval_every=30, checkpoint_every=5)


def installed(name: str, tally: Tally) -> bool:
    if importlib.util.find_spec(name) is None:
        tally.left_out.append(f"{name}: not installed here (pip install {name})")
        return False
    return True


# --- trackers ---------------------------------------------------------------------------------------------------------


def trackers(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if installed("tensorboard", tally):
        with tally.trial("tensorboard's files hold every number of metrics.jsonl"):
            tensorboard_holds_metrics(folder / "tensorboard")
    if installed("wandb", tally):
        with tally.trial("wandb offline holds every number of metrics.jsonl"):
            wandb_holds_metrics(folder / "wandb")


def tensorboard_holds_metrics(run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(MICRO.with_changes(tracker="tensorboard"), run, device="cpu")
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    written = numbers(run)
    for name, points in written.items():
        found = {event.step: event.value for event in events.Scalars(name)}
        assert found.keys() == points.keys(), name
        assert all(abs(found[step] - value) <= 1e-5 * max(1, abs(value)) for step, value in points.items()), name
    assert {"loss", "holdout"} <= set(written)


def wandb_holds_metrics(run: Path) -> None:
    """In a process of its own: wandb keeps services and settings for a whole process."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\nfrom icalgebra.train import train\nfrom training_helpers import MICRO\n"
        "train(MICRO.with_changes(tracker='wandb'), Path(sys.argv[2]), device='cpu')\n"
    )
    environment = {**os.environ, "WANDB_MODE": "offline", "WANDB_SILENT": "true", "HOME": str(run.parent)}
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program, tests, str(run)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-300:]
    (file,) = run.glob("wandb/offline-run-*/*.wandb")
    found = wandb_history(file)
    for name, points in numbers(run).items():
        assert found.get(name) == points, name


def wandb_history(file: Path) -> dict[str, dict[int, float]]:
    """Name -> step -> value, from wandb's own file."""
    from wandb.proto import wandb_internal_pb2

    found = dict[str, dict[int, float]]()
    for data in log_records(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            step = items.pop("_step", record.history.step.num)
            for name, value in items.items():
                if not name.startswith("_"):
                    found.setdefault(name, {})[step] = value
    return found


def log_records(content: bytes) -> Iterator[bytes]:
    """The records of a file in LevelDB's log format, behind a header of 7 bytes: blocks of 32 KiB, and in them records
    of a checksum (4 bytes), a length (2), a kind (1: whole, 2: first, 3: middle, 4: last part) and data."""
    place, parts = 7, list[bytes]()
    while place + 7 <= len(content):
        left = BLOCK - place % BLOCK
        if left < 7:  # too short for another record: zeros up to the next block
            place += left
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        parts.append(content[place + 7 : place + 7 + length])
        place += 7 + length
        if kind in (1, 4):
            yield b"".join(parts)
            parts.clear()


def numbers(run: Path) -> dict[str, dict[int, float]]:
    """Name -> step -> value, from metrics.jsonl."""
    found: dict[str, dict[int, float]] = {}
    for record in read_metrics(run / "metrics.jsonl"):
        for name, value in record.items():
            if isinstance(value, int | float):
                found.setdefault(name, {})[record["step"]] = value
    return found


# --- two ranks --------------------------------------------------------------------------------------------------------


def ranks(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """Two gloo processes; one is killed at a random moment, the other ends, and the run resumes to the same end."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(LONG.to_dict()))
    whole = folder / "whole"
    _both(["--config", str(folder / "config.json"), "--out", str(whole)])
    for i in range(count):
        with tally.trial(f"rank {i % 2} of two killed"):
            run = folder / f"run{i}"
            processes = _started(["--config", str(folder / "config.json"), "--out", str(run)])
            wait_for(lambda run=run: list((run / "checkpoints").glob("step_*")), 120)
            time.sleep(rng.uniform(0, 1))
            processes[i % 2].send_signal(signal.SIGKILL)
            try:
                processes[1 - i % 2].wait(120)
            except subprocess.TimeoutExpired:
                processes[1 - i % 2].kill()
                raise AssertionError("the other rank waits for ever") from None
            _both(["--resume", str(run)])
            assert records(run) == records(whole)
            last = f"checkpoints/step_{LONG.steps:06d}/model.safetensors"
            assert (run / last).read_bytes() == (whole / last).read_bytes()


def _started(words: list[str]) -> list[subprocess.Popen]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "icalgebra", "train", *words, "--device", "cpu"]
    return [
        subprocess.Popen(command, env={**shared, "RANK": rank, "LOCAL_RANK": rank}, stderr=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL)
        for rank in "01"
    ]  # fmt: skip


def _both(words: list[str]) -> None:
    codes = [process.wait(300) for process in _started(words)]
    assert codes == [0, 0], f"two ranks ended with {codes}"


# --- Ray --------------------------------------------------------------------------------------------------------------


def ray(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """A killed worker, and a killed driver whose sweep the same command continues."""
    if not installed("ray", tally):
        return
    folder.mkdir(parents=True, exist_ok=True)
    expected = None
    for i in range(count):
        with tally.trial(f"a killed Ray worker {i}"):
            out = folder / f"worker{i}"
            out.mkdir()
            killer = Killer(out)
            killer.check(run_sweep(four_runs(out), out, _ray_workers()))
        with tally.trial(f"a killed Ray driver {i}"):
            out = folder / f"driver{i}"
            out.mkdir()
            words = ["sweep", str(described(out, FOUR)), "--out", str(out / "out"), "--ray", "--workers", "2"]
            command = [sys.executable, "-m", "icalgebra", *words, "--device", "cpu", "--json"]
            driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_for(lambda out=out: list((out / "out").glob("runs/*/checkpoints/step_*")), 180)
            time.sleep(rng.uniform(0, 1))
            driver.kill()
            driver.wait()
            assert subprocess.run(command, capture_output=True, timeout=600).returncode == 0
            table = rows(out / "out")
            assert all(row["done"] for row in table)
            expected = expected or table
            assert table == expected


def _ray_workers() -> Any:
    from icalgebra.sweep.cluster import RayWorkers

    return RayWorkers(2, "cpu")
