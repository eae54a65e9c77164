"""Counterfactual pairs obey their definition, recomputed from the text of both sequences by the reference solvers."""

import numpy as np
import pytest

from icalgebra.data.counterfactuals import KINDS, counterfactual_pairs
from icalgebra.errors import InputError
from icalgebra.language.sequences import Sequences
from icalgebra.language.world import World
from icalgebra.randomness import stream_key
from icalgebra.solvers.reference import cancel, cancellation_set, closure_set, read

TINY = World(("C3", "C4"), n_variables=8)


def identities(sequences: Sequences) -> list[str]:
    """The letter of the identity, for every row."""
    letters = sequences.world.vocabulary.variables
    return [letters[int(np.flatnonzero(row)[0])] for row in sequences.identity_variables()]


@pytest.mark.parametrize("world", [World(), TINY, World(("Q8", "C5"), n_variables=9)], ids=["paper", "tiny", "other"])
@pytest.mark.parametrize("identity", [False, True], ids=["no identity", "identity"])
@pytest.mark.parametrize("kind", KINDS)
def test_sets_answers_and_target_from_the_text(kind: str, identity: bool, world: World) -> None:
    pairs = counterfactual_pairs(kind, 150, 20, 3, world, identity=identity)
    rows = zip(pairs.source.texts(), pairs.base.texts(), pairs.targets, identities(pairs.source),
               identities(pairs.base), strict=True)  # fmt: skip
    for source, base, target, source_e, base_e in rows:
        source_context, source_query, source_answer = read(source)
        base_context, base_query, base_answer = read(base)
        assert len(source_context) == len(base_context) == 19
        assert list(cancel(source_context, source_query)) == [source_answer]
        assert list(cancel(base_context, base_query)) == [base_answer]
        source_closure, base_closure = closure_set(source_context, source_query), closure_set(base_context, base_query)
        shared = source_closure & base_closure
        (source_own,), (base_own,) = source_closure - shared, base_closure - shared
        if kind == "closure":
            left = source_closure - cancellation_set(base_context, base_query)
            assert base_answer == base_own
            assert source_answer in shared
        else:
            left = base_closure - cancellation_set(source_context, source_query)
            assert source_answer == source_own
            assert base_answer in shared
        assert left == {world.vocabulary.variables[target]}
        if not identity:
            assert source_e not in source_query
            assert base_e not in base_query
            assert not left & set(base_query)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("kind", ["closure", "cancellation"])
def test_sets_that_differ_in_several_members_leave_all_of_them(kind: str, m: int) -> None:
    pairs = counterfactual_pairs(kind, 150, 20, 3, n_own=m)
    letters = np.array(list(pairs.base.world.vocabulary.variables))
    for source, base, wanted in zip(pairs.source.texts(), pairs.base.texts(), pairs.target_sets, strict=True):
        (source_context, source_query, _), (base_context, base_query, _) = read(source), read(base)
        closures = closure_set(source_context, source_query), closure_set(base_context, base_query)
        cancelled = cancellation_set(source_context, source_query), cancellation_set(base_context, base_query)
        left = closures[0] - cancelled[1] if kind == "closure" else closures[1] - cancelled[0]
        assert len(left) == m
        assert left == set(letters[wanted])
        assert not left & set(base_query)
    one = counterfactual_pairs(kind, 50, 20, 3)
    np.testing.assert_array_equal(one.target_sets.argmax(1), one.targets)
    with pytest.raises(InputError, match="at least one variable of its own, not 0"):
        counterfactual_pairs(kind, n_own=0)
    with pytest.raises(InputError, match="at least 3 elements fewer than the 8 variables"):
        counterfactual_pairs(kind, 1, 20, 0, World(("C6",), n_variables=8), n_own=3)


@pytest.mark.parametrize("kind", KINDS)
def test_facts_share_the_querys_row_or_column_and_never_give_it(kind: str) -> None:
    pairs = counterfactual_pairs(kind, 300, 20, 5, identity=True)
    for text in pairs.source.texts() + pairs.base.texts():
        context, query, _ = read(text)
        in_row = [fact[0] == query[0] for fact in context]
        in_column = [fact[1] == query[1] for fact in context]
        assert query not in {fact[:2] for fact in context}
        assert query[::-1] not in {fact[:2] for fact in context}
        if kind == "left cancellation":
            assert all(in_row)
            assert not any(in_column)
        elif kind == "right cancellation":
            assert all(in_column)
            assert not any(in_row)
        else:
            assert all(map(max, in_row, in_column))
            assert any(in_row)
            assert any(in_column)


def test_facts_are_facts_of_one_group_under_each_assignment() -> None:
    pairs = counterfactual_pairs("cancellation", 200, 20, 1, identity=True)
    for sequences in (pairs.source, pairs.base):
        for facts, place, names in zip(sequences.facts, sequences.structures[:, 0], sequences.assignment):
            structure = sequences.world.pool[place]
            element = {int(name): i for i, name in enumerate(names[: structure.order])}
            assert all(structure.table[element[a], element[b]] == element[c] for a, b, c in facts.tolist())
            assert names[structure.identity] != sequences.world.reserved_id


def test_a_row_is_a_function_of_seed_stream_and_number() -> None:
    whole = counterfactual_pairs("closure", 40, 20, 7)
    part = counterfactual_pairs("closure", 10, 20, 7, start=15)
    np.testing.assert_array_equal(part.source.tokens, whole.source.tokens[15:25])
    np.testing.assert_array_equal(part.base.tokens, whole.base.tokens[15:25])
    np.testing.assert_array_equal(part.targets, whole.targets[15:25])
    other = counterfactual_pairs("closure", 40, 20, 7, stream="other")
    assert (other.source.tokens != whole.source.tokens).any(axis=1).all()
    assert stream_key(7, "pairs/closure") != stream_key(7, "other/closure")


def test_every_group_and_variable_takes_part() -> None:
    world = World()
    for kind in KINDS:
        pairs = counterfactual_pairs(kind, 3000, 20, 2)
        assert set(pairs.source.structures[:, 0]) == set(range(len(world.pool)))
        assert set(pairs.targets) == set(range(world.n_variables))


def test_identity_cases_are_marked_and_can_be_left_out() -> None:
    allowed = counterfactual_pairs("cancellation", 2000, 20, 2, identity=True).identity_cases
    assert all(0.05 < cases.mean() < 0.7 for cases in allowed.values())
    left_out = counterfactual_pairs("cancellation", 500, 20, 2).identity_cases
    assert not any(cases.any() for cases in left_out.values())


def test_what_cannot_be_met_is_reported_in_one_line() -> None:
    with pytest.raises(InputError, match="fewer elements than the 4 variables"):
        counterfactual_pairs("closure", 1, 20, 0, World(("C4",), n_variables=4))
    with pytest.raises(InputError, match="kind of pair"):
        counterfactual_pairs("clozure")
    with pytest.raises(InputError, match="no cancellation pair"):
        counterfactual_pairs("cancellation", 1, 20, 0, World(("C2",), n_variables=4))


@pytest.mark.parametrize("rows", [{"n": -1}, {"start": -1}])
def test_rows_are_counts(rows: dict) -> None:
    with pytest.raises(InputError, match="counts of rows, not -1"):
        counterfactual_pairs("closure", **rows)
