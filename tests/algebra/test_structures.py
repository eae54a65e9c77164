"""Structures against independent references: slow axioms, sympy, GAP's small groups, all small Latin squares."""

import json
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy.combinatorics.fp_groups import FpGroup
from sympy.combinatorics.free_groups import free_group
from sympy.combinatorics.named_groups import AbelianGroup, AlternatingGroup, CyclicGroup, DihedralGroup

from helpers import (
    DATA,
    assert_follows,
    associates,
    group_invariants,
    identity_of,
    is_isomorphic,
    latin,
    table_from_function,
    uniform_law,
)
from icalgebra.algebra import axioms, structures
from icalgebra.algebra.random_tables import latin_square
from icalgebra.algebra.structures import SMALL_GROUPS, Structure, all_groups, known_names, split_names, structure
from icalgebra.algebra.table_files import load_structure
from icalgebra.errors import InputError

GAP = json.loads((DATA / "small_groups.json").read_text())
NAMES = [name for names in SMALL_GROUPS.values() for name in names]
BEYOND = ["C17", "C52", "D11", "D26", "Q20", "Q52", "C3xC3xC5", "C7xC7", "C2xC2xC2xC2xC2", "D3xC4", "Q8xC3"]


def permutation_table(group):
    return table_from_function(list(group.generate()), lambda x, y: x * y)


def presented_table(relators):
    """The group of two generators with these relators (as functions of them), by sympy's coset enumeration."""
    free, x, y = free_group("x, y")
    return permutation_table(FpGroup(free, [r(x, y) for r in relators])._to_perm_group()[0])


# --- groups ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES + BEYOND)
def test_group_axioms(name):
    group = structure(name)
    table = group.table
    assert group.identity == 0 == identity_of(table)
    assert associates(table) if len(table) <= 24 else axioms.is_associative(table)
    assert latin(table)
    assert group.kind == "group"
    assert group.name == name


@pytest.mark.parametrize("row", GAP, ids=lambda row: f"{row['order']}-{row['number']}")
def test_invariants_are_those_of_the_small_groups_library(row):
    expected = {key: value for key, value in row.items() if key != "number"}
    named = structure(SMALL_GROUPS[row["order"]][row["number"] - 1])
    numbered = structure(f"SmallGroup({row['order']},{row['number']})")
    assert group_invariants(named.table) == expected
    assert np.array_equal(named.table, numbered.table)


def test_the_library_has_42_groups_that_the_invariants_tell_apart():
    bare = {json.dumps({**row, "number": None}) for row in GAP}
    assert len(GAP) == len(bare) == len(NAMES) == len(set(NAMES)) == 42
    assert [(g.order, g.name) for g in all_groups()] == [(row["order"], name) for row, name in zip(GAP, NAMES)]
    assert [g.name for g in all_groups(max_order=4)] == ["C1", "C2", "C3", "C4", "C2xC2"]
    with pytest.raises(InputError, match="up to order 16, not 17"):
        all_groups(17)


def test_groups_of_one_order_are_pairwise_not_isomorphic():
    for names in SMALL_GROUPS.values():
        for one, other in combinations(names, 2):
            assert not is_isomorphic(structure(one).table, structure(other).table), (one, other)


FAMILIES = {
    **{f"C{n}": lambda n=n: CyclicGroup(n) for n in (1, 2, 3, 6, 10, 16)},
    **{f"D{n}": lambda n=n: DihedralGroup(n) for n in (2, 3, 4, 5, 6, 8)},
    "C4xC2": lambda: AbelianGroup(4, 2),
    "C2xC2xC2": lambda: AbelianGroup(2, 2, 2),
    "C3xC3": lambda: AbelianGroup(3, 3),
    "C6xC2": lambda: AbelianGroup(6, 2),
    "C4xC4": lambda: AbelianGroup(4, 4),
    "C8xC2": lambda: AbelianGroup(8, 2),
    "C4xC2xC2": lambda: AbelianGroup(4, 2, 2),
    "C2xC2xC2xC2": lambda: AbelianGroup(2, 2, 2, 2),
    "A4": lambda: AlternatingGroup(4),
}

