"""Counterfactual pairs: two sequences whose closure and cancellation sets, put together, point at a third answer.

One group of order n for both. They share n − 1 variables; the source also has p, the base also has q. Each holds only
facts of its query's row and column, repeated, so that closure − cancellation is exactly its own answer:

                              source (p)                    base (q)                      target
    closure                   answers a shared variable     answers q                     p
    cancellation               answers p                     answers a shared variable     q

    closure:      source's closure {shared, p} − base's cancellation {shared} = {p}
    cancellation:  base's closure {shared, q} − source's cancellation {shared} = {q}

left (right) cancellation: the same with facts of the query's row (column) alone. A row that breaks a rule is drawn
again whole, the group included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from icalgebra.data import pair_kernels as p
from icalgebra.data.distributions import check_rows, world_arrays
from icalgebra.data.pair_kernels import PairLaw
from icalgebra.errors import InputError, unknown
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.language.world import World
from icalgebra.randomness import stream_key

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

KINDS: dict[str, PairLaw] = {
    "closure": PairLaw(p.SWAP_CLOSURE),
    "cancellation": PairLaw(p.SWAP_CANCELLATION),
    "left cancellation": PairLaw(p.SWAP_CANCELLATION, p.ROW),
    "right cancellation": PairLaw(p.SWAP_CANCELLATION, p.COLUMN),
}

# Streams keep the earlier name, so that the rows of a seed stay what they were.
_STREAM_NAMES = {kind: kind.replace("cancellation", "elimination") for kind in KINDS}


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sources, bases, and the variable that each base should answer once it has the source's set."""

    source: Sequences
    base: Sequences
    targets: Int[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def identity_cases(self) -> dict[str, Bool[np.ndarray, " n"]]:
        """Source or base asks for an identity fact, or the target would make one of the base's query."""
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

    identity: whether queries may be identity facts, and targets may make one of the base's query.
    """
    world = world or World()
    kind = kind.replace("elimination", "cancellation")  # its earlier name
    if kind not in KINDS:
        raise unknown("kind of pair", kind, KINDS)
    check_rows(n, start)
    tokens = np.empty((2, n, n_facts * FACT_LENGTH), dtype=np.uint8)
    assignments = np.empty((2, n, world.n_variables), dtype=np.int8)
    structures, targets = np.empty((n, world.max_mixture), dtype=np.int16), np.empty(n, dtype=np.int64)
    law, key = KINDS[kind]._replace(identity=int(identity)), stream_key(seed, f"{stream}/{_STREAM_NAMES[kind]}")
    made = p.fill_pairs(
        tokens, assignments, structures, targets, key, start, world_arrays(world), _fitting(world, n_facts), law
    )
    if made < n:
        raise InputError(f"no {kind} pair of {n_facts} facts turned up; ask for more facts, or for other structures")
    source, base = (
        Sequences(tokens[side], structures, assignments[side], world, f"{kind} pairs, {name}", seed, stream, start)
        for side, name in enumerate(("source", "base"))
    )
    return Pairs(source, base, targets)


def _fitting(world: World, n_facts: int) -> Int[np.ndarray, " fitting"]:
    """Structures with the cancellation law that leave a variable over and whose needed facts fit."""
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
