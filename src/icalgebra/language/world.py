"""World: the generative process of sequences, as one frozen value.

1. Draw an ordered list of structures that together fit in the alphabet (the mixture rule below).
2. Assign their elements to distinct variables, uniformly; the reserved variable is never an identity.
3. Draw facts uniformly over all cells of all tables, so a structure's share of the facts grows as its order squared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, NotRequired, TypedDict, get_args

import numpy as np

from icalgebra.algebra.structures import Structure, structure
from icalgebra.errors import InputError, shortened, unknown
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.records import argument, read

PAPER_STRUCTURES = ("C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "D3", "D4", "D5")
MixtureRule = Literal["fit", "stop", "all"]
MIXTURE_RULES: tuple[MixtureRule, ...] = get_args(MixtureRule)
RENAMED = {"draw": "mixture_rule"}  # former name -> field, for what earlier versions saved


def option(default: Any, help: str) -> Any:
    """A field with its default and the help text that command lines show."""
    return field(default=default, metadata={"help": help})


def check_number(name: str, value: Any, kind: Any = int) -> None:
    """Raise InputError for a value of another type: a text, say, or 2.5 where only whole numbers make sense."""
    argument(kind, value, name)


@dataclass(frozen=True)
class World:
    """By default the paper's world. Training configs and command lines take their defaults and help from here.

    World.only("D4") is the world of D4 alone, once per sequence. World("D4") may draw it again while it fits.

    structures    names, or the user's own Structure values
    d2            the released code also draws D2, the paper's text does not: True adds it
    mixture_rule  fit: uniformly among the structures that still fit, until none does (the released code)
                  stop: uniformly among all, ending at the first that does not fit
                  all: every listed structure once, in order; p_mix is ignored
    """

    structures: tuple[str | Structure, ...] = option(
        PAPER_STRUCTURES,
        "the structures that can be drawn, by name: C6 D4 Q8 C4xC2 SmallGroup(16,3) Quasigroup(8,0); with mixture rule "
        "all each of them once",
    )
    n_variables: int = option(16, "size of the alphabet, at most 52")
    p_mix: float = option(0.7, "probability of drawing one more structure")
    d2: bool = option(False, "draw D2 as well, as the released code does")
    reserved: str | None = option("a", "the variable that is never an identity, or 'none'")
    mixture_rule: MixtureRule = option(  # noqa: RUF009 (the name stands for a Literal)
        "fit", "fit: draw among the structures that still fit; stop: end at the first that does not; all: every one"
    )
    vocabulary: Vocabulary = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        single = isinstance(self.structures, str | Structure)
        if not single and not isinstance(self.structures, list | tuple):
            raise InputError(f"structures are names or Structure values, such as ('C6', 'D4'), not {self.structures!r}")
        object.__setattr__(self, "structures", (self.structures,) if single else tuple(self.structures))
        for item in self.structures:
            if not isinstance(item, str | Structure):
                raise InputError(f"a structure is a name such as 'D4', or a Structure, and not {item!r}")
        check_number("n_variables", self.n_variables)
        check_number("p_mix", self.p_mix, float)
        argument(bool, self.d2, "d2")
        object.__setattr__(self, "vocabulary", Vocabulary(self.n_variables))
        if not 0.0 <= self.p_mix <= 1.0:
            raise InputError(f"p_mix is a probability, between 0 and 1, and not {self.p_mix}")
        argument(str, self.mixture_rule, "mixture_rule")
        if self.mixture_rule not in MIXTURE_RULES:
            raise InputError(f"mixture_rule must be one of {', '.join(MIXTURE_RULES)}, not {self.mixture_rule!r}")
        if isinstance(self.reserved, str) and self.reserved.lower() == "none":  # as configs and command lines write it
            object.__setattr__(self, "reserved", None)
        known = isinstance(self.reserved, str) and self.reserved in tuple(self.vocabulary.variables)
        if self.reserved is not None and not known:
            raise InputError(f"reserved must be one of {self.vocabulary.variables}, not {self.reserved!r}")
        self._check_sizes()

    @classmethod
    def only(cls, *structures: str | Structure, **fields: Any) -> World:
        """The world in which every sequence is about each of these structures, once: World.only("D4")."""
        return cls(structures, **{"mixture_rule": "all", **fields})

    def _check_sizes(self) -> None:
        if not self.pool:
            raise InputError("a world needs at least one structure")
        largest = max(self.pool, key=lambda s: s.order)
        if largest.order > self.n_variables:
            raise InputError(
                f"{largest.name} has {largest.order} elements but the alphabet has {self.n_variables} variables; "
                f"give it at least {largest.order}"
            )
        total = sum(s.order for s in self.pool)
        if self.mixture_rule == "all" and total > self.n_variables:
            raise InputError(
                f"the structures {', '.join(s.name for s in self.pool)} have {total} elements together but the "
                f"alphabet has {self.n_variables} variables; give it at least {total}"
            )
        smallest = min(self.pool, key=lambda s: s.order)
        if self.reserved is not None and smallest.order == 1 and smallest.identity is not None:
            raise InputError(
                f"{smallest.name} is nothing but an identity, which the reserved variable {self.reserved!r} "
                "must not be; set reserved to 'none'"
            )

    @cached_property
    def pool(self) -> tuple[Structure, ...]:
        """The structures that can be drawn."""
        named = self.structures + (("D2",) if self.d2 and "D2" not in self.structures else ())
        return tuple(item if isinstance(item, Structure) else structure(item) for item in named)

    @property
    def reserved_id(self) -> int:
        """The reserved variable's token, or −1."""
        return -1 if self.reserved is None else self.vocabulary.variables.index(self.reserved)

    @cached_property
    def max_mixture(self) -> int:
        """The largest number of structures in one sequence."""
        return len(self.pool) if self.mixture_rule == "all" else self.n_variables // min(s.order for s in self.pool)

    def mixtures(self) -> dict[tuple[int, ...], float]:
        """Every ordered list of structures (as indices into the pool) with its exact probability."""
        if self.mixture_rule == "all":
            return {tuple(range(len(self.pool))): 1.0}
        found: dict[tuple[int, ...], float] = {}
        self._extend((), self.n_variables, 1.0, found)
        return found

    def _extend(self, drawn: tuple[int, ...], room: int, p: float, found: dict[tuple[int, ...], float]) -> None:
        """Distribute p, the probability of drawing another structure after `drawn`, over what can follow."""
        fitting = [i for i, s in enumerate(self.pool) if s.order <= room]
        choices = len(fitting) if self.mixture_rule == "fit" else len(self.pool)
        ends = 1.0 if not fitting else (choices - len(fitting)) / choices
        if ends and p:
            found[drawn] = found.get(drawn, 0.0) + p * ends
        for i in fitting:
            each, longer = p / choices, (*drawn, i)
            found[longer] = found.get(longer, 0.0) + each * (1.0 - self.p_mix)
            if each * self.p_mix > 0:
                self._extend(longer, room - self.pool[i].order, each * self.p_mix, found)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for configs and results; the user's own structures are saved with their table."""
        values = {key: value for key, value in asdict(self).items() if key not in ("vocabulary", "structures")}
        return {"structures": [_plain(item) for item in self.structures], **values}

    @staticmethod
    def from_dict(values: dict[str, Any]) -> World:
        """The inverse of to_dict, of this version or an earlier one; an unknown key is an error."""
        values = current_names(read(PlainWorld, values, "a world"))
        for key in values:
            if key not in WORLD_FIELDS:
                raise unknown("field of a world", key, WORLD_FIELDS)
        items = tuple(_structure(item) for item in values.get("structures", PAPER_STRUCTURES))
        return World(**{**values, "structures": items})


