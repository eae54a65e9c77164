"""Worlds of cyclic groups alone, or of dihedral groups alone."""

from __future__ import annotations

from dataclasses import replace

from icalgebra.algebra.structures import structure
from icalgebra.errors import InputError
from icalgebra.language.world import PAPER_STRUCTURES, World

FAMILIES = {"cyclic": "C", "dihedral": "D"}


def family_world(world: World, family: str) -> World:
    """The model's world with only one family: those of the paper's groups that fit its alphabet."""
    letter = FAMILIES[family]
    fits = [name for name in PAPER_STRUCTURES if structure(name).order <= world.n_variables]
    chosen = [name for name in fits if name[0] == letter]
    if not chosen:
        raise InputError(
            f"this needs {family} groups, and none of the paper's fits {world.n_variables} variables; "
            "use a model with a larger alphabet"
        )
    rule = "fit" if world.mixture_rule == "all" else world.mixture_rule
    return replace(world, structures=tuple(chosen), d2=False, mixture_rule=rule)
