"""Coverage (C1, C2) and the copyable share (B2): how much could the five mechanisms answer?

The paper does not state the setting of its coverage figures, so both candidates are measured: the main model's
(p_mix .7, no D2) and the one that fits (p_mix .5, with D2). Commutative copies are counted in two ways: whatever their
answer, as in the paper's listing (train_any), and only if their answer is right (train).
"""

from __future__ import annotations

from icalgebra.data.distributions import sample
from icalgebra.language.world import World
from icalgebra.model.accuracy import accuracy_estimate
from icalgebra.results import Curve, Result, reproduce_command
from icalgebra.solvers import MECHANISMS
from icalgebra.solvers.coverage import Coverage, coverage
from icalgebra.statistics import Estimate

# p5_d2 reproduces every published AUC (C1, C2); p7 covers less (copy 63.1 % against 67.9 % published).
SETTINGS = {"p7": World(), "p5_d2": World(p_mix=0.5, d2=True)}
N_FACTS = 200


def run(tier: str, seed: int, n: int) -> Result:
    values: dict[str, Estimate] = {}
    curves: dict[str, Curve] = {}
    for setting, world in SETTINGS.items():
        train = sample("train", n, N_FACTS, seed, world, stream="coverage/train")
        holdout = sample("holdout", n, N_FACTS, seed, world, stream="coverage/holdout")
        measured = {
            "train": coverage(train.tokens, "every"),
            "train_any": coverage(train.tokens, "every", commute_any=True),
            "holdout": coverage(holdout.tokens, "last"),
        }
        for kind, covered in measured.items():
            values |= {f"{setting}.{kind}.{name}": covered.auc(name) for name in (*MECHANISMS, "total")}
            curves |= _curves(f"{setting}.{kind}", covered)
        # k-th facts whose pair occurred before: copy is applied first, so it gets all of them. Column 0 is k = 2.
        copied = measured["train"].hits("copy")
        values |= {f"{setting}.copyable.k{k}": accuracy_estimate(copied[:, k - 2]) for k in (50, 200)}
        values[f"{setting}.holdout.not_identity"] = accuracy_estimate(~holdout.identity_queries())
    config = {"n": n, "n_facts": N_FACTS, "settings": {name: world.to_dict() for name, world in SETTINGS.items()}}
    return Result("coverage", tier, "data", seed, config, reproduce_command("coverage", tier, seed), values, curves)


def _curves(prefix: str, covered: Coverage) -> dict[str, Curve]:
    sizes = range(1, covered.solved_by.shape[1])
    return {f"{prefix}.{name}": Curve.from_hits(covered.hits(name), sizes) for name in (*MECHANISMS, "total")}
