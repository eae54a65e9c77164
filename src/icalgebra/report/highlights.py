"""The first screen's findings: a few claims each, drawn small; which titles apply follows from their verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from icalgebra.experiments.shared.readings import listed
from icalgebra.report.evidence import named
from icalgebra.report.findings_mechanisms import Identity, IdentityDirection
from icalgebra.report.store import PREFERRED, Judged
from icalgebra.report.verdicts import JudgedClaim
from icalgebra.verdicts import AGREES

# In the units of the drawing; TRACK: where in a row the line lies.
WIDTH, ROW, TRACK, MARGIN = 300, 29, 23, 6


# Of a part of a title: do its claims agree with the paper? Of the steering, how far a model must be moved.
Says = Literal["yes", "in part", "no", "first only", "second only", "at one", "at two"]


@dataclass(frozen=True)
class Drawn:
    """A claim in the picture. part: the part of the title that its verdict decides. comparable: whether the published
    number is the same quantity as ours, and may stand on the same line."""

    claim: str
    label: str
    part: int = 0
    comparable: bool = True


# By name: the section to read on, and what is drawn. The words are in templates/first_screen.html.jinja.
FINDINGS: dict[str, tuple[str, tuple[Drawn, ...]]] = {
    "behaviour": (
        "distributions",
        (
            *(Drawn(f"C3.{skill}_50", skill) for skill in ("copy", "commute", "identity", "cancel", "associate")),
            Drawn("C3.associate_200", "associate, 200 facts", part=1),
        ),
    ),
    "copying": (
        "circuits",
        (
            Drawn("K1.copy_best", "unrelated: best head", part=1),
            Drawn("K1.copy_second", "unrelated: next head", part=1),
            Drawn("K4.share", "one fact differs: best head", comparable=False),
            Drawn("K4.others", "one fact differs: next head", comparable=False),
        ),
    ),
    "sets": (
        "subspace_generalisation",
        (
            Drawn("L6.closure", "closure, residual stream"),
            Drawn("L6.cancellation", "cancellation, residual stream"),
            Drawn("L2.without_identity", "closure, attention output", part=1),
            Drawn("L3.without_identity", "cancellation, attention output", part=1),
        ),
    ),
    "steering": (
        "identity",
        (
            Drawn("I3.plus_distance", "a query variable is answered"),
            Drawn("I3.false_left", "with a false left identity"),
            Drawn("I3.false_right", "with a false right identity"),
        ),
    ),
    "ceiling": ("model_coverage", (Drawn("C2m.over_ceiling", "accuracy over the oracle's"),)),
}


NEW, STEERING = "ceiling", "steering"  # the first of them is not in the paper
PAIR = 2  # of a part with two claims the title says which one agrees


@dataclass(frozen=True)
class Highlight:
    name: str
    section: str
    says: list[Says]  # by part of the title: do its claims agree with the paper?
    picture: Markup
    why: str  # of the first claim that differs
    first: JudgedClaim  # the first claim that is drawn
    direction: IdentityDirection | None  # of the steering: that of the model which decides the first verdict

    @property
    def is_new(self) -> bool:
        return self.name == NEW

    @property
    def overall(self) -> Literal["yes", "in part", "no"]:
        found = set(self.says)
        return "yes" if found == {"yes"} else "no" if found <= {"no", "at one", "at two"} else "in part"

    @property
    def below(self) -> list[Markup]:
        """The models whose interval lies below the first claim's published number."""
        published = self.first.claim.number
        return [named(item.shown_model) for item in _measured(self.first) if item.ours and item.ours.high < published]

    @property
    def above(self) -> list[Markup]:
        published = self.first.claim.number
        return [named(item.shown_model) for item in _measured(self.first) if item.ours and item.ours.low > published]

    @property
    def position(self) -> Markup:
        """'small and fast come closer to it than the paper's model, rerun stays further below'; of an upper bound."""
        parts = []
        if self.above:
            verb = "comes" if len(self.above) == 1 else "come"
            parts.append(Markup("{} {} closer to it than the paper's model").format(listed(self.above), verb))
        if self.below:
            verb = "stays" if len(self.below) == 1 else "stay"
            than = "" if self.above else " it than the paper's model"
            parts.append(Markup("{} {} further below{}").format(listed(self.below), verb, than))
        return Markup(", ").join(parts)


def read_highlights(judged: list[JudgedClaim], identity: Identity | None) -> list[Highlight]:
    """Those of which every claim was measured. identity: how far models are steered that are not as published."""
    rows = {row.claim.id: row for row in judged if row.deciding.ours is not None}
    return [
        _highlight(name, section, [(item, rows[item.claim]) for item in items], identity)
        for name, (section, items) in FINDINGS.items()
        if all(item.claim in rows for item in items)
    ]


