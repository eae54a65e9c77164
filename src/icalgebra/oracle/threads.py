"""Rows are independent and the kernels hold no lock: a batch is shared out among the cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import get_num_threads

SMALLEST = 2  # rows a part: one row would cost more to hand over than to count


def share_rows(kernel: Callable[..., Any], n: int, *arguments: Any) -> None:
    """kernel(*arguments) with every array of n rows cut into parts; the others go to each part whole."""
    cores = get_num_threads()
    parts = min(4 * cores, n // SMALLEST) if cores > 1 else 1
    if parts < 2:
        kernel(*arguments)
        return
    bounds = np.linspace(0, n, parts + 1).astype(int)
    slices = [slice(*pair) for pair in pairwise(bounds)]
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda rows: kernel(*(_part(argument, rows) for argument in arguments)), slices))


def _part(argument: Any, rows: slice) -> Any:
    return argument[rows] if type(argument) is np.ndarray else argument
