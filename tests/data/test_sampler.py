"""The sampler: rows are pure functions of seed, stream and number; facts are true; frequencies are exact."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from helpers import (
    assert_follows,
    assignment_law,
    blocks,
    cells,
    identity_of,
    in_elements,
    mixture_law,
    parse,
    truth,
    uniform_law,
)
from icalgebra.algebra.structures import Structure
from icalgebra.data.dataset import SequenceDataset
from icalgebra.data.distributions import DISTRIBUTIONS, batches, sample
from icalgebra.errors import InputError
from icalgebra.language.world import World
from icalgebra.randomness import below, generator, partial_shuffle, uniform

ARRAYS = ("tokens", "structures", "assignment")
LEFT_ZERO = Structure.from_table("left zero", np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2]]))
WORLDS = {
    "paper": World(),
    "52 variables": World(("C3", "D13", "C26", "C52"), n_variables=52, p_mix=0.9, reserved="Z"),
    "one structure": World(("C6",), p_mix=0.0),
    "own table": World((LEFT_ZERO, "C4"), n_variables=8),
    "no groups": World(("Quasigroup(5,1)", "Semigroup(6,2)", "Monoid(4,0)", "Magma(7,3)"), p_mix=0.8),
    "all": World(("C3", "D3", "Q8"), n_variables=20, mixture_rule="all"),
    "stop": World(mixture_rule="stop", p_mix=0.9),
    "nothing reserved": World(("C2", "C1"), n_variables=3, reserved=None),
}


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


# --- counter-based randomness ---------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    st.sampled_from(sorted(DISTRIBUTIONS)),
    st.integers(0, 2**40),
    st.integers(0, 10**12),
    st.integers(1, 12),
    st.integers(0, 11),
)
def test_a_row_is_a_function_of_seed_stream_and_number(name, seed, start, n, row):
    row = min(row, n - 1)
    many = sample(name, n, 12, seed, start=start)
    assert same(sample(name, 1, 12, seed, start=start + row), many[row : row + 1])


@pytest.mark.parametrize("batch_size", [0, -3])
def test_an_empty_batch_is_refused(batch_size):
    with pytest.raises(InputError, match="at least 1 sequence"):
        next(batches("train", batch_size, 5, n=10))
    with pytest.raises(InputError, match="counts of rows"):
        next(batches("train", 4, 5, n=batch_size - 1))


@pytest.mark.parametrize("batch_size", [1, 7, 30, 64])
def test_batches_hold_the_rows_of_sample(batch_size):
    whole = sample("holdout", 30, 8, seed=3, start=5)
    parts = list(batches("holdout", batch_size, 8, seed=3, n=30, start=5))
    assert [len(part) for part in parts[:-1]] == [batch_size] * (len(parts) - 1)
    assert np.array_equal(np.concatenate([part.tokens for part in parts]), whole.tokens)
    assert [part.start for part in parts] == list(range(5, 35, batch_size))


def test_rows_do_not_depend_on_how_many_are_asked_for():
    assert same(sample("train", 10_000, 3)[4000:4200], sample("train", 200, 3, start=4000))


def test_seeds_and_streams_differ():
    base = sample("train", 50, 10, seed=0)
    others = [sample("train", 50, 10, seed=s) for s in (1, 2, -1, 2**32)]
    others += [sample("train", 50, 10, seed=0, stream=s) for s in ("holdout", "evaluation", "")]
    texts = [text for made in (base, *others) for text in made.texts()]
    assert len(set(texts)) == len(texts)


def test_a_stream_has_the_name_of_its_distribution_by_default():
    assert sample("holdout", 1, 5).stream == "holdout"
    assert same(sample("train", 9, 5), sample("train", 9, 5, stream="train"))


def test_neighbouring_rows_are_not_correlated():
    queries = sample("train", 20_000, 1, world=World(("C2",), n_variables=2)).texts()
    pairs = zip(queries[::2], queries[1::2])
    single = {text: count / 20_000 for text, count in Counter(queries).items()}
    assert_follows(pairs, {(one, two): single[one] * single[two] for one in single for two in single})


def test_no_rows_is_an_empty_value_and_negative_counts_are_errors():
    assert sample("train", 0, 5).tokens.shape == (0, 25)
    for bad in ({"n": -1}, {"n": 1, "start": -1}):
        with pytest.raises(InputError, match="counts of rows"):
            sample("train", n_facts=5, **bad)


def test_slices_keep_their_place_in_the_stream():
    part = sample("train", 20, 4)[5:15]
    assert part.start == 5
    assert same(part[2:4], sample("train", 2, 4, start=7))
    with pytest.raises(ValueError, match="consecutive"):
        part[::2]


# --- the generator itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100])
def test_below_is_uniform(n):
    state = generator(1, f"below {n}")
    drawn = [int(below(state, n)) for _ in range(20_000)]
    assert set(drawn) == set(range(n))
    if n > 1:
        assert_follows(drawn, uniform_law(range(n)))


def test_below_has_no_bias_near_the_word_size():
    # With n = 3·2³⁰ a plain remainder or multiply of a 32-bit word would favour a third of the range two to one.
    state, n = generator(2, "large"), 3 * 2**30
    assert_follows((int(below(state, n)) * 6 // n for _ in range(30_000)), uniform_law(range(6)))
    assert_follows((int(below(state, n)) % 3 for _ in range(30_000)), uniform_law(range(3)))


def test_uniform_fills_the_unit_interval_evenly():
    state = generator(3, "uniform")
    drawn = [float(uniform(state)) for _ in range(20_000)]
    assert min(drawn) >= 0
    assert max(drawn) < 1
    assert_follows((int(u * 20) for u in drawn), uniform_law(range(20)))


def test_a_partial_shuffle_is_a_uniform_ordered_choice():
    def one(state):
        values = np.arange(4)
        partial_shuffle(state, values, 2)
        assert sorted(values) == [0, 1, 2, 3]
        return int(values[0]), int(values[1])

    state = generator(4, "shuffle")
    law = uniform_law((i, j) for i in range(4) for j in range(4) if i != j)
    assert_follows((one(state) for _ in range(12_000)), law)


# --- torch ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_dataset_gives_the_same_batches_whatever_the_workers(workers):
    dataset = SequenceDataset("holdout", 6, 7, seed=4, n_batches=5, first_batch=2)
    made = list(DataLoader(dataset, batch_size=None, num_workers=workers))
    assert len(made) == 5
    assert made[0].dtype == torch.int64
    expected = sample("holdout", 30, 7, seed=4, start=12).tokens
    assert np.array_equal(torch.cat(made).numpy(), expected)


def test_ranks_share_each_batch_between_them():
    whole = list(SequenceDataset("train", 6, 4, n_batches=3))
    shares = [list(SequenceDataset("train", 6, 4, n_batches=3, rank=r, n_ranks=3)) for r in range(3)]
    for step in range(3):
        assert torch.equal(torch.cat([shares[r][step] for r in range(3)]), whole[step])


def test_a_dataset_refuses_what_cannot_be_met_when_it_is_made():
    for batch_size, n_ranks in ((7, 2), (0, 1), (4, 0)):
        with pytest.raises(InputError, match="evenly"):
            SequenceDataset("train", batch_size, 4, n_ranks=n_ranks)
    with pytest.raises(InputError, match="copy needs at least 2"):
        SequenceDataset("copy", 4, 1)


# --- truth ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["train", "holdout"])
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_every_fact_is_true_in_its_structure(name, world):
    n_facts = 1 if name == "holdout" and world.pool[-1].order == 1 else 30
    made = sample(name, 200, n_facts, seed=11, world=world)
    for row, text in enumerate(made.texts()):
        table = truth(made, row)
        assert all(table[left, right] == answer for left, right, answer in parse(text))


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_assignments_are_injective_and_no_identity_is_reserved(world):
    made = sample("train", 400, 1, seed=12, world=world)
    law = mixture_law(world)
    for row in range(len(made)):
        used = [v for v in made.assignment[row] if v >= 0]
        assert len(set(used)) == len(used)
        assert set(used) <= set(range(world.n_variables))
        drawn = blocks(made, row)
        assert law[tuple(s for s, _ in drawn)] > 0
        for s, names in drawn:
            identity = identity_of(world.pool[s].table)
            assert identity is None or names[identity] != world.reserved


def test_every_variable_but_the_reserved_one_can_be_an_identity():
    made = sample("train", 3000, 1, seed=13)
    identities = {names[0] for row in range(3000) for _, names in blocks(made, row)}
    assert identities == set("bcdefghijklmnop")
    assert "a" in {letter for row in range(100) for _, names in blocks(made, row) for letter in names}


def test_contents_of_a_sequences_value_agree_with_its_text():
    made = sample("train", 40, 9, seed=14)
    letters = made.world.vocabulary.variables
    for row, (text, record) in enumerate(zip(made.texts(), made.records())):
        facts = parse(text)
        assert len(facts) == made.n_facts == 9
        assert ["".join(letters[v] for v in fact) for fact in made.facts[row]] == ["".join(fact) for fact in facts]
        assert letters[made.answers[row]] == facts[-1][2]
        assert made.world.vocabulary.decode(made.prompts[row : row + 1]) == [text[:-1]]
        drawn = blocks(made, row)
        assert record["structures"] == made.structure_names(row) == [made.world.pool[s].name for s, _ in drawn]
        assert record["assignment"] == "".join(letter for _, names in drawn for letter in names)
        place = {letter: i for i, (_, names) in enumerate(drawn) for letter in names}
        assert made.groups_of_variables()[row].tolist() == [place.get(letter, -1) for letter in letters]
    assert made.tokens.dtype == np.uint8


# --- frequencies ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["paper", "stop", "52 variables", "no groups", "nothing reserved"])
def test_structures_are_drawn_with_their_exact_probabilities(name):
    made = sample("train", 30_000, 1, seed=21, world=WORLDS[name])
    assert_follows((tuple(int(s) for s in row if s >= 0) for row in made.structures), mixture_law(WORLDS[name]))


@pytest.mark.parametrize(
    "world",
    [
        World(("C3", "C2"), n_variables=5, mixture_rule="all"),
        World(("C2", "C2"), n_variables=4, reserved="c", mixture_rule="all"),
        World((LEFT_ZERO,), n_variables=4, mixture_rule="all"),
        World(("C3",), n_variables=4, reserved=None, mixture_rule="all"),
        World(("Monoid(3,0)", LEFT_ZERO), n_variables=6, mixture_rule="all"),
    ],
)
def test_assignments_are_uniform_among_the_allowed_ones(world):
    made = sample("train", 20_000, 1, seed=22, world=world)
    law = assignment_law(world, tuple(range(len(world.pool))))
    assert_follows((tuple(int(v) for v in row if v >= 0) for row in made.assignment), law)


@pytest.mark.parametrize("name", ["C3 and D3", "a magma"])
def test_facts_are_uniform_over_all_cells_so_a_structure_weighs_its_order_squared(name):
    world = {
        "C3 and D3": World(("C3", "D3"), mixture_rule="all"),
        "a magma": World(("Magma(4,1)", "C3"), mixture_rule="all"),
    }[name]
    made = sample("train", 2000, 20, seed=23, world=world)
    drawn = [cell for _, facts in in_elements(made) for cell in facts]
    assert_follows(drawn, uniform_law(cells(world, (0, 1))))


def test_facts_of_one_sequence_are_independent():
    world = World(("C2",), n_variables=2, p_mix=0.0, reserved=None)
    made = sample("train", 30_000, 4, seed=24, world=world)
    outcomes = uniform_law(product(cells(world, (0,)), repeat=4))
    assert_follows((facts for _, facts in in_elements(made)), outcomes)


# --- extremes -------------------------------------------------------------------------------------------------------


def test_one_fact_is_just_a_query():
    made = sample("holdout", 50, 1, seed=31)
    assert {len(text) for text in made.texts()} == {5}


@pytest.mark.parametrize("name", ["train", "holdout", "copy", "cancel", "cancel_embedded", "identity"])
def test_a_very_long_sequence_is_still_true(name):
    made = sample(name, 1, 100_000, seed=32)
    table = truth(made, 0)
    facts = parse(made.texts()[0])
    assert len(facts) == 100_000
    assert all(table[left, right] == answer for left, right, answer in facts)


def test_a_structure_that_fills_52_variables_uses_them_all():
    made = sample("train", 20, 3, world=World(("C52",), n_variables=52))
    assert all(sorted(row) == list(range(52)) for row in made.assignment)
    assert int(made.tokens.max()) == 53