PRESENTATIONS = {
    "Q8": [lambda x, y: x**4, lambda x, y: x**2 * y**-2, lambda x, y: y**-1 * x * y * x],
    "Q12": [lambda x, y: x**6, lambda x, y: x**3 * y**-2, lambda x, y: y**-1 * x * y * x],
    "Q16": [lambda x, y: x**8, lambda x, y: x**4 * y**-2, lambda x, y: y**-1 * x * y * x],
    "SD16": [lambda x, y: x**8, lambda x, y: y**2, lambda x, y: y * x * y * x**-3],
    "M16": [lambda x, y: x**8, lambda x, y: y**2, lambda x, y: y * x * y * x**-5],
    "C4:C4": [lambda x, y: x**4, lambda x, y: y**4, lambda x, y: y**-1 * x * y * x],
    "C4xC2:C2": [
        *(lambda x, y: x**4, lambda x, y: y**4, lambda x, y: x * y * x * y),
        lambda x, y: x * y**-1 * x * y**-1,
    ],
}


@pytest.mark.parametrize("name", FAMILIES)
def test_named_families_are_sympys(name):
    assert is_isomorphic(structure(name).table, permutation_table(FAMILIES[name]()))


@pytest.mark.parametrize("name", PRESENTATIONS)
def test_groups_without_a_family_have_their_presentation(name):
    assert is_isomorphic(structure(name).table, presented_table(PRESENTATIONS[name]))


def test_d4_has_order_8_and_q8_order_8():
    assert (structure("D4").order, structure("Q8").order, structure("D2").order) == (8, 8, 4)


def test_c_n_is_addition_and_products_go_pairwise():
    assert np.array_equal(structure("C7").table, table_from_function(list(range(7)), lambda x, y: (x + y) % 7))
    pairs = list(product(range(3), range(4)))
    added = table_from_function(pairs, lambda p, q: ((p[0] + q[0]) % 3, (p[1] + q[1]) % 4))
    assert np.array_equal(structure("C3xC4").table, added)


# --- random tables --------------------------------------------------------------------------------------------------


def all_latin_squares(n):
    squares = [()]
    for _ in range(n):
        squares = [
            (*square, row)
            for square in squares
            for row in permutations(range(n))
            if all(row[c] != above[c] for above in square for c in range(n))
        ]
    return squares


@pytest.mark.parametrize("order, how_many, n", [(3, 12, 3000), (4, 576, 9000)])
def test_every_latin_square_is_equally_likely(order, how_many, n):
    squares = all_latin_squares(order)
    assert len(squares) == how_many
    drawn = [tuple(map(tuple, latin_square(order, seed).tolist())) for seed in range(n)]
    assert set(drawn) == set(squares)
    assert_follows(drawn, uniform_law(squares))


@pytest.mark.parametrize("order", [1, 2, 3, 5, 8, 16])
def test_quasigroups_are_latin(order):
    assert all(latin(structure(f"Quasigroup({order},{seed})").table) for seed in range(10))


def test_quasigroups_of_order_8_are_rarely_groups_and_differ_by_seed():
    tables = [structure(f"Quasigroup(8,{seed})").table for seed in range(20)]
    assert len({table.tobytes() for table in tables}) == 20
    assert not any(associates(table) for table in tables)


@pytest.mark.parametrize("order", [2, 3, 8, 12])
def test_semigroups_associate_without_identity(order):
    for seed in range(20):
        made = structure(f"Semigroup({order},{seed})")
        assert associates(made.table)
        assert identity_of(made.table) is None is made.identity
        assert made.kind == "semigroup"
        assert set(np.unique(made.table)) <= set(range(order))


@pytest.mark.parametrize("order", [3, 8])
def test_monoids_are_not_groups(order):
    for seed in range(20):
        made = structure(f"Monoid({order},{seed})")
        assert associates(made.table)
        assert identity_of(made.table) == made.identity == 0
        assert not latin(made.table)
        assert made.kind == "monoid"


def test_magmas_obey_nothing():
    for seed in range(20):
        made = structure(f"Magma(8,{seed})")
        assert made.kind == "magma"
        assert not associates(made.table)
        assert not latin(made.table)


def test_magma_cells_are_uniform():
    cells = [int(v) for seed in range(200) for v in structure(f"Magma(5,{seed})").table.flat]
    assert_follows(cells, uniform_law(range(5)))


@pytest.mark.parametrize("family", ["Quasigroup", "Semigroup", "Monoid", "Magma"])
def test_each_family_has_many_tables_and_a_name_means_one(family):
    tables = {structure(f"{family}(8,{seed})").table.tobytes() for seed in range(40)}
    assert len(tables) >= 20
    first = structure(f"{family}(8,3)").table.copy()
    structures._named.cache_clear()
    assert np.array_equal(structure(f"{family}(8,3)").table, first)


