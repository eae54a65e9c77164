"""Every distribution's definition, recomputed from the text (and the latents) alone; exact laws of tiny worlds."""

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pytest

from helpers import (
    assert_follows,
    assignment_law,
    blocks,
    candidates,
    golden,
    golden_now,
    identity_answers,
    identity_letters,
    identity_of,
    in_elements,
    latin,
    parse,
    sequence_law,
    triples,
    truth,
    uniform_law,
)
from icalgebra import World, sample
from icalgebra.algebra.structures import Structure, structure
from icalgebra.data.distributions import DISTRIBUTIONS, check_request
from icalgebra.errors import InputError

# A monoid in which a·b = a and b·a = b: the smallest structure with an identity that does not commute.
NON_COMMUTING = Structure.from_table("non-commuting", np.array([[0, 1, 2], [1, 1, 1], [2, 2, 2]]))

WORLDS = {
    "paper": World(),
    "with D2": World(d2=True, p_mix=0.5),
    "D4 and Q8": World(("D4", "Q8"), reserved="p"),
    "52 variables": World(("C3", "D5", "A4", "C2xD4"), n_variables=52, p_mix=0.95),
    "mixed kinds": World(("C5", "Monoid(4,0)", "Semigroup(5,0)", "D3", "Quasigroup(5,1)"), p_mix=0.8),
}
EVERYWHERE = [(world, n_facts) for world in WORLDS for n_facts in (14, 60, 200)]


class Row:
    """One sequence with everything that the definitions refer to."""

    def __init__(self, sequences, row, text):
        *self.context, self.query = parse(text)
        self.x, self.y, self.answer = self.query
        self.truth = truth(sequences, row)
        self.pairs = [(left, right) for left, right, _ in self.context]
        self.identity = identity_letters(sequences, row).get(self.x)
        self.blocks = blocks(sequences, row)
        self.pool = sequences.world.pool
        self.letters = next(names for _, names in self.blocks if self.x in names)
        self.structure = next(self.pool[s] for s, names in self.blocks if self.x in names)

    @property
    def held_out(self):
        return not {(self.x, self.y), (self.y, self.x)} & set(self.pairs)


def rows_of(name, world, n_facts, n=150, seed=41):
    made = sample(name, n, n_facts, seed, WORLDS[world] if isinstance(world, str) else world)
    rows = [Row(made, i, text) for i, text in enumerate(made.texts())]
    for row in rows:
        assert len(row.context) == n_facts - 1
        assert all(row.truth[left, right] == answer for left, right, answer in (*row.context, row.query))
    return rows


def keeps_the_reserved_variable_clean(rows, reserved):
    for row in rows:
        for s, names in row.blocks:
            identity = identity_of(row.pool[s].table)
            assert identity is None or names[identity] != reserved


# --- definitions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world, n_facts", EVERYWHERE)
def test_holdout_never_shows_the_query_or_its_reverse(world, n_facts):
    rows = rows_of("holdout", world, n_facts)
    assert all(row.held_out for row in rows)
    keeps_the_reserved_variable_clean(rows, WORLDS[world].reserved)


@pytest.mark.parametrize("world, n_facts", EVERYWHERE)
def test_holdout_reserved_identity_puts_the_reserved_variable_on_the_querys_identity(world, n_facts):
    for row in rows_of("holdout_reserved_identity", world, n_facts):
        assert row.held_out
        assert row.identity == WORLDS[world].reserved


@pytest.mark.parametrize("world, n_facts", EVERYWHERE)
def test_holdout_unshuffled_assigns_letters_in_order(world, n_facts):
    letters = WORLDS[world].vocabulary.variables
    for row in rows_of("holdout_unshuffled", world, n_facts):
        assert row.held_out
        used = [letter for _, names in row.blocks for letter in names]
        assert used == list(letters[: len(used)])


@pytest.mark.parametrize("world, n_facts", EVERYWHERE)
def test_copy_shows_the_querys_pair(world, n_facts):
    rows = rows_of("copy", world, n_facts)
    assert all((row.x, row.y) in row.pairs for row in rows)
    assert any((row.y, row.x) in row.pairs for row in rows if row.x != row.y)
    keeps_the_reserved_variable_clean(rows, WORLDS[world].reserved)


@pytest.mark.parametrize("world, n_facts", EVERYWHERE)
def test_commute_shows_the_reverse_with_the_same_answer_and_not_the_pair(world, n_facts):
    for row in rows_of("commute", world, n_facts):
        assert row.x != row.y
        assert (row.x, row.y) not in row.pairs
        assert (row.y, row.x, row.answer) in row.context


