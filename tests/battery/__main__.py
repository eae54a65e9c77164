"""Run the battery, or parts of it, and print one table: tried, survived, lost. Exit code 1 if anything is lost."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console
from rich.table import Table

from battery import damage, fuzz, kills, machine, real_parts
from battery.tally import Part, Tally

ROOT = Path(__file__).parents[2]
# name -> (function, how many, what)
PARTS: dict[str, tuple[Part, int, str]] = {
    "kills": (kills.run, 60, "kill -9: training, resume, sweep, worker"),
    "signals": (kills.signals, 12, "SIGINT, SIGTERM, SIGHUP, two Ctrl-C"),
    "sharing": (kills.sharing, 2, "two processes on one folder"),
    "damage": (damage.run, 1500, "damaged run folders, sweeps, results"),
    "disks": (machine.disks, 12, "full and read-only disks"),
    "fuzz": (fuzz.run, 60_000, "malformed input to every parser and reader"),
    "determinism": (machine.determinism, 12, "batch sizes, threads, hash seeds"),
    "memory": (machine.memory, 1000, "thousands of sequences, streamed or measured"),
    "wheel": (machine.wheel, 20, "every command of the wheel, bare environments"),
    "trackers": (real_parts.trackers, 1, "tensorboard read back, wandb offline"),
    "ranks": (real_parts.ranks, 4, "two gloo processes, one killed"),
    "ray": (real_parts.ray, 2, "Ray: a killed worker, a killed driver"),
}


def main() -> int:
    options = argparse.ArgumentParser(prog="battery", description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--parts", default=",".join(PARTS), help="by name, separated by commas")
    options.add_argument("--counts", default="", help="kills=10,fuzz=5000: other numbers of attempts")
    options.add_argument("--again", action="store_true", help="run parts anew that this seed has already survived")
    chosen = options.parse_args()
    counts = {name: count for name, (_, count, _) in PARTS.items()}
    counts |= {name: int(n) for name, _, n in (item.partition("=") for item in chosen.counts.split(",") if item)}
    names = chosen.parts.split(",")
    for name in (*names, *counts):
        if name not in PARTS:
            options.error(f"no part {name!r}; parts: {', '.join(PARTS)}")
    path = ROOT / "build" / "battery" / f"seed-{chosen.seed}.json"
    done: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for name in names:
        found = done.get(name)
        if chosen.again or not found or found["count"] != counts[name] or found["lost"]:
            done[name] = attempt(name, counts[name], chosen.seed)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(done, indent=1))
    shown = {name: done[name] for name in names}
    show(shown, chosen.seed)
    return int(any(part["lost"] for part in shown.values()))


def attempt(name: str, count: int, seed: int) -> dict[str, Any]:
    """One part, in a folder that is removed afterwards. A part that cannot even start is lost."""
    print(f"{name}: {PARTS[name][2]} …", file=sys.stderr, flush=True)
    tally, begun = Tally(), time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="battery-") as folder:
        try:
            PARTS[name][0](tally, count, Random(f"{seed}/{name}"), Path(folder) / name)
        except Exception as error:
            tally.tried += 1
            tally.lose(name, f"it could not go on: {type(error).__name__}: {error}")
    seconds = round(time.perf_counter() - begun)
    return {"count": count, "seconds": seconds, **tally.to_dict()}


def show(parts: dict[str, dict[str, Any]], seed: int) -> None:
    table = Table("part", "what", "tried", "survived", "lost", "seconds", title=f"battery, seed {seed}")
    for name, part in parts.items():
        lost = len(part["lost"])
        numbers = (part["tried"], part["tried"] - lost, lost, part["seconds"])
        table.add_row(name, PARTS[name][2], *(f"{n:,}" for n in numbers))
    Console(markup=False, width=110).print(table)
    for name, part in parts.items():
        for line in [*(f"lost: {line}" for line in part["lost"][:20]), *(f"not tried: {w}" for w in part["left_out"])]:
            print(f"{name}: {line}")


if __name__ == "__main__":
    sys.exit(main())