def _highlight(name: str, section: str, items: list[tuple[Drawn, JudgedClaim]], identity: Identity | None) -> Highlight:
    parts = sorted({item.part for item, _ in items})
    says = [_says([row for item, row in items if item.part == part]) for part in parts]
    first = items[0][1]
    direction = _direction(first, identity) if name == STEERING else None
    if says == ["no"] and direction:
        says = [direction.steers]
    return Highlight(name, section, says, _picture(name, items), _why([row for _, row in items]), first, direction)


def _direction(first: JudgedClaim, identity: Identity | None) -> IdentityDirection | None:
    of_model = [item for item in identity.models if item.model == first.deciding.shown_model] if identity else []
    return of_model[0] if of_model else None


def _why(rows: list[JudgedClaim]) -> str:
    return next((row.claim.why for row in rows if row.verdict == "differs" and row.deciding.needs_reason), "")


def _says(rows: list[JudgedClaim]) -> Says:
    agree = [row.verdict in AGREES for row in rows]
    if len(rows) == PAIR and sum(agree) == 1 and any(row.verdict == "differs" for row in rows):
        return "first only" if agree[0] else "second only"
    return "yes" if all(agree) else "in part" if any(agree) else "no"


def _picture(name: str, items: list[tuple[Drawn, JudgedClaim]]) -> Markup:
    drawn = [_row(i * ROW, item, row) for i, (item, row) in enumerate(items)]
    told = [f"{item.label}: {_published(item, row)}here {_told(row)}" for item, row in items]
    head = Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}" class="small-picture">')
    return (
        head.format(f"{name}: {'; '.join(told)}", WIDTH, ROW * len(items)) + Markup("").join(drawn) + Markup("</svg>")
    )


def _published(item: Drawn, row: JudgedClaim) -> str:
    return f"published {row.published}, " if item.comparable else ""


def _told(row: JudgedClaim) -> str:
    return ", ".join(f"{_number(item)} ({item.shown_model})" for item in _measured(row))


def _measured(row: JudgedClaim) -> list[Judged]:
    """The deciding model first; of the others those results that count."""
    others = [item for item in row.others if item.counts and item.ours is not None and item.model != row.deciding.model]
    return [row.deciding, *others]


def _number(item: Judged) -> str:
    assert item.ours is not None
    return f"{item.ours.value:.1f} %" if item.claim.unit == "%" else f"{item.ours.value:.2f}"


def _row(top: float, item: Drawn, row: JudgedClaim) -> Markup:
    """A line from 0 to 1 (or 100 %) with the published number, our interval, and other models' values."""
    y, whole = top + TRACK, _whole(row)
    number = item.comparable and not isinstance(row.claim.published, str)
    left = Markup('<text x="0" y="{}">{}</text>').format(y - 8, item.label)
    right = Markup('<text x="{}" y="{}" text-anchor="end">{}{}</text>').format(
        WIDTH,
        y - 8,
        f"{f'{row.claim.published:g} → ' if number else ''}{_number(row.deciding)}",
        _of_model(row.deciding),
    )
    marks = [Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="track"/>').format(MARGIN, WIDTH - MARGIN, y, y)]
    if whole > _one(row):  # a share of an effect may exceed the whole of it: a tick says where that is
        marks.append(Markup('<path d="M{} {}v8" class="tick"/>').format(f"{_x(_one(row), whole):.1f}", y - 4))
    marks += [_mark(found, y, whole, found is row.deciding) for found in reversed(_measured(row))]
    if number:
        x = _x(float(row.claim.published), whole)
        marks.append(Markup('<path d="M{} {}l5 -5l5 5l-5 5z" class="published"/>').format(f"{x - 5:.1f}", y))
    return left + right + Markup("").join(marks)


def _of_model(item: Judged) -> Markup:
    """Nothing for the paper's recipe, which the key of the pictures names."""
    return Markup("") if item.model == PREFERRED[0] else Markup(" <tspan>{}</tspan>").format(item.shown_model)


def _one(row: JudgedClaim) -> float:
    return 100.0 if row.claim.unit == "%" else 1.0


def _whole(row: JudgedClaim) -> float:
    """Where the line ends: at one, or at the largest value where that is more."""
    return max([_one(row), *(item.ours.value for item in _measured(row) if item.ours)])


def _mark(item: Judged, y: float, whole: float, decides: bool) -> Markup:
    assert item.ours is not None
    x, low, high = (_x(value, whole) for value in (item.ours.value, item.ours.low, item.ours.high))
    dot = Markup('<circle cx="{}" cy="{}" r="4" class="{}"/>').format(f"{x:.1f}", y, "ours" if decides else "other")
    span = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="{}"/>').format(
        f"{low:.1f}", f"{high:.1f}", y, y, "span" if decides else "span other"
    )
    return span + dot


def _x(value: float, whole: float) -> float:
    share = 0.0 if math.isnan(value) else min(max(value / whole, 0.0), 1.0)
    return MARGIN + share * (WIDTH - 2 * MARGIN)