@pytest.mark.parametrize("world, n_facts", EVERYWHERE)
def test_commute_any_shows_the_reverse_with_any_answer(world, n_facts):
    rows = rows_of("commute_any", world, n_facts)
    for row in rows:
        assert row.x != row.y
        assert (row.x, row.y) not in row.pairs
        assert (row.y, row.x) in row.pairs
    if world != "with D2":
        assert any(row.truth[row.y, row.x] != row.answer for row in rows)
    assert any(row.truth[row.y, row.x] == row.answer for row in rows)


@pytest.mark.parametrize("world, n_facts", EVERYWHERE)
def test_identity_queries_an_identity_that_the_context_reveals(world, n_facts):
    rows = rows_of("identity", world, n_facts)
    for row in rows:
        assert row.held_out
        assert row.identity in (row.x, row.y)
        assert any(row.identity in pair for pair in row.pairs)
        assert row.answer in identity_answers(row.context, row.x, row.y)
    keeps_the_reserved_variable_clean(rows, WORLDS[world].reserved)


def test_identity_may_be_revealed_by_its_square_alone():
    world = World(("C3", "C4"), p_mix=0.0)
    shown = [{pair for pair in row.pairs if row.identity in pair} for row in rows_of("identity", world, 3, n=400)]
    assert any(all(left == right for left, right in pairs) for pairs in shown)


def sufficient(context, row):
    return candidates(context, row.x, row.y) == {row.answer}


def cancel_facts(row):
    """Every fact of the query's row and column."""
    line = {(row.x, w, row.truth[row.x, w]) for w in row.letters} | {
        (w, row.y, row.truth[w, row.y]) for w in row.letters
    }
    return line - {row.query, (row.y, row.x, row.truth[row.y, row.x])}


@pytest.mark.parametrize("world, n_facts", [(world, n) for world in WORLDS for n in (8, 9, 14, 60)])
def test_cancel_has_only_the_required_facts_and_they_suffice(world, n_facts):
    for row in rows_of("cancel", world, n_facts):
        assert len(row.blocks) == 1
        assert row.identity not in (row.x, row.y)
        assert row.held_out
        assert latin(row.structure.table)
        assert row.structure.order <= n_facts
        assert set(row.context) <= cancel_facts(row)
        assert len(set(row.context)) == min(n_facts - 1, len(cancel_facts(row)))
        assert sufficient(row.context, row)


@pytest.mark.parametrize("world, n_facts", [(world, n) for world in WORLDS for n in (8, 14, 60, 200)])
def test_cancel_embedded_is_a_holdout_sequence_that_cancellation_solves(world, n_facts):
    rows = rows_of("cancel_embedded", world, n_facts)
    for row in rows:
        assert row.held_out
        assert row.identity not in (row.x, row.y)
        assert sufficient(row.context, row)
        required = cancel_facts(row)
        assert len(required & set(row.context)) >= min(n_facts - 1, len(required))
    assert any(len(row.blocks) > 1 for row in rows)
    if n_facts >= 60:
        assert all(set(row.context) - cancel_facts(row) for row in rows)


@pytest.mark.parametrize("world, n_facts", [(world, n) for world in WORLDS for n in (4, 14, 60)])
def test_associate_has_one_triple_and_nothing_else(world, n_facts):
    for row in rows_of("associate", world, n_facts):
        assert len(row.blocks) == 1
        assert row.identity not in (row.x, row.y)
        assert row.held_out
        assert frozenset(row.context) in triples(row.context, *row.query)


@pytest.mark.parametrize("world, n_facts", [(world, n) for world in WORLDS for n in (4, 14, 60)])
def test_associate_embedded_is_solved_by_a_triple_and_not_by_identity_or_cancel(world, n_facts):
    rows = rows_of("associate_embedded", world, n_facts)
    for row in rows:
        assert row.held_out
        assert row.identity not in (row.x, row.y)
        assert triples(row.context, *row.query)
        assert not sufficient(row.context, row)
        assert identity_answers(row.context, row.x, row.y) != {row.answer}  # a tie solves nothing
    assert any(len(row.blocks) > 1 for row in rows)


@pytest.mark.parametrize("name", ["associate", "cancel"])
def test_required_facts_are_shuffled(name):
    """Each of the required facts comes first as often as last."""
    rows = rows_of(name, World(("C5",), n_variables=5), 4 if name == "associate" else 5, n=4000)
    first, last = (Counter(_role(row, row.context[i]) for row in rows) for i in (0, -1))
    for role in first:
        assert abs(first[role] - last[role]) < 5 * (first[role] + last[role]) ** 0.5


