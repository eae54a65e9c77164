"""Counterfactual pairs: the closure set of one sequence and the cancellation set of the other give a third answer.

Both sequences are about one group of order n. They share n − 1 variables; the source also has p, the base also has q.
Each has only facts of its query's row and column, repeated, so that closure − cancellation is exactly its own answer:

    kind            source's answer       base's answer         target
    closure         a shared variable     q                     p
    cancellation    p                     a shared variable     q

    closure:        source's closure {shared, p} − base's cancellation {shared} = {p}
    cancellation:   base's closure {shared, q} − source's cancellation {shared} = {q}

left (right) cancellation: the same with facts of the query's row (column) alone. With n_own = m > 1 the sequences share
n − m variables, and m variables are left instead of one target. A pair that breaks a rule is drawn again as a whole,
the group included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from icalgebra.data import pair_kernels as p
from icalgebra.data.distributions import check_memory, check_rows, world_arrays
from icalgebra.data.pair_kernels import PairSpec
from icalgebra.errors import InputError, unknown
from icalgebra.language.notebook import ROWS_SHOWN, facts_html, structures_html
from icalgebra.language.sequences import Sequence, Sequences
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.language.world import World, check_number, check_world
from icalgebra.markup import Markup, join, paragraph, table
from icalgebra.randomness import stream_key
from icalgebra.records import argument

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
class Pair:
    """One source, one base, and the base's answer once it has the source's set."""

    source: Sequence
    base: Sequence
    target: str

    def _repr_html_(self) -> str:
        return join(
            [_side_html("source", self.source), _side_html("base", self.base), paragraph(f"target {self.target}")]
        )


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Sources, bases, and targets: the answer of each base once it has the source's set.

    With several own variables, target_sets has all the variables that are then left, and targets the first of them.
    pairs[0] is one Pair.
    """

    source: Sequences
    base: Sequences
    targets: Int[np.ndarray, " n"]
    target_sets: Bool[np.ndarray, "n N"]

    def __len__(self) -> int:
        return len(self.targets)

    @overload
    def __getitem__(self, rows: int) -> Pair: ...
    @overload
    def __getitem__(self, rows: slice) -> Pairs: ...
    def __getitem__(self, rows: Any) -> Pair | Pairs:
        source, base = self.source[rows], self.base[rows]
        if isinstance(source, Sequence):
            return Pair(source, base, source.vocabulary.variables[self.targets[rows]])
        return Pairs(source, base, self.targets[rows], self.target_sets[rows])

    def __iter__(self) -> Iterator[Pair]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        kind = self.source.distribution.removesuffix(", source")
        return f"Pairs({len(self)} of {self.source.n_facts} facts, {kind!r}, seed {self.source.seed})"

    def _repr_html_(self) -> str:
        rows = [(structures_html(pair.source), facts_html(pair.source), facts_html(pair.base), pair.target)
                for pair in self[:ROWS_SHOWN]]  # fmt: skip
        return join([paragraph(repr(self)), table(("structures", "source", "base", "target"), rows)])

    @property
    def identity_cases(self) -> dict[str, Bool[np.ndarray, " n"]]:
        """Where the source's or the base's query is an identity fact, or the target would make the base's query one."""
        operands = self.base.facts[:, -1, :2]
        return {
            "source": self.source.identity_queries(),
            "base": self.base.identity_queries(),
            "target": (operands == self.targets[:, None]).any(axis=1),
        }


def _side_html(name: str, sequence: Sequence) -> Markup:
    return paragraph(join([f"{name} ", structures_html(sequence), " ", facts_html(sequence)]))


def counterfactual_pairs(
    kind: str,
    n: int = 1,
    n_facts: int = 20,
    seed: int = 0,
    world: World | None = None,
    *,
    identity: bool = False,
    n_own: int = 1,
    stream: str = "pairs",
    start: int = 0,
) -> Pairs:
    """n pairs of sequences of n_facts facts: rows start … start+n−1 of a stream.

    identity: whether queries may be identity facts, and targets may make the base's query one.
    n_own: how many variables each sequence has that the other does not.
    """
    world = World() if world is None else world
    check_world(world)
    check_number("n_facts", n_facts)
    check_number("seed", seed)
    kind = argument(str, kind, "kind").replace("elimination", "cancellation")  # the earlier name
    if kind not in KINDS:
        raise unknown("kind of pair", kind, KINDS)
    check_rows(n, start, seed, stream)
    check_memory(2 * n, argument(int, n_facts, "n_facts"))
    tokens = np.empty((2, n, n_facts * FACT_LENGTH), dtype=np.uint8)
    assignments = np.empty((2, n, world.n_variables), dtype=np.int8)
    structures, targets = np.empty((n, world.max_mixture), dtype=np.int16), np.empty(n, dtype=np.int64)
    spec = KINDS[kind]._replace(identity=int(identity), n_own=n_own)
    key = stream_key(seed, f"{stream}/{_STREAM_NAMES[kind]}" + (f"/{n_own}" if n_own > 1 else ""))
    fitting = _fitting(world, n_facts, n_own)
    n_filled = p.fill_pairs(tokens, assignments, structures, targets, key, start, world_arrays(world), fitting, spec)
    if n_filled < n:
        raise InputError(f"no {kind} pair of {n_facts} facts was found; ask for more facts, or for other structures")
    source, base = (
        Sequences(tokens[side], structures, assignments[side], world, f"{kind} pairs, {name}", seed, stream, start)
        for side, name in enumerate(("source", "base"))
    )
    members = [_members(sequences) for sequences in (source, base)]
    holder, other = members if spec.swap == p.SWAP_CLOSURE else members[::-1]
    return Pairs(source, base, targets, holder & ~other)


def _members(sequences: Sequences) -> Bool[np.ndarray, "n N"]:
    """The variables that occur in an assignment."""
    members = np.zeros((len(sequences), sequences.world.n_variables), dtype=bool)
    rows, places = np.nonzero(sequences.assignment >= 0)
    members[rows, sequences.assignment[rows, places]] = True
    return members


def _fitting(world: World, n_facts: int, n_own: int) -> Int[np.ndarray, " fitting"]:
    """The structures with the cancellation law that leave n_own variables free and whose required facts fit."""
    if n_own < 1:
        raise InputError(f"each sequence of a pair needs at least one variable of its own, not {n_own}")
    arrays = world_arrays(world)
    orders = arrays.orders
    fits = (orders > n_own) & (orders <= world.n_variables - n_own) & (orders <= n_facts)
    fitting = np.flatnonzero(arrays.latin & fits)
    if not len(fitting):
        names = ", ".join(structure.name for structure in world.pool)
        fewer = f"at least {n_own} elements fewer than" if n_own > 1 else "fewer elements than"
        raise InputError(
            f"counterfactual pairs need a group with more than {n_own} and {fewer} the {world.n_variables} variables "
            f"and at most {n_facts}, the number of facts; none of {names} is one"
        )
    return fitting
