"""Run by hand: calibration of the oracle, and the ceiling by number of context facts.

    python scripts/oracle_ceiling.py --n 2000

Calibration compares E[max p] with the accuracy of the likeliest answer (ties share the credit); if the posterior is
exact, the two differ only by sampling error.
"""

from __future__ import annotations

import argparse

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.language.world import World
from icalgebra.oracle import Ceiling, ceiling_hits, classify_queries, credit
from icalgebra.statistics import auc, mean

CONTEXTS = (1, 3, 5, 10, 20, 30, 50)
SETTINGS = (
    ("holdout", World()),
    ("holdout", World(p_mix=0.5, d2=True)),
    ("holdout", World(d2=True)),
    ("train", World(d2=True)),
)


def calibration(n: int, seed: int) -> None:
    world = World()
    for n_context in CONTEXTS:
        sequences = sample("holdout", n, n_context + 1, seed, world, stream="calibration")
        judged = classify_queries(sequences.prompts, world)
        p = judged.probabilities
        best, won = p.max(axis=1), credit(p, sequences.answers)
        entailed = judged.kinds == "entailed"
        wrong = int((won[entailed] < 1).sum())
        gap = mean(won - best)
        print(
            f"n={n_context:3d}  E[max p] {best.mean():.4f}  won {won.mean():.4f}  "
            f"difference {gap.value:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}]  "
            f"entailed {entailed.mean():.4f}, of these wrong {wrong}",
            flush=True,
        )


def ceiling(query: str, world: World, n: int, seed: int) -> Ceiling:
    parts = [ceiling_hits(sample(query, 100, 200, seed, world, start=i), query) for i in range(0, n, 100)]  # type: ignore[arg-type]
    return Ceiling(*(np.concatenate([getattr(part, name) for part in parts]) for name in Ceiling.__annotations__))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    calibration(options.n, options.seed)
    for query, world in SETTINGS:
        found = ceiling(query, world, options.n, options.seed)
        area, won = auc(found.expected), auc(found.hits)
        print(
            f"{query}, p_mix {world.p_mix}, D2 {world.d2}: AUC {area.value:.4f} [{area.low:.4f}, {area.high:.4f}]",
            end="",
        )
        print(f", won {won.value:.4f} [{won.low:.4f}, {won.high:.4f}], entailed {found.entailed.mean():.4f}")
        for n_context in CONTEXTS:
            value = mean(found.expected[:, n_context - 1])
            print(f"    n={n_context:3d}  {value.value:.4f} [{value.low:.4f}, {value.high:.4f}]", flush=True)


if __name__ == "__main__":
    main()