# --- axioms ---------------------------------------------------------------------------------------------------------

small_tables = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), min_size=n, max_size=n), min_size=n, max_size=n)
)


@given(small_tables.map(np.array))
def test_predicates_say_what_the_definitions_say(table):
    assert axioms.is_associative(table) == associates(table)
    assert axioms.is_latin(table) == latin(table)
    assert axioms.find_identity(table) == identity_of(table)


@pytest.mark.parametrize(
    "rows, kind",
    [
        ([[0, 1], [1, 0]], "group"),
        ([[0, 1], [1, 1]], "monoid"),
        ([[0, 0], [1, 1]], "semigroup"),
        ([[0, 2, 1], [2, 1, 0], [1, 0, 2]], "quasigroup"),
        ([[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]], "loop"),
        ([[1, 1], [0, 0]], "magma"),
    ],
)
def test_kind_is_the_most_specific_name(rows, kind):
    assert Structure.from_table("mine", np.array(rows)).kind == kind


SUMS_OF_300 = np.add.outer(np.arange(300), np.arange(300)) % 300  # would wrap around in a byte


@pytest.mark.parametrize(
    "rows",
    [
        *([[0, 2], [1, 0]], [[0, -1], [1, 0]], [[0, 300], [1, 0]], [[0, 1]], [0, 1], [[]]),
        *([[0, 1.5], [1, 0]], [["a"]], SUMS_OF_300),
    ],
)
def test_a_table_with_foreign_entries_or_another_shape_is_refused(rows):
    with pytest.raises(InputError, match="mine"):
        Structure.from_table("mine", np.array(rows))


def test_an_identity_must_be_one():
    with pytest.raises(InputError, match="element 1 is not an identity"):
        Structure("mine", np.array([[0, 1], [1, 0]]), 1)


