"""Finite algebraic structures as Cayley tables, and a catalogue of them by name.

    C6 · D4 · Q8 · A4 · SD16 · M16          groups; D4 has order 8, Q4n is dicyclic
    C4xC2 · C2xC2xC2                        direct products
    Z6 · V4 · K4 · S3 · A3                  other names of C6, C2xC2 (twice), D3 and C3
    SmallGroup(16,3)                        each of the 42 groups of order <= 16 by its small-groups id
    Quasigroup(8,0) · Semigroup(8,0) · Monoid(8,0) · Magma(8,0)     order and seed
    mine[0 1|1 0]                           any table, written out row by row, under a name of your choice

Tables of groups are generated from a few constructions, never typed in. The identity of every group is element 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from importlib import import_module
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from icalgebra.algebra.axioms import find_identity, is_associative, is_latin
from icalgebra.errors import InputError, unknown
from icalgebra.records import argument

MAX_ORDER = 52  # every element needs a variable, and the alphabet has 52 letters


@dataclass(frozen=True, eq=False)
class Structure:
    """A finite set 0 … n−1 with a product: table[x, y] = x·y. identity is None where there is none."""

    name: str
    table: np.ndarray
    identity: int | None

    def __post_init__(self) -> None:
        given = np.asarray(self.table)
        if given.ndim != 2 or given.shape[0] != given.shape[1] or given.size == 0:
            raise InputError(f"{self.name}: a table must be square, not of shape {given.shape}")
        _checked_order(self.name, len(given))
        if given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= len(given):
            raise InputError(f"{self.name}: a table of {len(given)} elements must hold integers 0 … {len(given) - 1}")
        if self.identity not in (None, find_identity(given)):
            raise InputError(f"{self.name}: element {self.identity} is not an identity of its table")
        table = np.array(given, dtype=np.uint8)
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    @staticmethod
    def from_table(name: str, table: ArrayLike) -> Structure:
        """A structure from its table alone, an array or a list of rows; the identity is found, if there is one."""
        try:
            made = Structure(name, np.asarray(table), None)
        except InputError:
            raise
        except (TypeError, ValueError):
            raise InputError(f"{name}: a table is a square of integers, such as [[0, 1], [1, 0]]") from None
        return replace(made, identity=find_identity(made.table))

    @property
    def order(self) -> int:
        """The number of elements."""
        return len(self.table)

    @property
    def written_out(self) -> str:
        """A name that contains the whole table, for configs and command lines; `structure` reads it back."""
        rows = "|".join(" ".join(map(str, row)) for row in self.table)
        plain = re.sub(r"[^\w.+-]", "_", self.name)
        return f"{plain}[{rows}]"

    @property
    def kind(self) -> str:
        """The most specific of: group, monoid, semigroup, loop, quasigroup, magma."""
        if is_associative(self.table):
            return ("group" if is_latin(self.table) else "monoid") if self.identity is not None else "semigroup"
        if is_latin(self.table):
            return "loop" if self.identity is not None else "quasigroup"
        return "magma"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return False
        same = (self.name, self.identity) == (other.name, other.identity)
        return same and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash((self.name, self.identity, self.table.tobytes()))

    def __repr__(self) -> str:
        return f"Structure({self.name}, order {self.order}, {self.kind})"


# --- constructions --------------------------------------------------------------------------------------------------


def metacyclic(m: int, n: int, r: int, t: int = 0) -> np.ndarray:
    """The group of a, b with a^m = 1, b^n = a^t, b a b⁻¹ = a^r; element i + m·j is a^i b^j."""
    i, j = np.divmod(np.arange(m * n), m)[::-1]
    twist = np.array([pow(r, int(power), m) for power in j]) if m > 1 else np.zeros(m * n, dtype=int)
    carry = (j[:, None] + j) // n
    power_of_a = (i[:, None] + twist[:, None] * i + t * carry) % m
    return power_of_a + m * ((j[:, None] + j) % n)


def direct_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The direct product; element x·len(right) + y is (x, y)."""
    n = len(right)
    x, y = np.divmod(np.arange(len(left) * n), n)
    return left[x[:, None], x] * n + right[y[:, None], y]


def split_extension(kernel: np.ndarray, automorphism: np.ndarray, n: int) -> np.ndarray:
    """kernel ⋊ C_n, the generator of C_n acting by `automorphism`; element x + len(kernel)·j is (x, c^j)."""
    order = len(kernel)
    powers = [np.arange(order)]
    for _ in range(n - 1):
        powers.append(automorphism[powers[-1]])
    j, x = np.divmod(np.arange(order * n), order)
    acted = np.array(powers)[j][:, x]  # acted[u, v]: φ^j(u) applied to the kernel part of v
    return kernel[x[:, None], acted] + order * ((j[:, None] + j) % n)


