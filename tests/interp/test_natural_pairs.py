"""Natural pairs: two hold-out sequences whose sets, recomputed from the text, leave exactly the target."""

from __future__ import annotations

import numpy as np
import pytest

from icalgebra.errors import InputError
from icalgebra.interp.natural_pairs import KINDS, natural_pairs
from icalgebra.language.world import World
from icalgebra.solvers.reference import cancel, cancellation_set, closure_set, read

WORLDS = [World(), World(("C3", "C4", "D3"), n_variables=11)]


@pytest.mark.parametrize("world", WORLDS, ids=["paper", "small"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_sets_leave_the_target(kind: str, world: World) -> None:
    pairs = natural_pairs(kind, 40, 80, 3, world)
    letters = world.vocabulary.variables
    for source, base, target in zip(pairs.source.texts(), pairs.base.texts(), pairs.targets, strict=True):
        source_context, source_query, source_answer = read(source)
        base_context, base_query, base_answer = read(base)
        assert list(cancel(source_context, source_query)) == [source_answer]
        assert list(cancel(base_context, base_query)) == [base_answer]
        closures = closure_set(source_context, source_query), closure_set(base_context, base_query)
        cancelled = cancellation_set(source_context, source_query), cancellation_set(base_context, base_query)
        left = closures[0] - cancelled[1] if kind == "closure" else closures[1] - cancelled[0]
        assert left == {letters[target]}
        assert len(closures[0] ^ closures[1]) == 2
        assert not left & set(base_query)


@pytest.mark.parametrize("kind", KINDS)
def test_both_are_hold_out_sequences_under_their_assignments(kind: str) -> None:
    world = World()
    pairs = natural_pairs(kind, 30, 60, 1, world)
    for sequences in (pairs.source, pairs.base):
        assert not sequences.identity_queries().any()
        assert not sequences.identity_variables()[:, world.reserved_id].any()
        for row, facts in enumerate(sequences.facts.tolist()):
            table = {}
            begin = 0
            for place in sequences.structures[row]:
                if place >= 0:
                    structure = world.pool[place]
                    own = sequences.assignment[row, begin : begin + structure.order].tolist()
                    begin += structure.order
                    table |= {(own[i], own[j]): own[structure.table[i, j]]
                              for i in range(len(own)) for j in range(len(own))}  # fmt: skip
            assert all(table[x, y] == z for x, y, z in facts)
            asked = set(facts[-1][:2])
            assert all({x, y} != asked for x, y, _ in facts[:-1])


def test_the_same_seed_gives_the_same_pairs_and_too_few_facts_are_refused() -> None:
    one, other = (natural_pairs("closure", 10, 60, 5) for _ in range(2))
    np.testing.assert_array_equal(one.source.tokens, other.source.tokens)
    np.testing.assert_array_equal(one.targets, other.targets)
    with pytest.raises(InputError, match="natural closure pairs of 4 facts"):
        natural_pairs("closure", 10, 4, 0)