def test_structures_are_values_that_cannot_change():
    c4 = structure("C4")
    with pytest.raises(ValueError, match="read-only"):
        c4.table[0, 0] = 1
    assert c4 == Structure.from_table("C4", c4.table)
    assert hash(c4) == hash(Structure.from_table("C4", c4.table))
    assert c4 != Structure.from_table("C4", structure("C2xC2").table)
    assert c4 != Structure("C4", c4.table, None)
    assert hash(c4) != hash(Structure("C4", c4.table, None))
    assert c4 != structure("SmallGroup(4,1)")


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong, nearest",
    [
        ("c6", "C6"),
        ("SD15", "SD16"),
        ("D 4", "D4"),
        ("Q7", "Q8"),
        ("C4xC3x", "C4xC4"),
        ("quasigroup(8,0)", "Quasigroup(8,0)"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(wrong, nearest):
    with pytest.raises(InputError, match="did you mean") as caught:
        structure(wrong)
    assert repr(wrong) in str(caught.value)
    assert repr(nearest) in str(caught.value)


def test_a_name_unlike_any_other_lists_the_known_ones():
    with pytest.raises(InputError) as caught:
        structure("!!!!!!!!!!")
    listed, more = str(caught.value).partition("known: ")[2].split(" and ")
    names = listed.split(", ")
    assert names == known_names()[: len(names)]
    assert more == f"{len(known_names()) - len(names)} more"  # an error is one line of at most 300 characters


@pytest.mark.parametrize(
    "name",
    ["C53", "D27", "C999", "C999xC999", "D999xD999xD999", "C52xC52xC52", "Q8xQ8", "Quasigroup(53,0)", "Magma(0,0)"],
)
def test_a_structure_too_large_for_any_alphabet_is_refused_at_once(name):
    with pytest.raises(InputError, match="between 1 and 52"):
        structure(name)


@pytest.mark.parametrize("name", ["SmallGroup(17,1)", "SmallGroup(16,15)", "SmallGroup(8,0)", "SmallGroup(0,1)"])
def test_a_small_group_outside_the_catalogue_is_refused(name):
    with pytest.raises(InputError, match=r"not in the catalogue, which has (orders 1 to 16|numbers 1 to)"):
        structure(name)


@pytest.mark.parametrize("name", ["Semigroup(1,0)", "Monoid(2,0)"])
def test_a_random_table_that_cannot_exist_is_refused(name):
    with pytest.raises(InputError):
        structure(name)


def test_lists_of_names_split_outside_parentheses():
    assert split_names("C6, D4,SmallGroup(16,3) ,Quasigroup(8,0),") == (
        "C6",
        "D4",
        "SmallGroup(16,3)",
        "Quasigroup(8,0)",
    )


# --- a user's own tables --------------------------------------------------------------------------------------------


@given(small_tables)
def test_a_table_written_out_is_a_name(rows):
    mine = Structure.from_table("my own, (1)", np.array(rows))
    again = structure(mine.written_out)
    assert again.name == "my_own___1_"
    assert again.table.tolist() == rows
    assert again.identity == mine.identity
    assert split_names(f"C3,{mine.written_out}") == ("C3", mine.written_out)


@pytest.mark.parametrize(
    "name", ["mine[0 1|1]", "mine[0 1]", "mine[0 2|1 0]", "mine[|]", "mine[ ]", "mine[99999999999999999999]"]
)
def test_a_table_written_out_wrongly_is_refused(name):
    with pytest.raises(InputError, match="mine: a table"):
        structure(name)


def written(tmp_path, text, name="mine.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@given(small_tables)
def test_tables_of_numbers_are_read_back_as_written(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("tables")
    as_csv = written(folder, "\n".join(",".join(map(str, row)) for row in rows))
    as_json = written(folder, json.dumps(rows), "mine.json")
    as_object = written(folder, json.dumps({"name": "Mine", "table": rows}), "object.json")
    for path, name in ((as_csv, "mine"), (as_json, "mine"), (as_object, "Mine")):
        made = load_structure(path)
        assert made.table.tolist() == rows
        assert made.name == name
        assert made.identity == identity_of(np.array(rows))


@pytest.mark.parametrize(
    "text, name",
    [
        ("*,e,r,s\ne,e,r,s\nr,r,s,e\ns,s,e,r\n", "t.csv"),
        (",e,r,s\n e , e,r , s\nr,r,s,e\n\ns,s,e,r", "t.csv"),
        ("\ufeff,e,r,s\r\ne,e,r,s\r\nr,r,s,e\r\ns,s,e,r\r\n", "t.csv"),
        ('[["*","e","r","s"],["e","e","r","s"],["r","r","s","e"],["s","s","e","r"]]', "t.json"),
        (",0,1,2\n0,0,1,2\n1,1,2,0\n2,2,0,1\n", "t.csv"),
        ("\ufeff0,1,2\n1,2,0\n2,0,1\n", "t.csv"),
    ],
)
def test_header_forms_give_the_same_table(tmp_path, text, name):
    assert np.array_equal(load_structure(written(tmp_path, text, name)).table, structure("C3").table)


@pytest.mark.parametrize(
    "text, name, message",
    [
        ("0,1\n1,7\n", "t.csv", "row 2, column 2: '7' is not an element"),
        ("0,1\n-1,0\n", "t.csv", "row 2, column 1: '-1' is not an element"),
        ("0,1\n1,x\n", "t.csv", "row 2, column 2: 'x' is not an element"),
        ("*,e,r\ne,e,r\nr,r,q\n", "t.csv", "row 3, column 3: 'q' is not an element"),
        ("0,1\n1\n", "t.csv", "row 2 has 1 cells; expected 2"),
        ("0,1,1\n1,0\n", "t.csv", "row 1 has 3 cells; expected 2"),
        ("0,1\n1,\n", "t.csv", "row 2, column 2: '' is not an element"),
        ("*,e,e\ne,e,e\ne,e,e\n", "t.csv", "'e' is listed twice"),
        ("", "t.csv", "empty"),
        ("[]", "t.json", "empty"),
        ("[[0,1],[1,0]", "t.json", "line 1 column 13"),
        ("[0,1]", "t.json", "list of rows"),
        ('{"rows": [[0]]}', "t.json", "'table'"),
        ("[[0,1],[1,2]]", "t.json", "row 2, column 2: '2' is not an element"),
        ("\n".join([",".join("0" * 53)] * 53), "t.csv", "at most 52"),
        ("a" * 200_000 + ",0\n0,0", "t.csv", "is not CSV: field larger"),
        ("[" * 100_000, "t.json", "is not JSON: maximum recursion"),
    ],
)
def test_a_malformed_table_says_which_cell(tmp_path, text, name, message):
    with pytest.raises(InputError) as caught:
        load_structure(written(tmp_path, text, name))
    assert message in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_the_users_error(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        load_structure(tmp_path / "nowhere.csv")


def test_a_binary_file_is_the_users_error(tmp_path):
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read"):
        load_structure(tmp_path / "binary.csv")
