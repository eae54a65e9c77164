"""Rows on several cores: rows are independent, and the kernels release the GIL."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numba import config

# Seconds of work from which on threads are used. Starting them costs a few hundredths of that; using them for small
# batches as well had halved the oracle's rate.
MIN_PARALLEL_SECONDS = 0.02


def parallel_rows(kernel: Callable[..., Any], n: int, *arguments: Any) -> None:
    """kernel(*arguments) on all n rows: every array argument is split by rows, other arguments go to each part whole.

    The first row is timed to estimate the rest: a row takes from microseconds to a second, depending on the world and
    the context.
    """

    def work(rows: slice) -> None:
        kernel(*(argument[rows] if type(argument) is np.ndarray else argument for argument in arguments))

    begun = perf_counter()
    work(slice(0, 1))
    # numba.get_num_threads would start numba's thread pool, and that sets OpenMP's number of threads for the whole
    # process, torch's too: a process limited to one core then used two, and beside other work on two cores a small
    # matrix product took 7 ms instead of well under one. So numba's setting is read instead.
    cores = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # numba sets it when imported
    if cores == 1 or (n - 1) * (perf_counter() - begun) < MIN_PARALLEL_SECONDS:
        work(slice(1, n))
        return
    bounds = np.linspace(1, n, min(4 * cores, n - 1) + 1).astype(int)  # four parts per core, since rows differ in cost
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, (slice(*pair) for pair in pairwise(bounds))))
