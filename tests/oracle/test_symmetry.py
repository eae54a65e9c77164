"""The search up to automorphisms: against brute force and against the search without them, bit for bit."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import brute_force_posterior
from icalgebra import World, sample, structure
from icalgebra.oracle import classify_queries, posteriors
from icalgebra.oracle.arrays import CHOICES, OracleArrays, oracle_arrays
from icalgebra.oracle.symmetry import MAX_AUTOMORPHISMS, automorphisms, orbits

NAMES = ["C2", "C3", "C4", "D2", "C5", "Quasigroup(3,1)", "Quasigroup(4,0)", "Quasigroup(5,2)", "Semigroup(3,0)"]
LARGER = {
    "paper": World(),
    "D2, none reserved": World(d2=True, p_mix=0.5, reserved=None),
    "quasigroups": World(("Quasigroup(8,0)", "Quasigroup(5,1)", "C4")),
    "many automorphisms": World(("C2xC2xC2", "Q8", "C3xC3", "A4")),
    "neither Latin nor associative": World(("Semigroup(5,0)", "Magma(4,1)", "Q8")),
}


def count_automorphisms(name: str) -> int:
    return len(automorphisms(structure(name).table.astype(np.int64), MAX_AUTOMORPHISMS, 10**6))


@pytest.mark.parametrize("n", range(2, 13))
def test_automorphisms_of_cyclic_groups_are_the_units(n: int) -> None:
    assert count_automorphisms(f"C{n}") == sum(gcd(i, n) == 1 for i in range(n))


@pytest.mark.parametrize("name, n", [("D3", 6), ("D4", 8), ("D5", 20), ("Q8", 24), ("A4", 24), ("C2xC2xC2", 168)])
def test_numbers_of_automorphisms_from_the_literature(name: str, n: int) -> None:
    assert count_automorphisms(name) == n


def test_orbits_cover_every_element_once_and_too_many_automorphisms_give_single_elements() -> None:
    found = orbits(structure("D5").table)
    assert sorted(found.first_size[e] for e in range(10) if found.first >> e & 1) == [1, 4, 5]
    left_zero = np.repeat(np.arange(16)[:, None], 16, axis=1)  # every permutation is an automorphism
    alone = orbits(left_zero)
    assert alone.first == 2**16 - 1
    assert (alone.first_size == 1).all()


def without_symmetry(world: World) -> OracleArrays:
    arrays = oracle_arrays(world)
    symmetry = np.ones_like(arrays.symmetry)
    symmetry[..., CHOICES] = ((1 << arrays.orders) - 1)[:, None]
    return arrays._replace(symmetry=symmetry)


def damaged(prompts: np.ndarray, seed: int) -> np.ndarray:
    """One answer of each row exchanged: often a context that no world produces."""
    random, prompts = np.random.default_rng(seed), prompts.copy()
    fact = random.integers(prompts.shape[1] // 5, size=len(prompts))
    prompts[np.arange(len(prompts)), 5 * fact + 4] = random.integers(16, size=len(prompts))
    return prompts


@pytest.mark.parametrize("query", ["holdout", "train"])
@pytest.mark.parametrize("name", LARGER)
def test_the_same_bits_as_without_symmetry(name: str, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, impossible = LARGER[name], 0
    for n_facts in (2, 4, 6, 9, 14, 30, 80):
        prompts = sample(query, 10, n_facts, seed=8, world=world).prompts
        for rows in (prompts, damaged(prompts, n_facts)):
            monkeypatch.setattr(posteriors, "oracle_arrays", oracle_arrays)
            fast = classify_queries(rows, world, query)
            monkeypatch.setattr(posteriors, "oracle_arrays", without_symmetry)
            slow = classify_queries(rows, world, query)
            assert np.array_equal(fast.probabilities, slow.probabilities)
            assert np.array_equal(fast.kinds, slow.kinds)
            assert np.array_equal(fast.log_weights, slow.log_weights)
            impossible += (fast.kinds == "impossible").sum()
    assert impossible > 10


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    st.sampled_from(["holdout", "train"]),
    st.booleans(),
    st.integers(0, 12),
    st.integers(0, 1000),
)
def test_random_worlds_equal_brute_force(
    names: list[str], query: str, reserved: bool, n_context: int, seed: int
) -> None:
    """Small tables, so that facts repeat; one fact is exchanged in half of the cases."""
    world = World(tuple(names), 5, 0.5, reserved="a" if reserved else None)
    random = np.random.default_rng(seed)
    facts = sample(query, 1, n_context + 1, seed, world).facts[0].astype(np.int64)
    if n_context and seed % 2:
        facts[random.integers(n_context), random.integers(3)] = random.integers(5)
    v = world.vocabulary.variables
    text = "".join(f",{v[a]}{v[b]}={v[c]}" for a, b, c in facts)[:-1]
    exact = np.array(brute_force_posterior(facts[:-1], facts[-1, 0], facts[-1, 1], world, query), dtype=float)
    found = classify_queries(world.vocabulary.encode(text)[None], world, query)
    np.testing.assert_allclose(found.probabilities[0], exact, rtol=1e-12)
    assert (found.probabilities[0] > 0).tolist() == (exact > 0).tolist()
