"""Rows are independent and the kernels hold no lock: a batch that is worth it is shared out among the cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numba import config

WORTH_SHARING = 0.02  # seconds: handing rows to threads costs a few hundredths of that


def parallel_rows(kernel: Callable[..., Any], n: int, *arguments: Any) -> None:
    """kernel(*arguments) with every array of n rows cut into parts; the others go to each part whole.

    The first row tells what the others may cost: from microseconds to a second, as the world and the context are.
    """

    def work(rows: slice) -> None:
        kernel(*(_part(argument, rows) for argument in arguments))

    begun = perf_counter()
    work(slice(0, 1))
    # numba.get_num_threads would start numba's own pool, which sets OpenMP's number of threads, and with it torch's.
    cores = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # numba sets it when imported
    if cores == 1 or (n - 1) * (perf_counter() - begun) < WORTH_SHARING:
        work(slice(1, n))
        return
    bounds = np.linspace(1, n, min(4 * cores, n - 1) + 1).astype(int)
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, (slice(*pair) for pair in pairwise(bounds))))


def _part(argument: Any, rows: slice) -> Any:
    return argument[rows] if type(argument) is np.ndarray else argument