def cyclic(n: int) -> np.ndarray:
    return metacyclic(n, 1, 1)


def dihedral(n: int) -> np.ndarray:
    """The symmetries of an n-gon, order 2n: rotations first, then reflections."""
    return metacyclic(n, 2, n - 1)


def dicyclic(order: int) -> np.ndarray:
    """Q8, Q12, Q16, …: a^(2m) = 1, b² = a^m, b a b⁻¹ = a⁻¹, with order 4m."""
    return metacyclic(order // 2, 2, order // 2 - 1, order // 4)


def _on_c4xc2(image_of_a: tuple[int, int], image_of_b: tuple[int, int]) -> np.ndarray:
    """The automorphism of C4×C2 given by the images of (1,0) and (0,1), written as exponents."""
    x, y = np.divmod(np.arange(8), 2)
    first = (x * image_of_a[0] + y * image_of_b[0]) % 4
    return first * 2 + (x * image_of_a[1] + y * image_of_b[1]) % 2


# --- the catalogue --------------------------------------------------------------------------------------------------

# Groups that are not in a family and not a direct product: one construction each.
_SPECIAL: dict[str, Callable[[], np.ndarray]] = {
    "A4": lambda: split_extension(direct_product(cyclic(2), cyclic(2)), np.array([0, 2, 3, 1]), 3),
    "M16": lambda: metacyclic(8, 2, 5),
    "SD16": lambda: metacyclic(8, 2, 3),
    "C4:C4": lambda: metacyclic(4, 4, 3),
    "C4xC2:C2": lambda: split_extension(direct_product(cyclic(4), cyclic(2)), _on_c4xc2((1, 1), (0, 1)), 2),
    "C4oD4": lambda: split_extension(direct_product(cyclic(4), cyclic(2)), _on_c4xc2((1, 0), (2, 1)), 2),
}

# Order -> names, in the order of the small-groups library (which counts from 1).
SMALL_GROUPS: dict[int, tuple[str, ...]] = {
    1: ("C1",),
    2: ("C2",),
    3: ("C3",),
    4: ("C4", "C2xC2"),
    5: ("C5",),
    6: ("D3", "C6"),
    7: ("C7",),
    8: ("C8", "C4xC2", "D4", "Q8", "C2xC2xC2"),
    9: ("C9", "C3xC3"),
    10: ("D5", "C10"),
    11: ("C11",),
    12: ("Q12", "C12", "A4", "D6", "C6xC2"),
    13: ("C13",),
    14: ("D7", "C14"),
    15: ("C15",),
    16: (
        *("C16", "C4xC4", "C4xC2:C2", "C4:C4", "C8xC2", "M16", "D8", "SD16", "Q16"),
        *("C4xC2xC2", "C2xD4", "C2xQ8", "C4oD4", "C2xC2xC2xC2"),
    ),
}

# Kind of random table -> the function of random_tables.py that draws one. That module is imported only when a table is
# drawn, because it imports numba, and the report reads worlds without needing numba.
_RANDOM = {
    "Quasigroup": "latin_square",
    "Semigroup": "semigroup_table",
    "Monoid": "monoid_table",
    "Magma": "magma_table",
}

# Other common names; Z6 is C6 as well.
_ALIASES = {"V4": "C2xC2", "K4": "C2xC2", "S2": "C2", "S3": "D3", "A3": "C3"}
_TOO_LARGE = re.compile(r"[SA](\d{1,2})")  # symmetric and alternating groups, most of them beyond any alphabet

# Numbers have few digits: Python refuses to read integers of more than 4300, and no order has more than two.
_SMALL_GROUP_NAME = re.compile(r"SmallGroup\(([0-9]{1,9}),\s*([0-9]{1,9})\)")
_RANDOM_NAME = re.compile(rf"({'|'.join(_RANDOM)})\(([0-9]{{1,9}}),\s*([0-9]{{1,40}})\)")
_WRITTEN_OUT = re.compile(r"([\w.+-]+)\[([0-9 |]+)\]")
LONGEST_NAME = 100  # of a structure that is not written out; products of the catalogue's families need fewer than 20
LONGEST_TABLE = 10 * MAX_ORDER**2  # written out, an entry has two digits and a space


def all_groups(max_order: int = 16) -> list[Structure]:
    """Every group of order at most max_order (<= 16), up to isomorphism."""
    if argument(int, max_order, "max_order") > max(SMALL_GROUPS):
        raise InputError(f"the catalogue has all groups up to order {max(SMALL_GROUPS)}, not {max_order}")
    return [structure(name) for order, names in SMALL_GROUPS.items() if order <= max_order for name in names]


def structure(name: str) -> Structure:
    """The structure of that name; an unknown name raises InputError, which suggests the nearest."""
    if not isinstance(name, str):
        raise InputError(f"a structure's name is a text such as 'D4', not {name!r}")
    return _named(name)


@lru_cache(maxsize=4096)
def _named(name: str) -> Structure:
    if len(name) > (LONGEST_TABLE if name.endswith("]") else LONGEST_NAME):
        raise unknown("structure", name, known_names())
    small = _SMALL_GROUP_NAME.fullmatch(name)
    if small:
        return Structure(name, structure(_small_group_name(name, int(small[1]), int(small[2]))).table, 0)
    random = _RANDOM_NAME.fullmatch(name)
    if random:
        order = _checked_order(name, int(random[2]))
        draw = getattr(import_module("icalgebra.algebra.random_tables"), _RANDOM[random[1]])
        return Structure.from_table(name, draw(order, int(random[3])))
    written = _WRITTEN_OUT.fullmatch(name)
    if written:
        return Structure.from_table(written[1], _parse_table(written[1], written[2]))
    if name in _SPECIAL:
        return Structure(name, _SPECIAL[name](), 0)
    other = _other_name(name)
    if other != name:
        return structure(other)
    if _TOO_LARGE.fullmatch(name):
        raise InputError(
            f"{name} is not in the catalogue, which has all 42 groups of order up to 16, and C, D and Q groups and "
            f"their products up to order {MAX_ORDER}; give another group as a table (load_structure, --table)"
        )
    parts = name.split("x")
    factors = [factor for part in parts if (factor := _family(part)) is not None]
    if len(factors) < len(parts):
        raise unknown("structure", name, known_names())
    _checked_order(name, prod(order for order, _ in factors))  # before tables are made, which may be far too large
    return Structure(name, reduce(direct_product, [make() for _, make in factors]), 0)


def _other_name(name: str) -> str:
    """The catalogue's name for a group with other common names: each factor of a product by itself."""
    parts = [_ALIASES.get(part, re.sub(r"^Z(?=\d+$)", "C", part)) for part in name.split("x")]
    return "x".join(parts)


def _parse_table(name: str, text: str) -> np.ndarray:
    """'0 1|1 0' to a table."""
    rows = [row.split() for row in text.split("|")]
    if any(len(row) != len(rows) for row in rows):
        raise InputError(f"{name}: a table of {len(rows)} rows must have {len(rows)} numbers in each")
    # Entries of many digits are capped at n, which Structure refuses; uncapped, they might not fit in an integer.
    return np.array([[len(rows) if len(cell) > 9 else min(int(cell), len(rows)) for cell in row] for row in rows])


def split_names(text: str) -> tuple[str, ...]:
    """A comma-separated list of names; commas inside parentheses belong to the name."""
    parts = (part.strip() for part in re.split(r",(?![^(]*\))", text))
    return tuple(part for part in parts if part)


def known_names() -> list[str]:
    """Names to list and to suggest: the 42 small groups, then one of each random kind."""
    return [name for names in SMALL_GROUPS.values() for name in names] + [f"{kind}(8,0)" for kind in _RANDOM]


def _family(part: str) -> tuple[int, Callable[[], np.ndarray]] | None:
    """The order of C_n, D_n or Q_4n and its table, when asked for; None where the name is not one of these (or n has
    more than three digits)."""
    match = re.fullmatch(r"([CDQ])([1-9][0-9]{0,2})", part)
    if not match:
        return None
    letter, n = match[1], int(match[2])
    if letter == "C":
        return n, lambda: cyclic(n)
    if letter == "D":
        return 2 * n, lambda: dihedral(n)
    return (n, lambda: dicyclic(n)) if n % 4 == 0 and n >= 8 else None


def _small_group_name(name: str, order: int, number: int) -> str:
    if order not in SMALL_GROUPS or not 1 <= number <= len(SMALL_GROUPS[order]):
        numbers = len(SMALL_GROUPS.get(order, ()))
        known = f"numbers 1 to {numbers} at order {order}" if numbers else f"orders 1 to {max(SMALL_GROUPS)}"
        raise InputError(f"{name} is not in the catalogue, which has {known}, as in the GAP library")
    return SMALL_GROUPS[order][number - 1]


def _checked_order(name: str, order: int) -> int:
    if not 1 <= order <= MAX_ORDER:
        raise InputError(f"{name} has {order} elements; a structure must have between 1 and {MAX_ORDER}")
    return order
