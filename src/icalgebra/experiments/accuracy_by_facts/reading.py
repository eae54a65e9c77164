"""What the section says about one model's accuracy against the number of facts."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from icalgebra.claims import published
from icalgebra.experiments.shared.readings import Number, Values, stated

PUBLISHED_STRUCTURES = ("C4", "C6", "C8", "C10")  # Figure 2a
FALLING = ("C3", "C4")  # whose published accuracy falls at long contexts: they have controls


@dataclass(frozen=True)
class Structure:
    """Mean accuracy over the published k."""

    name: str
    accuracy: Number
    ceiling: Number
    published: Number


@dataclass(frozen=True)
class PublishedFall:
    """C4 in Figure 2a."""

    peak: Number
    last: Number
    last_k: int


@dataclass(frozen=True)
class Fall:
    """A structure whose accuracy falls significantly: from the first number of facts to the worst one after it."""

    structure: str
    start: int
    before: Number
    end: int
    after: Number

    def __html__(self) -> str:
        return Markup("{} (from {} at k = {} to {} at k = {})").format(
            self.structure, self.before.plain, self.start, self.after.plain, self.end
        )


@dataclass(frozen=True)
class Reading:
    grid_end: int  # the largest published k that the model's sequences reach
    structures: tuple[Structure, ...]  # those of Figure 2a that are in the model's world
    mixture: Number
    mixture_ceiling: Number
    published_fall: PublishedFall
    falls: tuple[Fall, ...]
    falls_nowhere: bool
    controls_measured: bool
    c3_alone: Number  # share of training sequences with C3 as the only structure
    c3_repeats: int  # how often each fact occurs among 199 where C3 is the only structure

    @property
    def accuracies(self) -> dict[str, Number]:
        return {item.name: item.accuracy for item in self.structures}


def read(values: Values) -> Reading:
    published_c4 = {round(k): accuracy for k, accuracy in published()["figures"]["2a"]["C4"]}
    last_k = max(published_c4)
    prevalence = values.detail("prevalence", "C3")
    return Reading(
        grid_end=max(k for k in published_c4 if k <= max(values.config["facts"])),
        structures=_structures(values),
        mixture=values.number("published_grid.mixture"),
        mixture_ceiling=values.number("published_grid_ceiling.mixture"),
        published_fall=PublishedFall(
            Number.exact(max(published_c4.values())), Number.exact(published_c4[last_k]), last_k
        ),
        falls=tuple(_fall(values, name, pair[0]) for name, pair in values.detail("falls").items() if pair),
        falls_nowhere=not any(values.detail("falls").values()),
        controls_measured=any(values.optional(f"decline.{name}.short") for name in FALLING),
        c3_alone=Number.exact(prevalence["alone"]),
        c3_repeats=round(prevalence["repeats_alone_at_200"]),
    )


def _fall(values: Values, name: str, start: int) -> Fall:
    """The later point whose interval lies lowest: some later interval lies below that of the start."""
    curve = values.curve(f"model.{name}")
    points = {round(k): Number(found) for k, found in zip(curve.x, curve.estimates)}
    end = min((k for k in points if k > start), key=lambda k: points[k].high)
    return Fall(name, start, points[start], end, points[end])


def _structures(values: Values) -> tuple[Structure, ...]:
    found = []
    for name, accuracy in values.optionals("published_grid.{}", PUBLISHED_STRUCTURES).items():
        if isinstance(accuracy, Number):
            ceiling = values.number(f"published_grid_ceiling.{name}")
            found.append(Structure(name, accuracy, ceiling, Number.exact(stated(f"B1.{name}_auc").value / 100)))
    return tuple(found)
