"""Named distributions of sequences; `sample()`.

>>> icalgebra.sample("holdout", n=2, n_facts=6, seed=0).texts()
[',eh=n,nh=m,hc=b,fm=e,nh=m,bm=m', ',od=o,ee=d,ce=l,ce=l,ie=m,ci=o']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np

from icalgebra.algebra.axioms import is_latin
from icalgebra.data import sampler as s
from icalgebra.data.sampler import DistributionSpec, WorldArrays
from icalgebra.errors import InputError, shortened, unknown
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.language.world import MIXTURE_RULES, World, check_number, check_world
from icalgebra.processes import free_memory
from icalgebra.randomness import stream_key
from icalgebra.records import argument

CHUNK = 4096  # rows per kernel call; Ctrl-C takes effect between two calls


@dataclass(frozen=True)
class Distribution:
    """What the sampler needs to know, the smallest number of facts, and one line that says what it is."""

    spec: DistributionSpec
    min_facts: int
    summary: str


_HOLDOUT = s.HOLD_PAIR_AND_REVERSE
_CANCEL = DistributionSpec(held_out=_HOLDOUT, query=s.NO_IDENTITY, required=s.CANCEL_FACTS)
_ASSOCIATE = DistributionSpec(held_out=_HOLDOUT, query=s.NO_IDENTITY, required=s.ASSOCIATE_FACTS)

DISTRIBUTIONS: dict[str, Distribution] = {
    "train": Distribution(DistributionSpec(), 1, "every fact drawn independently"),
    "once": Distribution(
        DistributionSpec(repeats=s.IN_PASSES), 1, "every fact is shown once before any is shown again"
    ),
    "holdout": Distribution(
        DistributionSpec(held_out=_HOLDOUT), 1, "the query and its reverse never occur in the context"
    ),
    "holdout_reserved_identity": Distribution(
        DistributionSpec(held_out=_HOLDOUT, assignment=s.RESERVED_IDENTITY),
        1,
        "holdout, and the reserved variable is the identity of the query's structure",
    ),
    "holdout_unshuffled": Distribution(
        DistributionSpec(held_out=_HOLDOUT, assignment=s.UNSHUFFLED),
        1,
        "holdout with the fixed assignment 0 -> a, 1 -> b, … (as the released code evaluates)",
    ),
    "copy": Distribution(
        DistributionSpec(context=s.SHOWS_PAIR), 2, "train, given that the query occurs in the context"
    ),
    "commute": Distribution(
        DistributionSpec(held_out=s.HOLD_PAIR, query=s.COMMUTING, context=s.SHOWS_REVERSE),
        2,
        "the query is held out, its reverse occurs with the same answer",
    ),
    "commute_any": Distribution(
        DistributionSpec(held_out=s.HOLD_PAIR, query=s.DISTINCT, context=s.SHOWS_REVERSE),
        2,
        "the query is held out, its reverse occurs with any answer",
    ),
    "identity": Distribution(
        DistributionSpec(held_out=_HOLDOUT, query=s.HAS_IDENTITY, context=s.REVEALS_IDENTITY),
        2,
        "holdout, given that an operand of the query is an identity that the context reveals",
    ),
    "cancel": Distribution(_CANCEL, 2, "only facts of the query's row and column that leave one candidate"),
    "cancel_embedded": Distribution(
        _CANCEL._replace(embedded=1), 2, "the facts of cancel embedded in a holdout sequence"
    ),
    "associate": Distribution(_ASSOCIATE, 4, "only the three facts of one associative triple"),
    "associate_embedded": Distribution(
        _ASSOCIATE._replace(embedded=1, context=s.NOT_BY_IDENTITY_OR_CANCEL),
        4,
        "the facts of associate embedded in a holdout sequence that identity and cancel do not solve",
    ),
}


def distribution(name: str) -> Distribution:
    """A distribution by name; an unknown name raises InputError, which suggests the nearest."""
    if not isinstance(name, str) or name not in DISTRIBUTIONS:  # any other type is unknown, too
        raise unknown("distribution", str(name), DISTRIBUTIONS)
    return DISTRIBUTIONS[name]


def holds_out(name: str) -> bool:
    """Whether neither the query nor its reverse can occur in the context; counterfactual pairs hold both out, too."""
    return name not in DISTRIBUTIONS or DISTRIBUTIONS[name].spec.held_out == _HOLDOUT


def sample(
    name: str = "train",
    n: int = 1,
    n_facts: int = 200,
    seed: int = 0,
    world: World | None = None,
    *,
    stream: str | None = None,
    start: int = 0,
) -> Sequences:
    """n sequences of n_facts facts (the query included): rows start … start+n−1 of a stream.

    By default the stream has the name of the distribution. A request that cannot be met raises InputError.
    """
    world = World() if world is None else world
    check_world(world)
    check_request(name, n_facts, world)
    check_rows(n, start, seed, stream)
    check_memory(n, n_facts)
    spec, stream = distribution(name).spec, name if stream is None else stream
    tokens = np.empty((n, n_facts * FACT_LENGTH), dtype=np.uint8)
    structures = np.empty((n, world.max_mixture), dtype=np.int16)
    assignment = np.empty((n, world.n_variables), dtype=np.int8)
    key, arrays = stream_key(seed, stream), world_arrays(world)
    for begin in range(0, n, CHUNK):
        part = slice(begin, min(n, begin + CHUNK))
        n_filled = s.fill_rows(tokens[part], structures[part], assignment[part], key, start + begin, arrays, spec)
        if n_filled < part.stop - begin:
            raise InputError(
                f"no {name} sequence of {n_facts} facts was found in {s.max_attempts(n_facts):,} attempts; "
                "ask for another number of facts, or for other structures"
            )
    return Sequences(tokens, structures, assignment, world, name, seed, stream, start)


def batches(
    name: str = "train",
    batch_size: int = 128,
    n_facts: int = 200,
    seed: int = 0,
    world: World | None = None,
    *,
    stream: str | None = None,
    n: int | None = None,
    start: int = 0,
) -> Iterator[Sequences]:
    """The rows of `sample`, one batch at a time: n rows, or endlessly. Only one batch is in memory."""
    check_number("batch_size", batch_size)
    if batch_size < 1:
        raise InputError(f"a batch needs at least 1 sequence, not {batch_size}")
    check_rows(0 if n is None else n, start, seed, stream)
    end = None if n is None else start + n
    for begin in count(start, batch_size):
        size = batch_size if end is None else min(batch_size, end - begin)
        if size <= 0:
            return
        yield sample(name, size, n_facts, seed, world, stream=stream, start=begin)


@lru_cache(maxsize=256)
def world_arrays(world: World) -> WorldArrays:
    """The world as the compiled sampler reads it."""
    orders = np.array([structure.order for structure in world.pool])
    tables = np.zeros((len(orders), orders.max(), orders.max()), dtype=np.int64)
    for i, structure in enumerate(world.pool):
        tables[i, : orders[i], : orders[i]] = structure.table
    identities = np.array([-1 if structure.identity is None else structure.identity for structure in world.pool])
    latin = np.array([is_latin(structure.table) for structure in world.pool])
    rule = MIXTURE_RULES.index(world.mixture_rule)
    return WorldArrays(
        orders, identities, latin, tables, world.n_variables, world.reserved_id, float(world.p_mix), rule
    )


def check_rows(n: int, start: int, seed: int = 0, stream: str | None = None) -> None:
    """Raise InputError for rows that cannot be asked for, whatever the distribution."""
    for kind, value, name in (
        (int, n, "n"),
        (int, start, "start"),
        (int, seed, "seed"),
        (str | None, stream, "stream"),
    ):
        argument(kind, value, name)
    if n < 0 or start < 0:
        raise InputError(f"n and start are counts of rows, not {min(n, start)}")
    if start >= 2**63:  # rows are numbered by 64-bit integers
        raise InputError(f"start is too large: {shortened(start)}")
    if abs(seed) >= 2**512:
        raise InputError(f"seed is too large: {shortened(seed)}")


def check_memory(n: int, n_facts: int, at_once: str = "") -> None:
    """Raise InputError for more tokens than there are bytes free; numpy would raise different errors by size.

    at_once: what holds the n_facts, where they are not one sequence's.
    """
    free = free_memory()
    if n * n_facts * FACT_LENGTH > free:
        raise InputError(
            f"{n:,} sequences of {n_facts:,} facts{at_once} do not fit in the memory that is free "
            f"({free / 1e9:,.1f} GB); ask for fewer"
        )


def check_request(name: str, n_facts: int, world: World) -> None:
    """Raise InputError, with the reason, for a request that can never be met."""
    wanted = distribution(name)
    check_number("n_facts", n_facts)
    if n_facts < wanted.min_facts:
        raise InputError(f"{name} needs at least {wanted.min_facts} facts, the query included; asked for {n_facts}")
    check_memory(1, n_facts)
    if wanted.spec.assignment == s.RESERVED_IDENTITY and world.reserved is None:
        raise InputError(f"{name} needs a reserved variable; this world has none")
    names = ", ".join(structure.name for structure in world.pool)
    needs_identity = wanted.spec.query == s.HAS_IDENTITY or wanted.spec.assignment == s.RESERVED_IDENTITY
    if needs_identity and all(structure.identity is None for structure in world.pool):
        raise InputError(f"{name} needs a structure with an identity; none of {names} has one")
    if wanted.spec.required == s.CANCEL_FACTS:
        latin = [structure.order for structure in world.pool if is_latin(structure.table)]
        if not latin:
            raise InputError(f"{name} needs a structure with the cancellation law; none of {names} has it")
        if n_facts < min(latin):
            raise InputError(
                f"{name} needs at least as many facts as a structure has elements: "
                f"{min(latin)} in this world; asked for {n_facts}"
            )