def _role(row, fact):
    return fact[0] == row.x, fact[1] == row.y, fact[2] == row.answer


# --- exact laws -----------------------------------------------------------------------------------------------------

TINY = World(("C2", "C3", NON_COMMUTING), n_variables=4, p_mix=0.5)
PAIR = World(("C2", NON_COMMUTING), n_variables=5, mixture_rule="all", reserved="c")


def nothing(query):
    return ()


def pair(query):
    return (query,)


def both(query):
    place, x, y = query
    return (query, (place, y, x))


def accepts_all(world, structures, context, query):
    return True


def shows_pair(world, structures, context, query):
    return query in context


def shows_reverse(world, structures, context, query):
    place, x, y = query
    return x != y and (place, y, x) in context


def shows_equal_reverse(world, structures, context, query):
    place, x, y = query
    table = world.pool[structures[place]].table
    return shows_reverse(world, structures, context, query) and table[x, y] == table[y, x]


def reveals_identity(world, structures, context, query):
    place, x, y = query
    e = identity_of(world.pool[structures[place]].table)
    return e in (x, y) and any(p == place and e in (left, right) for p, left, right in context)


LAWS = {
    "train": (nothing, accepts_all),
    "holdout": (both, accepts_all),
    "holdout_reserved_identity": (both, accepts_all),
    "holdout_unshuffled": (both, accepts_all),
    "copy": (nothing, shows_pair),
    "commute": (pair, shows_equal_reverse),
    "commute_any": (pair, shows_reverse),
    "identity": (both, reveals_identity),
}


@pytest.mark.parametrize("world", [TINY, PAIR], ids=["tiny", "pair"])
@pytest.mark.parametrize("name", LAWS)
def test_a_tiny_world_follows_the_exact_law(name, world):
    held_out, accepts = LAWS[name]
    law = sequence_law(world, 3, held_out, lambda *case: accepts(world, *case))
    assert_follows(in_elements(sample(name, 30_000, 3, seed=51, world=world)), law)


@pytest.mark.parametrize("name", ["train", "holdout", "copy", "commute", "identity", "cancel_embedded"])
def test_conditioning_leaves_the_assignment_uniform(name):
    made = sample(name, 8000, 4, seed=52, world=PAIR)
    assert_follows((tuple(int(v) for v in row[:5]) for row in made.assignment), assignment_law(PAIR, (0, 1)))


def test_reserved_identity_leaves_the_other_variables_uniform():
    world = World(("C3",), n_variables=4, mixture_rule="all", reserved="c")
    made = sample("holdout_reserved_identity", 6000, 2, seed=53, world=world)
    law = {(2, i, j): 1 / 6 for i, j in product((0, 1, 3), repeat=2) if i != j}
    assert_follows((tuple(int(v) for v in row[:3]) for row in made.assignment), law)


@pytest.mark.parametrize(
    "name, n_facts", [("C4", 4), ("C4", 5), ("D3", 6), ("Quasigroup(4,5)", 4), ("Quasigroup(4,5)", 6)]
)
def test_cancel_chooses_uniformly_among_the_sets_that_rule_out_every_other_element(name, n_facts):
    """A set that leaves an element out of the closure would need fewer facts; such sets are not used."""
    table, order = structure(name).table, structure(name).order
    identity = identity_of(table)
    queries = [(x, y) for x, y in product(range(order), repeat=2) if identity not in (x, y)]
    law = {}
    for x, y in queries:
        line = [(x, w, int(table[x, w])) for w in range(order)] + [(w, y, int(table[w, y])) for w in range(order)]
        facts = [fact for fact in line if fact[:2] not in ((x, y), (y, x))]
        answer, wrong = int(table[x, y]), set(range(order)) - {int(table[x, y])}
        sets = [
            chosen
            for chosen in combinations(facts, n_facts - 1)
            if candidates(chosen, x, y) == {answer} and wrong <= {fact[2] for fact in chosen}
        ]
        law.update({((x, y), frozenset(fact[:2] for fact in s)): 1 / len(queries) / len(sets) for s in sets})
    made = in_elements(sample("cancel", 20_000, n_facts, seed=54, world=World((name,), n_variables=order)))
    observed = [(facts[-1][1:], frozenset(fact[1:] for fact in facts[:-1])) for _, facts in made]
    assert_follows(observed, law)


