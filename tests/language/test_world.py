"""Worlds: exact mixtures against an own recursion and against simulation, validation, JSON round trip."""

import json
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers import assert_follows, mixture_law
from icalgebra.algebra.structures import Structure, structure
from icalgebra.data.distributions import world_arrays
from icalgebra.errors import InputError
from icalgebra.language.world import MIXTURE_RULES, World, is_papers_world

WORLDS = {
    "paper": World(),
    "no mixing": World(p_mix=0.0),
    "full mixing": World(p_mix=1.0),
    "with D2": World(d2=True, p_mix=0.5),
    "stop": World(mixture_rule="stop", p_mix=0.5),
    "stop, full mixing": World(("C3", "C4", "D3"), mixture_rule="stop", p_mix=1.0, n_variables=9),
    "all": World(("C3", "D3", "C4"), mixture_rule="all"),
    "one": World(("C5",), n_variables=12),
    "tight": World(("C2", "C3", "C6"), n_variables=6, p_mix=0.25),
    "twice the same": World(("C4", "C4", "D3"), n_variables=10, p_mix=0.5),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_mixture_probabilities_equal_an_independent_recursion(world):
    law = {drawn: p for drawn, p in world.mixtures().items() if p > 0}
    exact = mixture_law(world)
    assert sum(exact.values()) == 1
    assert law.keys() == exact.keys()
    assert all(law[drawn] == pytest.approx(float(exact[drawn]), rel=1e-9) for drawn in exact)


orders = st.lists(st.integers(2, 6), min_size=1, max_size=4)


@given(orders, st.integers(6, 11), st.sampled_from([0, 0.25, 0.5, 1]), st.sampled_from(MIXTURE_RULES))
def test_mixture_probabilities_sum_to_one_and_fit_the_alphabet(orders, n_variables, p_mix, draw):
    assume(draw != "all" or sum(orders) <= n_variables)
    world = World(tuple(f"C{n}" for n in orders), n_variables, float(p_mix), mixture_rule=draw)
    law = world.mixtures()
    assert sum(law.values()) == pytest.approx(1)
    assert all(sum(orders[i] for i in drawn) <= n_variables for drawn in law)
    assert max(map(len, law)) <= world.max_mixture
    assert {d: p for d, p in law.items() if p} == pytest.approx({d: float(p) for d, p in mixture_law(world).items()})


def simulate(world, rng):
    """One draw of structures, step by step as the world's docstring says."""
    drawn, room, orders = [], world.n_variables, [len(s.table) for s in world.pool]
    while True:
        fitting = [i for i, order in enumerate(orders) if order <= room]
        options = fitting if world.mixture_rule == "fit" else list(range(len(orders)))
        if not options or (choice := rng.choice(options)) not in fitting:
            return tuple(drawn)
        drawn.append(choice)
        room -= orders[choice]
        if rng.random() >= world.p_mix:
            return tuple(drawn)


@pytest.mark.parametrize("name", ["paper", "with D2", "stop", "stop, full mixing", "tight"])
def test_mixture_probabilities_equal_simulation(name):
    world, rng = WORLDS[name], random.Random(5)
    law = {drawn: p for drawn, p in world.mixtures().items() if p > 0}
    assert_follows((simulate(world, rng) for _ in range(20_000)), law)


def test_the_paper_world_is_c3_to_c10_and_d3_to_d5():
    assert [s.name for s in World().pool] == [*(f"C{n}" for n in range(3, 11)), "D3", "D4", "D5"]
    assert (World().n_variables, World().p_mix, World().reserved, World().mixture_rule) == (16, 0.7, "a", "fit")


def test_d2_is_added_once_when_asked_for():
    assert [s.name for s in World(d2=True).pool][-1] == "D2"
    assert len(World(d2=True).pool) == 12
    assert [s.name for s in World(("D2", "C3"), d2=True).pool] == ["D2", "C3"]


def test_one_draw_of_two_halves_has_the_probabilities_of_pencil_and_paper():
    law = World(("C2", "C4"), n_variables=4, p_mix=0.5).mixtures()
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    # C4 fills the alphabet; after C2 another C2 follows with probability one half, and then nothing fits.
    assert {d: p for d, p in law.items() if p} == {(1,): half, (0,): quarter, (0, 0): quarter}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"p_mix": -0.1}, "p_mix"),
        ({"p_mix": 1.5}, "p_mix"),
        ({"p_mix": float("nan")}, "p_mix"),
        ({"mixture_rule": "often"}, "fit, stop, all"),
        ({"mixture_rule": np.zeros(3)}, "mixture_rule"),
        ({"reserved": "q"}, "reserved"),
        ({"reserved": np.zeros(3)}, "reserved"),
        ({"reserved": "ab"}, "reserved"),
        ({"reserved": ""}, "reserved"),
        ({"n_variables": 0}, "n_variables"),
        ({"n_variables": 53}, "n_variables"),
        ({"structures": ()}, "at least one structure"),
        ({"structures": ("C17",)}, "C17 has 17 elements but the alphabet has 16"),
        ({"structures": ("C6", "D4", "C3"), "mixture_rule": "all"}, "17 elements together"),
        ({"structures": ("C1", "C3")}, "nothing but an identity"),
        ({"structures": ("C33x",)}, "unknown structure"),
    ],
)
def test_a_world_that_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        World(**options)


