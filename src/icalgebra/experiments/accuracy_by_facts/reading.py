"""What the section on accuracy against the number of facts says of one model."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.claims import published
from icalgebra.experiments.shared.readings import Number, Shown, Values, stated

PUBLISHED_STRUCTURES = ("C4", "C6", "C8", "C10")  # those of Figure 2a
CONTROLS = ("short", "repeated", "far", "shifted", "company")


@dataclass(frozen=True)
class Structure:
    """Mean accuracy over the published k."""

    name: str
    accuracy: Number
    ceiling: Number
    published: Number


@dataclass(frozen=True)
class Fall:
    """The first two numbers of facts between which a structure's accuracy falls beyond chance."""

    structure: str
    start: int
    end: int


@dataclass(frozen=True)
class PublishedFall:
    """C4's curve in Figure 2a."""

    peak: Number
    last: Number
    last_k: int


@dataclass(frozen=True)
class SmallGroup:
    """C3 or C4, whose published accuracy falls at long contexts; all but fall: the controls of that name."""

    fall: Shown
    short: Shown
    repeated: Shown
    far: Shown
    shifted: Shown
    company: Shown


@dataclass(frozen=True)
class Reading:
    structures: tuple[Structure, ...]  # of those of Figure 2a, the ones in the model's world
    mixture: Number
    mixture_ceiling: Number
    published_fall: PublishedFall
    falls: tuple[Fall, ...]
    c3: SmallGroup
    c4: SmallGroup
    c3_alone: Number  # share of training sequences
    c3_present: Number
    c3_repeats: int  # of each fact in 199, where C3 stands alone


def read(values: Values) -> Reading:
    prevalence = values.detail("prevalence", "C3")
    return Reading(
        structures=_structures(values),
        mixture=values.number("published_grid.mixture"),
        mixture_ceiling=values.number("published_grid_ceiling.mixture"),
        published_fall=_published_fall(),
        falls=tuple(Fall(name, *pair) for name, pair in values.detail("falls").items() if pair),
        c3=_small_group(values, "C3"),
        c4=_small_group(values, "C4"),
        c3_alone=Number.exact(prevalence["alone"]),
        c3_present=Number.exact(prevalence["present"]),
        c3_repeats=round(prevalence["repeats_alone_at_200"]),
    )


def _structures(values: Values) -> tuple[Structure, ...]:
    accuracy = values.optionals("published_grid.{}", PUBLISHED_STRUCTURES)
    return tuple(
        Structure(
            name,
            ours,
            values.number(f"published_grid_ceiling.{name}"),
            Number.exact(stated(f"B1.{name}_auc").value / 100),
        )
        for name, ours in accuracy.items()
        if isinstance(ours, Number)
    )


def _published_fall() -> PublishedFall:
    points = published()["figures"]["2a"]["C4"]
    last_k, last = points[-1]
    return PublishedFall(Number.exact(max(y for _, y in points)), Number.exact(last), round(last_k))


def _small_group(values: Values, name: str) -> SmallGroup:
    fall, controls = values.optional(f"{name}_fall", "points"), values.optionals(f"decline.{name}.{{}}", CONTROLS)
    return SmallGroup(fall, **controls)
