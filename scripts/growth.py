"""Cost against size: python scripts/growth.py writes docs/growth.svg and docs/growth.json, in about a minute.

Facts, variables, order of the structure, width and depth of the model: processor time per sequence or query, torch on
one thread. Processes: wall clock of one training step with 1 and 2 gloo processes, one thread each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

from icalgebra import World, load_model, sample
from icalgebra.atomic_files import write_json, write_text
from icalgebra.cli.benchmarks import processor_time
from icalgebra.errors import InputError
from icalgebra.model.predict import variable_logits
from icalgebra.model.transformer import ModelConfig, Transformer
from icalgebra.oracle import posterior
from icalgebra.plotting import axes, svg
from icalgebra.solvers import answer_sets
from icalgebra.train.config import TrainConfig
from icalgebra.train.data import training_batches
from icalgebra.train.distributed import joined_ranks
from icalgebra.train.loop import Trainer

Points = dict[str, list[list[float]]]  # [size, microseconds] of each part
DOCS = Path(__file__).parent.parent / "docs"


def measured(parts: dict[str, Callable[[Any], Callable[[], Any]]], sizes: Sequence[Any], n: int) -> Points:
    """Microseconds per item of each part at each size, the best of three; parts that refuse a size end there."""
    found: Points = {}
    for name, prepare in parts.items():
        found[name] = []
        for size in sizes:
            try:
                work = prepare(size)
                work()
            except InputError as error:
                print(f"{name} at {size}: {error}")
                continue
            found[name].append([size, 1e6 * min(processor_time(work) for _ in range(3)) / n])
    return found


def symbolic(world_of: Callable[[int], World], facts_of: Callable[[int], int], n: int) -> dict[str, Any]:
    def drawn(size: int) -> Any:
        return sample("holdout", n, facts_of(size), 0, world_of(size))

    def solve(size: int) -> Callable[[], Any]:
        rows = drawn(size)
        return lambda: answer_sets(rows.tokens, "every", rows.world.n_variables)

    def count(size: int) -> Callable[[], Any]:
        rows = drawn(size)
        return lambda: posterior(rows.prompts, rows.world)

    return {"sampler": lambda size: lambda: drawn(size), "solvers, all positions": solve, "oracle, one query": count}


def forward(model_of: Callable[[int], Transformer], facts_of: Callable[[int], int], n: int) -> dict[str, Any]:
    def run(size: int) -> Callable[[], Any]:
        model, prompts = model_of(size), sample("holdout", n, facts_of(size), 0).prompts
        return lambda: variable_logits(model, prompts)

    return {"forward pass": run}


def untrained(n_layers: int, d_model: int) -> Transformer:
    return Transformer(ModelConfig(n_layers, max(1, d_model // 32), d_model, 4 * d_model, 16), seed=0).eval()


def step_seconds(processes: int) -> float:
    """One training step of a batch that is the same whatever the number of processes; the best of eight."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    done = subprocess.run([*command, __file__, "rank"], check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def rank() -> None:
    config = TrainConfig(n_layers=2, d_model=256, n_facts=50, batch_size=32, steps=9, compile="none", precision="fp32")
    with joined_ranks("cpu") as (ranks, device):
        trainer, times = Trainer(config, device, ranks, None), []
        batches = training_batches(config, 0, ranks, device)
        for _ in range(config.steps):
            batch, begin = next(batches), perf_counter()
            trainer.train_step(batch, 1.0)
            times.append(perf_counter() - begin)
        if ranks.leads:
            print(json.dumps(min(times[1:])))


def measure() -> dict[str, Points]:
    small, paper = load_model("small"), World()
    facts = [10, 25, 50, 100, 200, 400, 700, 1000]
    found = {
        "facts": measured(symbolic(lambda k: paper, lambda k: k, 200), facts, 200)
        | measured(forward(lambda k: small, lambda k: k, 1), facts, 1),
        "variables": measured(
            symbolic(lambda v: World(n_variables=v), lambda v: 50, 200), [10, 13, 16, 20, 26, 36, 52], 200
        ),
        "order": measured(symbolic(lambda n: World.only(f"C{n}"), lambda n: 50, 200), list(range(3, 17)), 200),
        "width": measured(forward(lambda d: untrained(2, d), lambda d: 50, 8), [64, 128, 256, 512, 1024], 8),
        "depth": measured(forward(lambda n: untrained(n, 256), lambda n: 50, 8), [1, 2, 4, 8, 12], 8),
    }
    found["processes"] = {"training step": [[n, 1e6 * step_seconds(n)] for n in (1, 2)]}
    return found


def local_slope(points: list[list[float]]) -> float:
    """The exponent of growth between the last two sizes: 1 is linear."""
    (x0, y0), (x1, y1) = points[-2:]
    return float(np.log(y1 / y0) / np.log(x1 / x0))


def draw(found: dict[str, Points]) -> str:
    figure, panels = axes(2, 3, (9.5, 5.6))
    for panel, (size, parts) in zip(panels.flat, found.items(), strict=True):
        for name, points in parts.items():
            if len(points) > 1:
                x, y = np.array(points).T
                panel.loglog(x, y, marker="o", markersize=3, label=f"{name} (∝ n^{local_slope(points):.1f} at the end)")
        panel.set(title=f"cost against {size}", xlabel=size, ylabel="µs")
        panel.legend(fontsize=6)
    return svg(figure, "Processor time against facts, variables, order, width, depth and processes")


def main() -> None:
    if sys.argv[1:] == ["rank"]:
        rank()
        return
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes that are started
    found = measure()
    write_json(DOCS / "growth.json", found)
    write_text(DOCS / "growth.svg", draw(found))
    for size, parts in found.items():
        for name, points in parts.items():
            print(f"{size:10} {name:24}", "  ".join(f"{x:g}: {y:,.0f}" for x, y in points))


if __name__ == "__main__":
    main()
