"""Counter-based randomness: row i of stream s under seed S is a pure function of (S, s, i).

A 64-bit key is hashed from (seed, stream). Each row has its own SplitMix64 generator, started at a mix of key and row
number. So a row is the same whatever the batch size, worker, rank, device or order of requests.
A generator's state is a one-element uint64 array; the kernels are compiled and can also be called from Python.
"""

from __future__ import annotations

import hashlib

import numpy as np

from icalgebra.compilation import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # SplitMix64's increment: 2**64 over the golden ratio, made odd
LOW_32 = np.uint64(0xFFFFFFFF)


def stream_key(seed: int, stream: str) -> np.uint64:
    """The key of one stream: a hash, so that neighbouring seeds and similar names give unrelated streams."""
    digest = hashlib.blake2b(f"{seed}/{stream}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def generator(seed: int, stream: str) -> np.ndarray:
    """A generator for code that needs one sequence of random numbers rather than rows, such as random tables."""
    return np.array([stream_key(seed, stream)], dtype=np.uint64)


def numpy_generator(seed: int, stream: str) -> np.random.Generator:
    """The same for code that works on arrays."""
    return np.random.Generator(np.random.PCG64(int(stream_key(seed, stream))))


@njit(inline="always", cache=True)
def mix(z):
    """SplitMix64's output function."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(inline="always", cache=True)
def row_state(key, row):
    """The initial state of one row's generator."""
    return mix(mix(key ^ (np.uint64(row) * np.uint64(0xD1342543DE82EF95))) + np.uint64(row))


@njit(inline="always", cache=True)
def next_u64(state):
    """Advance the generator; its next 64 bits."""
    state[0] += GOLDEN
    return mix(state[0])


@njit(cache=True)
def below(state, n):
    """An unbiased uniform integer in [0, n), n < 2**32 (Lemire's method: multiply, shift, rarely reject)."""
    n = np.uint64(n)
    product = (next_u64(state) >> np.uint64(32)) * n
    if (product & LOW_32) < n:
        threshold = (np.uint64(1) << np.uint64(32)) % n
        while (product & LOW_32) < threshold:
            product = (next_u64(state) >> np.uint64(32)) * n
    return np.int64(product >> np.uint64(32))


@njit(cache=True)
def uniform(state):
    """A uniform double in [0, 1)."""
    return np.float64(next_u64(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def row_uniforms(key, start, n):
    """One uniform double for each of the rows start … start+n−1 of a stream."""
    state = np.empty(1, dtype=np.uint64)
    found = np.empty(n, dtype=np.float64)
    for row in range(n):
        state[0] = row_state(key, start + row)
        found[row] = uniform(state)
    return found


@njit(cache=True)
def partial_shuffle(state, values, n_chosen):
    """Fisher–Yates for the first n_chosen positions: they become a uniform ordered sample of `values`."""
    for i in range(n_chosen):
        j = i + below(state, len(values) - i)
        values[i], values[j] = values[j], values[i]
