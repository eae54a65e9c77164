"""Run by hand: the ladder against the exact oracle, and its proofs against the checker, on thousands of queries.

    python scripts/ladder_soundness.py --n 300

Worlds × kinds of query × context sizes. Prints violations (there must be none), the share of entailed queries that each
rung decides, examples of entailed queries that none decides, how many proofs the checker accepts, and how many mutated
proofs it refuses. A mutated proof that it accepts is printed: it has to be right as it stands.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from icalgebra.data.distributions import sample
from icalgebra.language.world import World
from icalgebra.oracle import classify_queries
from icalgebra.solvers.ladder import RUNGS, check_proof, decide_queries, prove
from proof_mutations import mutate

WORLDS = {
    "paper": (World(), 1.0),
    "cyclic groups": (World(("C3", "C4", "C5", "C6", "C7")), 1.0),
    "with D2, p_mix .5": (World(d2=True, p_mix=0.5), 1.0),
    "orders 12 to 16": (World(("C12", "D6", "C13", "C14", "D7", "C15", "C16", "D8")), 0.1),
    "7 variables": (World(("C2", "C3", "C4", "D2"), 7), 1.0),
    "order 8 and 6, none reserved": (World(("C8", "D4", "Q8", "C6", "D3"), 16, reserved=None), 0.3),
}
SIZES = (2, 3, 5, 8, 11, 15, 20, 30, 50, 100)  # facts of context


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=250, help="queries per world, kind and size")
    parser.add_argument("--proofs", type=int, default=25, help="proofs per world, kind and size")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random, totals = np.random.default_rng(options.seed), Counter[str]()
    for name, (world, part) in WORLDS.items():
        decided, undecided = Counter[str](), []
        for kind in ("holdout", "train"):
            for size in SIZES:
                sequences = sample(
                    kind, int(part * options.n), size + 1, options.seed, world, stream="ladder/soundness"
                )
                found = decide_queries(sequences.prompts, world, "split")
                oracle = classify_queries(sequences.prompts, world, kind)
                entailed, best = oracle.kinds == "entailed", oracle.probabilities.argmax(1)
                wrong = (found.rungs >= 0) & ~(entailed & (found.answers == best))
                totals["queries"] += len(sequences)
                totals["violations"] += int(wrong.sum())
                decided["queries"] += len(sequences)
                decided["entailed"] += int(entailed.sum())
                for rung in range(len(RUNGS)):
                    decided[RUNGS[rung]] += int((entailed & (found.rungs >= 0) & (found.rungs <= rung)).sum())
                texts = [text[:-1] for text in sequences.texts()]
                undecided += [texts[i] for i in np.flatnonzero(entailed & (found.rungs < 0))]
                check_some(np.flatnonzero(found.rungs >= 0)[: options.proofs], texts, world, random, totals)
        shares = ", ".join(f"{rung} {100 * decided[rung] / decided['entailed']:.1f} %" for rung in RUNGS)
        print(f"{name}: {decided['queries']} queries, {decided['entailed']} entailed: {shares}")
        print("  entailed but undecided:", *sorted(undecided, key=len)[:4], sep="\n    ")
        print(f"  so far: {dict(totals)}", flush=True)


def check_some(rows: np.ndarray, texts: list[str], world: World, random: np.random.Generator, totals: Counter) -> None:
    for row in rows:
        text, facts = texts[row], texts[row][1:].split(",")[:-1]
        proof = prove(text, world)
        assert proof is not None
        wrong = check_proof(proof, text, world)
        totals["proofs"] += 1
        totals["proofs refused"] += wrong is not None
        if wrong:
            print("  REFUSED:", text, wrong)
        for _ in range(4):
            mutated = mutate(proof, facts, world.vocabulary.variables, random)
            if mutated is None:
                continue
            totals["mutations"] += 1
            if check_proof(mutated[1], text, world) is None:
                # Where only a citation changed, the proof still states the same and each step was checked again.
                same = [step.conclusion for step in proof.steps] == [step.conclusion for step in mutated[1].steps]
                totals[f"accepted, {'other citations for the same statements' if same else 'OTHER STATEMENTS'}"] += 1
                before, after = next(
                    (old, new) for old, new in zip(proof.steps, mutated[1].steps, strict=True) if old != new
                )
                print(f"  accepted, {mutated[0]}: {before} -> {after} in {text[-60:]}")


if __name__ == "__main__":
    main()
