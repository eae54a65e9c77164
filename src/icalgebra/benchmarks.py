"""What `icalgebra bench` measures: one function a part, each warmed up and timed on one core."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from icalgebra.distributions import DISTRIBUTIONS, sample, world_arrays
from icalgebra.randomness import stream_key
from icalgebra.sampler import Law, fill_rows
from icalgebra.solvers import answer_sets
from icalgebra.vocabulary import FACT_LENGTH
from icalgebra.world import World

RELEASED_GENERATOR = 830.0  # sequences a second, one core; the most that was measured of the released code

RELEASED_COVERAGE = 5.0  # sequences a second through the released code's five coverage functions


def best_time(work: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs, after one to warm up (compilation, caches)."""
    work()
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return min(times)


def sampler(seed: int) -> dict[str, Any]:
    """Training sequences of 200 facts into a buffer that is used again, as a trainer does."""
    n, n_facts, world = 8192, 200, World()
    tokens = np.empty((n, n_facts * FACT_LENGTH), dtype=np.uint8)
    structures = np.empty((n, world.max_mixture), dtype=np.int16)
    assignment = np.empty((n, world.n_variables), dtype=np.int8)
    key, arrays, law = stream_key(seed, "bench"), world_arrays(world), Law()
    seconds = best_time(lambda: fill_rows(tokens, structures, assignment, key, 0, arrays, law))
    rate = n / seconds
    return {
        "rate": rate,
        "released_code": RELEASED_GENERATOR,
        "ratio": rate / RELEASED_GENERATOR,
        "unit": "sequences/s",
    }


def distributions(seed: int) -> dict[str, Any]:
    """Every distribution through the public call, 200 facts."""

    def rate(name: str) -> float:
        return 2048 / best_time(lambda: sample(name, 2048, 200, seed), repeats=2)

    return {**{name: rate(name) for name in DISTRIBUTIONS}, "unit": "sequences/s"}


def solvers(seed: int) -> dict[str, Any]:
    """All five mechanisms at all 200 positions of training sequences."""
    tokens = sample("train", 2048, 200, seed).tokens
    rate = 2048 / best_time(lambda: [answer_sets(tokens[i : i + 256], "every") for i in range(0, 2048, 256)])
    return {"rate": rate, "released_code": RELEASED_COVERAGE, "ratio": rate / RELEASED_COVERAGE, "unit": "sequences/s"}


BENCHMARKS: dict[str, Callable[[int], dict[str, Any]]] = {
    "sampler": sampler,
    "distributions": distributions,
    "solvers": solvers,
}


def run_benchmarks(names: list[str], seed: int) -> dict[str, Any]:
    return {name: BENCHMARKS[name](seed) for name in names}
