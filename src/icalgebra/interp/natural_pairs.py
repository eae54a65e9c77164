"""Counterfactual pairs of natural sequences: whole hold-out contexts, other structures and repeated facts included.

The base is a hold-out sequence as it was drawn. The source is another one whose query is about the same structure,
with its variables renamed so that the two structures share all members but one, as in data/counterfactuals.py:

    kind            the base lacks        the source lacks        source's answer   target
    closure         p, a new variable     the base's answer       a shared one      p
    cancellation    p                     q, some other member    p                 q

In both, closure − cancellation leaves the answer alone. Renaming the variables of a whole sequence keeps its law as
long as no identity gets the reserved variable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from icalgebra.data.counterfactuals import Pairs
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.interp.probes import sets_of_queries
from icalgebra.interp.query_batch import QueryBatch
from icalgebra.language.sequences import Sequences
from icalgebra.language.world import World
from icalgebra.randomness import numpy_generator

if TYPE_CHECKING:
    from jaxtyping import Int

CANDIDATES = 16  # sequences drawn per wanted pair: of 80 facts a quarter serve
ATTEMPTS = 20  # at a renaming that keeps identities off the reserved variable
KINDS = ("closure", "cancellation")


def natural_pairs(kind: str, n: int, n_facts: int, seed: int = 0, world: World | None = None) -> Pairs:
    """n pairs of hold-out sequences of n_facts facts; no query, and no target, makes an identity fact."""
    world = world or World()
    drawn = sample("holdout", CANDIDATES * n, n_facts, seed, world, stream=f"natural pairs/{kind}")
    queries = QueryBatch.from_sequences(drawn)
    random = numpy_generator(seed, f"natural pairs/{kind}/renamed")
    waiting: dict[str, int] = {}  # by structure: a row that still has no partner
    found: list[tuple[int, int, np.ndarray, int]] = []
    identities = drawn.identity_variables()
    for row in np.flatnonzero(_decided(drawn, queries)):
        base = waiting.pop(queries.structure[row], None)
        if base is None:
            waiting[queries.structure[row]] = int(row)
            continue
        renamed = _renaming(kind, queries[row : row + 1], queries[base : base + 1], identities[row], world, random)
        if renamed is not None:
            found.append((int(row), base, *renamed))
        if len(found) == n:
            return _assembled(kind, drawn, found)
    raise InputError(
        f"only {len(found)} of {n} natural {kind} pairs of {n_facts} facts were found; ask for fewer, or for more facts"
    )


def _decided(drawn: Sequences, queries: QueryBatch) -> np.ndarray:
    """Whether all members of the query's structure have been seen, all but the answer are cancelled, no identity."""
    sets = sets_of_queries(drawn.tokens, drawn.world.n_variables)
    wrong = queries.members.copy()
    wrong[np.arange(len(queries)), queries.answer] = False
    complete = (sets["closure"] == queries.members).all(1) & (sets["cancellation"] == wrong).all(1)
    return complete & ~queries.is_identity


def _renaming(
    kind: str, source: QueryBatch, base: QueryBatch, identities: np.ndarray, world: World, random: np.random.Generator
) -> tuple[Int[np.ndarray, " N"], int] | None:
    """The source's new variables, in the order of its old ones, and the target."""
    members = np.flatnonzero(base.members[0])
    unused = np.setdiff1d(np.arange(world.n_variables), base.tokens[0])
    operands = (int(base.left[0]), int(base.right[0]))
    lacking = [int(base.answer[0])] if kind == "closure" else np.setdiff1d(members, [base.answer[0], *operands])
    if not len(unused) or not len(lacking):
        return None
    new, old = int(random.choice(unused)), int(random.choice(lacking))
    own = np.append(members[members != old], new)
    answer = int(source.answer[0])
    for _ in range(ATTEMPTS):
        names = np.empty(world.n_variables, dtype=np.int64)
        names[source.members[0]] = random.permutation(own)
        names[~source.members[0]] = random.permutation(np.setdiff1d(np.arange(world.n_variables), own))
        if kind == "cancellation":
            names[names == new], names[answer] = names[answer], new
        if (kind == "cancellation") == (names[answer] == new) and world.reserved_id not in names[identities]:
            return names, new if kind == "closure" else old
    return None


def _assembled(kind: str, drawn: Sequences, found: list[tuple[int, int, np.ndarray, int]]) -> Pairs:
    sources, bases, names, targets = (list(column) for column in zip(*found))
    n_variables = drawn.world.n_variables
    # '=' and ',' keep their tokens, and empty places of an assignment stay −1.
    tables = np.concatenate([np.stack(names), np.tile([n_variables, n_variables + 1, -1], (len(names), 1))], axis=1)
    rows = np.arange(len(names))[:, None]
    source = replace(
        drawn,
        tokens=tables[rows, drawn.tokens[sources]].astype(np.uint8),
        structures=drawn.structures[sources],
        assignment=tables[rows, drawn.assignment[sources]].astype(np.int8),
        distribution=f"natural {kind} pairs, source",
    )
    base = replace(
        drawn,
        tokens=drawn.tokens[bases],
        structures=drawn.structures[bases],
        assignment=drawn.assignment[bases],
        distribution=f"natural {kind} pairs, base",
    )
    target_sets = np.zeros((len(targets), n_variables), dtype=bool)
    target_sets[np.arange(len(targets)), targets] = True
    return Pairs(source, base, np.array(targets), target_sets)
