"""Run by hand: the oracle against brute force in exact fractions on thousands of tiny cases.

    python scripts/oracle_brute_force.py --cases 20

Worlds × query modes × context sizes 0 … 9, `cases` contexts of each, sampled from the world; some with one fact
replaced by a random one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from brute_force import brute_force_posterior, joint_weights
from icalgebra.data.distributions import sample
from icalgebra.language.world import World
from icalgebra.oracle import classify_queries

WORLDS = {
    **{
        f"{names} N={n} reserved={reserved} p_mix={p_mix}": World(tuple(names.split()), n, p_mix, reserved=reserved)
        for names in ("C3 C4 D2", "C3 D3 C6")
        for n in (6, 7)
        for reserved, p_mix in (("a", 0.7), (None, 0.5))
    },
    "stop": World(("C2", "C3", "C4"), 7, 0.7, mixture_rule="stop"),
    "all": World(("C3", "D2"), 7, mixture_rule="all"),
    "semigroups": World(("Semigroup(3,0)", "Semigroup(4,1)", "C3"), 7),
    "magmas": World(("Magma(3,0)", "Magma(4,1)"), 7, 0.5),
    "monoids, quasigroups": World(("Monoid(3,0)", "Quasigroup(4,0)", "C1"), 6, reserved=None),
}


def contexts(world: World, query: str, n_context: int, cases: int, seed: int) -> Iterator[tuple[np.ndarray, int, int]]:
    """Contexts with a query, sampled from the world in both query modes; every fourth has one random fact."""
    random = np.random.default_rng(seed)
    for i in range(cases):
        kind = query if i % 3 else ("train" if query == "holdout" else "holdout")
        row = sample(kind, 1, n_context + 1, seed, world, start=i).facts[0].astype(np.int64)
        if i % 4 == 3 and n_context:
            row[random.integers(n_context)] = random.integers(world.n_variables, size=3)
        x, y = row[-1, :2] if i % 5 else random.integers(world.n_variables, size=2)
        yield row[:-1], int(x), int(y)


def as_tokens(facts: np.ndarray, x: int, y: int, world: World) -> np.ndarray:
    letters = world.vocabulary.variables
    text = "".join(f",{letters[a]}{letters[b]}={letters[c]}" for a, b, c in facts) + f",{letters[x]}{letters[y]}="
    return world.vocabulary.encode(text)[None]


def compare(facts: np.ndarray, x: int, y: int, world: World, query: str) -> str:
    """Raises where the oracle differs; returns the kind of the query."""
    exact = brute_force_posterior(facts, x, y, world, query)
    judged = classify_queries(as_tokens(facts, x, y, world), world, query)
    np.testing.assert_allclose(judged.probabilities[0], np.array(exact, dtype=float), rtol=1e-10, atol=0)
    possible = sum(p > 0 for p in exact)
    kind = "impossible" if possible == 0 else "entailed" if possible == 1 else "guess"
    assert judged.kinds[0] == kind, (judged.kinds[0], kind, facts, x, y)
    if possible:
        total = float(sum(joint_weights(facts, x, y, world, query)))
        np.testing.assert_allclose(np.exp(judged.log_weights[0]), total, rtol=1e-9)
    return kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    for name, world in WORLDS.items():
        for query in ("holdout", "train"):
            for n_context in range(10):
                for case in contexts(world, query, n_context, options.cases, options.seed):
                    kinds[compare(*case, world, query)] += 1
        print(f"{name}: equal so far on {kinds.total()} cases ({dict(kinds)})", flush=True)


if __name__ == "__main__":
    main()