WITH_TABLE = World(("C3", Structure.from_table("mine", np.array([[0, 0], [1, 1]]))), 52, 0.25, True, None, "stop")


NO_IDENTITY = World((Structure("mine", structure("C3").table, None),))  # a group, but the world is given no identity


def test_a_structure_without_a_stated_identity_makes_another_world():
    stated = World((Structure("mine", structure("C3").table, 0),))
    assert stated != NO_IDENTITY
    assert [world_arrays(world).identities.tolist() for world in (stated, NO_IDENTITY)] == [[0], [-1]]
    plain = NO_IDENTITY.to_dict()
    del plain["structures"][0]["identity"]
    assert World.from_dict(plain) == stated, "an identity that is not saved is found from the table"


@pytest.mark.parametrize("world", [*WORLDS.values(), WITH_TABLE, NO_IDENTITY])
def test_a_world_survives_json(world):
    back = World.from_dict(json.loads(json.dumps(world.to_dict())))
    assert back == world
    assert hash(back) == hash(world)
    assert back.pool == world.pool


def test_one_structure_may_be_named_alone():
    assert World("C3") == World(("C3",))
    assert World(structure("C3")) == World((structure("C3"),))


def test_an_unknown_key_of_a_world_is_an_error():
    with pytest.raises(InputError, match="colour"):
        World.from_dict({**World().to_dict(), "colour": "red"})


def test_a_world_saved_under_former_names_is_the_same_world():
    plain = World(mixture_rule="stop").to_dict()
    old = {"draw" if key == "mixture_rule" else key: value for key, value in plain.items()}
    assert World.from_dict(old) == World(mixture_rule="stop")
    with pytest.raises(InputError, match="draw is the former name of mixture_rule"):
        World.from_dict({**old, "mixture_rule": "fit"})


@pytest.mark.parametrize("name", ["draw", "mixture_rule"])
@pytest.mark.parametrize("part", ["world", "training"])
def test_the_papers_world_is_known_in_results_of_any_version(part, name):
    assert is_papers_world({part: {**STATED, name: "fit"}})
    assert not is_papers_world({part: {**STATED, name: "stop"}})


STATED = {key: value for key, value in World().to_dict().items() if key != "mixture_rule"}


def test_none_is_reserved_by_the_word_none():
    assert World(reserved="none") == World(reserved="None") == World(reserved=None)


def test_worlds_differ_by_each_of_their_values():
    others = [
        *(World(p_mix=0.5), World(d2=True), World(reserved=None), World(mixture_rule="stop"), World(n_variables=17)),
        World(("C3",)),
        World((structure("C3"),)),
        World((Structure.from_table("C3", np.array([[0, 0], [1, 1]])),)),
    ]
    assert len({World(), *others}) == 1 + len(others)
