"""Counterfactual pairs: the closure set of one sequence and the cancellation set of the other give a third answer.

Both sequences are about one group of order n. They share n − 1 variables; the source also has p, the base also has q.
Each has only facts of its query's row and column, repeated, so that closure − cancellation is exactly its own answer:

    kind            source's answer       base's answer         target
    closure         a shared variable     q                     p
    cancellation    p                     a shared variable     q

    closure:        source's closure {shared, p} − base's cancellation {shared} = {p}
    cancellation:   base's closure {shared, q} − source's cancellation {shared} = {q}

left (right) cancellation: the same with facts of the query's row (column) alone. A pair that breaks a rule is drawn
again as a whole, the group included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from icalgebra.data import pair_kernels as p
from icalgebra.data.distributions import check_rows, world_arrays
from icalgebra.data.pair_kernels import PairSpec
from icalgebra.errors import InputError, unknown
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.language.world import World
from icalgebra.randomness import stream_key

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

KINDS: dict[str, PairSpec] = {
    "closure": PairSpec(p.SWAP_CLOSURE),
    "cancellation": PairSpec(p.SWAP_CANCELLATION),
    "left cancellation": PairSpec(p.SWAP_CANCELLATION, p.ROW),
    "right cancellation": PairSpec(p.SWAP_CANCELLATION, p.COLUMN),
}

# Streams keep the earlier word, so that a seed still gives the same rows.
_STREAM_NAMES = {kind: kind.replace("cancellation", "elimination") for kind in KINDS}


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sources, bases, and targets: the answer of each base once it has the source's set."""

    source: Sequences
    base: Sequences
    targets: Int[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def identity_cases(self) -> dict[str, Bool[np.ndarray, " n"]]:
        """Where the source's or the base's query is an identity fact, or the target would make the base's query one."""
        operands = self.base.facts[:, -1, :2]
        return {
            "source": self.source.identity_queries(),
            "base": self.base.identity_queries(),
            "target": (operands == self.targets[:, None]).any(axis=1),
        }


def counterfactual_pairs(
    kind: str,
    n: int = 1,
    n_facts: int = 20,
    seed: int = 0,
    world: World | None = None,
    *,
    identity: bool = False,
    stream: str = "pairs",
    start: int = 0,
) -> Pairs:
    """n pairs of sequences of n_facts facts: rows start … start+n−1 of a stream.

    identity: whether queries may be identity facts, and targets may make the base's query one.
    """
    world = world or World()
    kind = kind.replace("elimination", "cancellation")  # the earlier name
    if kind not in KINDS:
        raise unknown("kind of pair", kind, KINDS)
    check_rows(n, start)
    tokens = np.empty((2, n, n_facts * FACT_LENGTH), dtype=np.uint8)
    assignments = np.empty((2, n, world.n_variables), dtype=np.int8)
    structures, targets = np.empty((n, world.max_mixture), dtype=np.int16), np.empty(n, dtype=np.int64)
    spec, key = KINDS[kind]._replace(identity=int(identity)), stream_key(seed, f"{stream}/{_STREAM_NAMES[kind]}")
    n_filled = p.fill_pairs(
        tokens, assignments, structures, targets, key, start, world_arrays(world), _fitting(world, n_facts), spec
    )
    if n_filled < n:
        raise InputError(f"no {kind} pair of {n_facts} facts was found; ask for more facts, or for other structures")
    source, base = (
        Sequences(tokens[side], structures, assignments[side], world, f"{kind} pairs, {name}", seed, stream, start)
        for side, name in enumerate(("source", "base"))
    )
    return Pairs(source, base, targets)


def _fitting(world: World, n_facts: int) -> Int[np.ndarray, " fitting"]:
    """The structures with the cancellation law that leave one variable free and whose required facts fit."""
    arrays = world_arrays(world)
    orders = arrays.orders
    fitting = np.flatnonzero(arrays.latin & (orders >= 2) & (orders < world.n_variables) & (orders <= n_facts))
    if not len(fitting):
        names = ", ".join(structure.name for structure in world.pool)
        raise InputError(
            f"counterfactual pairs need a group with fewer elements than the {world.n_variables} variables and at "
            f"most {n_facts}, the number of facts; none of {names} is one"
        )
    return fitting