class PlainStructure(TypedDict):
    """A user's own structure in a saved world."""

    name: str
    table: list[list[int]]
    identity: NotRequired[int | None]


class PlainWorld(TypedDict, total=False):
    """A saved world. What it leaves out counts as the paper's."""

    structures: list[str | PlainStructure]
    n_variables: int
    p_mix: float
    d2: bool
    reserved: str | None
    mixture_rule: MixtureRule
    draw: MixtureRule  # former name


WORLD_FIELDS = {item.name: item for item in fields(World) if item.init}


def check_world(world: Any) -> None:
    """Raise InputError for anything else than a World, such as the name of a structure."""
    if not isinstance(world, World):
        raise InputError(f"world must be a World, such as World.only('D4') or World(('C6', 'D4')), not {world!r}")


def current_names(values: Mapping[str, Any], renamed: Mapping[str, str] = RENAMED) -> dict[str, Any]:
    """Saved fields under their current names; a field given under both names is an error."""
    for old, new in renamed.items():
        if old in values and new in values:
            raise InputError(f"{old} is the former name of {new}; give one of them")
    return {renamed.get(name, name): value for name, value in values.items()}


def is_papers_world(config: dict[str, Any]) -> bool:
    """Whether a result's config describes the paper's world; models of other worlds are shown, but no claim is judged
    on them.

    What a config leaves out counts as the paper's: results about data alone record no world, and a sweep leaves out
    what it varies.
    """
    stated = current_names(config.get("world", config.get("training", {})))
    papers = World().to_dict()
    alike = sorted(map(str, stated.get("structures", papers["structures"]))) == sorted(papers["structures"])
    return alike and all(stated.get(key, papers[key]) == papers[key] for key in papers if key != "structures")


def _plain(item: str | Structure) -> str | dict[str, Any]:
    if isinstance(item, str):
        return item
    return {"name": item.name, "table": item.table.tolist(), "identity": item.identity}


def _structure(item: str | dict[str, Any]) -> str | Structure:
    """The inverse of _plain. A structure saved without the key "identity" gets the identity of its table."""
    if isinstance(item, str):
        return item
    if len({len(row) for row in item["table"]}) != 1:
        raise InputError(f"{shortened(item['name'])}: the rows of a table have the same length")
    found = Structure.from_table(item["name"], np.array(item["table"]))
    return replace(found, identity=item.get("identity", found.identity))