def test_required_facts_take_every_position_of_an_embedded_sequence():
    places = Counter()
    for row in rows_of("associate_embedded", World(("C10",), p_mix=0.0), 10, n=2000):
        for found in triples(row.context, *row.query):
            places.update(row.context.index(fact) for fact in found)
    assert set(places) == set(range(9))
    assert min(places.values()) > max(places.values()) / 2


@pytest.mark.parametrize("world, n_facts", EVERYWHERE)
def test_once_shows_every_fact_before_any_again(world, n_facts):
    rows = rows_of("once", world, n_facts, n=60)
    for row in rows:
        n_cells = sum(len(names) ** 2 for _, names in row.blocks)
        facts = [*row.context, row.query]
        passes = [facts[i : i + n_cells] for i in range(0, n_facts, n_cells)]
        assert all(len(set(part)) == len(part) for part in passes)
    keeps_the_reserved_variable_clean(rows, WORLDS[world].reserved)


@pytest.mark.parametrize("n_facts", [3, 4, 5, 6])
def test_once_is_one_random_order_after_another(n_facts):
    """The exact law of C2, whose four facts the sequence passes through: 24 orders, then 4, 12 or 24 beginnings."""
    cells = [(0, x, y) for x, y in product(range(2), repeat=2)]
    firsts = list(permutations(cells, min(n_facts, 4)))
    law = uniform_law([one + two for one in firsts for two in permutations(cells, max(0, n_facts - 4))])
    made = in_elements(sample("once", 30_000, n_facts, seed=55, world=World.only("C2", n_variables=4)))
    assert_follows((tuple(facts) for _, facts in made), law)


# --- streams never change -------------------------------------------------------------------------------------------


def test_every_distribution_has_golden_rows():
    assert golden()["rows"].keys() == DISTRIBUTIONS.keys()


@pytest.mark.parametrize("part", ["rows", "worlds", "tables"])
def test_rows_and_tables_are_the_golden_ones(part):
    assert golden_now()[part] == golden()[part]


# --- the impossible -------------------------------------------------------------------------------------------------

LEFT_ZERO = Structure.from_table("left zero", np.array([[0, 0], [1, 1]]))


@pytest.mark.parametrize(
    "name, n_facts, world, reason",
    [
        ("train", 0, World(), "at least 1 facts"),
        ("holdout", -3, World(), "at least 1 facts"),
        ("copy", 1, World(), "at least 2 facts"),
        ("commute", 1, World(), "at least 2 facts"),
        ("identity", 1, World(), "at least 2 facts"),
        ("associate", 3, World(), "at least 4 facts"),
        ("cancel", 2, World(), "3 in this world"),
        ("cancel_embedded", 4, World(("C5", "D3")), "5 in this world"),
        ("cancel", 9, World((LEFT_ZERO, "Semigroup(8,0)")), "cancellation law"),
        ("identity", 9, World((LEFT_ZERO, "Quasigroup(8,1)")), "with an identity"),
        ("holdout_reserved_identity", 9, World(reserved=None), "reserved variable"),
        ("holdout_reserved_identity", 9, World((LEFT_ZERO,)), "with an identity"),
    ],
)
def test_what_can_never_be_met_is_refused_with_the_reason(name, n_facts, world, reason):
    with pytest.raises(InputError, match=reason):
        sample(name, 1, n_facts, world=world)
    with pytest.raises(InputError, match=reason):
        check_request(name, n_facts, world)
    with pytest.raises(InputError, match=reason):
        sample(name, 0, n_facts, world=world)


@pytest.mark.parametrize(
    "name, n_facts, world",
    [
        ("commute", 20, World((LEFT_ZERO,))),
        ("commute_any", 20, World(("C1",), reserved=None)),
        ("associate", 20, World(("C2",))),
        ("cancel", 20, World(("C1",), reserved=None)),
        ("holdout", 20, World(("C1",), n_variables=1, reserved=None)),
        ("associate_embedded", 20_000, World(("C8",), p_mix=0.0)),
        ("associate_embedded", 200_000, World(("C52",), n_variables=52)),
    ],
)
def test_what_is_never_found_ends_in_an_error_and_not_in_a_hang(name, n_facts, world):
    with pytest.raises(InputError, match=f"no {name} sequence of {n_facts} facts was found"):
        sample(name, 1, n_facts, world=world)


def test_an_unknown_distribution_suggests_the_nearest():
    with pytest.raises(InputError, match="unknown distribution 'hold_out'; did you mean 'holdout'"):
        sample("hold_out", 1)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_min_facts_are_enough(name):
    n_facts = max(DISTRIBUTIONS[name].min_facts, 3 if "cancel" in name else 0)
    assert len(sample(name, 20, n_facts).texts()) == 20
