"""Rows on several cores: rows are independent, and the kernels release the GIL."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numba import config

from icalgebra.oracle.arrays import OracleArrays
from icalgebra.oracle.budget import QUICK_STEPS, STOP, make_budget
from icalgebra.oracle.rows import OVER_BUDGET

# Seconds of work from which on threads are used. Starting them costs a few hundredths of that; using them for small
# batches as well had halved the oracle's rate.
MIN_PARALLEL_SECONDS = 0.02


def parallel_rows(kernel: Callable[..., Any], kinds: np.ndarray, arrays: OracleArrays, *arguments: Any) -> None:
    """kernel(arrays, limits, *arguments) on all rows: every array argument is split by rows, other arguments go to each
    part whole. kinds [n, …] is one of them: how each row ended.

    The first row is timed to estimate the rest: a row takes from microseconds to seconds, depending on the world and
    the context. What is quick runs here; the rest in threads, while this one waits and hears Ctrl-C.
    """
    n = len(kinds)
    if not n:
        return

    def work(rows: slice, limits: np.ndarray) -> None:
        parts = (argument[rows] if type(argument) is np.ndarray else argument for argument in arguments)
        kernel(arrays, (limits,), *parts)

    quick, begun = make_budget(QUICK_STEPS), perf_counter()
    work(slice(0, 1), quick)
    if (n - 1) * (perf_counter() - begun) < MIN_PARALLEL_SECONDS:
        work(slice(1, n), quick)
        left = np.flatnonzero((kinds == OVER_BUDGET).reshape(n, -1).any(axis=1))
        parts = [slice(int(row), int(row) + 1) for row in left]
    else:
        first = 0 if (kinds[:1] == OVER_BUDGET).any() else 1
        n_parts = min(4 * n_threads(), n - first)  # four per core, since rows differ in cost
        bounds = np.linspace(first, n, n_parts + 1).astype(int)
        parts = [slice(*pair) for pair in pairwise(bounds)]
    if parts:
        _in_threads(work, parts)


def _in_threads(work: Callable[[slice, np.ndarray], None], parts: list[slice]) -> None:
    limits = make_budget()
    with ThreadPoolExecutor(n_threads()) as pool:
        try:
            for future in [pool.submit(work, part, limits) for part in parts]:
                future.result()
        except BaseException:  # Ctrl-C: every kernel gives its query up at once
            limits[STOP] = 1
            pool.shutdown(cancel_futures=True)
            raise


def n_threads() -> int:
    # numba.get_num_threads would start numba's thread pool, and that sets OpenMP's number of threads for the whole
    # process, torch's too: a process limited to one core then used two, and beside other work on two cores a small
    # matrix product took 7 ms instead of well under one. So numba's setting is read instead.
    return config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # numba sets it when imported
