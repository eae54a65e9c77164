"""The first screen's findings: a few claims each, drawn small; which titles apply follows from their verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from icalgebra.report.store import Judged
from icalgebra.report.verdicts import JudgedClaim
from icalgebra.verdicts import AGREES

WIDTH, ROW, TRACK, MARGIN = 300, 36, 26, 6  # in the units of the drawing; TRACK: where in a row the line lies


Says = Literal["yes", "in part", "no"]


@dataclass(frozen=True)
class Drawn:
    """A claim in the picture. part: the part of the title that its verdict decides."""

    claim: str
    label: str
    part: int = 0


# By name: the section to read on, and what is drawn. The words are in templates/first_screen.html.jinja.
FINDINGS: dict[str, tuple[str, tuple[Drawn, ...]]] = {
    "behaviour": (
        "distributions",
        tuple(Drawn(f"C3.{skill}_50", skill) for skill in ("copy", "commute", "identity", "cancel", "associate")),
    ),
    "copying": (
        "circuits",
        (
            Drawn("K4.share", "one fact differs: best head"),
            Drawn("K4.others", "one fact differs: next head"),
            Drawn("K1.copy_best", "unrelated: best head", part=1),
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


NEW = "ceiling"  # not in the paper


@dataclass(frozen=True)
class Highlight:
    name: str
    section: str
    says: list[Says]  # by part of the title: do its claims agree with the paper?
    picture: Markup
    why: str  # of the first claim that differs

    @property
    def is_new(self) -> bool:
        return self.name == NEW

    @property
    def overall(self) -> Says:
        return self.says[0] if len(set(self.says)) == 1 else "in part"


def read_highlights(judged: list[JudgedClaim]) -> list[Highlight]:
    """Those of which every claim was measured."""
    rows = {row.claim.id: row for row in judged if row.deciding.ours is not None}
    return [
        Highlight(name, section, _says_by_part(items, rows), _picture(name, items, rows), _why(items, rows))
        for name, (section, items) in FINDINGS.items()
        if all(item.claim in rows for item in items)
    ]


def _says_by_part(items: tuple[Drawn, ...], rows: dict[str, JudgedClaim]) -> list[Says]:
    parts = sorted({item.part for item in items})
    return [_says([rows[item.claim] for item in items if item.part == part]) for part in parts]


def _why(items: tuple[Drawn, ...], rows: dict[str, JudgedClaim]) -> str:
    differ = (rows[item.claim] for item in items if rows[item.claim].deciding.verdict == "differs")
    return next((row.claim.why or "" for row in differ if row.gives_reason), "")


def _says(rows: list[JudgedClaim]) -> Says:
    n_agree = sum(row.verdict in AGREES for row in rows)
    return "yes" if n_agree == len(rows) else "in part" if n_agree else "no"


def _picture(name: str, items: tuple[Drawn, ...], rows: dict[str, JudgedClaim]) -> Markup:
    drawn = [_row(i * ROW, item.label, rows[item.claim]) for i, item in enumerate(items)]
    told = [f"{item.label}: published {rows[item.claim].published}, here {_told(rows[item.claim])}" for item in items]
    head = Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}" class="small-picture">')
    return (
        head.format(f"{name}: {'; '.join(told)}", WIDTH, ROW * len(items)) + Markup("").join(drawn) + Markup("</svg>")
    )


def _told(row: JudgedClaim) -> str:
    return ", ".join(f"{_number(item)} ({item.shown_model})" for item in _measured(row))


def _measured(row: JudgedClaim) -> list[Judged]:
    """The deciding model first; of the others those results that count."""
    others = [item for item in row.others if item.counts and item.ours is not None and item.model != row.deciding.model]
    return [row.deciding, *others]


def _number(item: Judged) -> str:
    assert item.ours is not None
    return f"{item.ours.value:.1f} %" if item.claim.unit == "%" else f"{item.ours.value:.2f}"


def _row(top: float, label: str, row: JudgedClaim) -> Markup:
    """A line from 0 to 1 (or 100 %) with the published number, our interval, and other models' values."""
    y, whole = top + TRACK, 100.0 if row.claim.unit == "%" else 1.0
    number = "" if isinstance(row.claim.published, str) else f"{row.claim.published:g} → "
    left = Markup('<text x="0" y="{}">{}</text>').format(y - 11, label)
    right = Markup('<text x="{}" y="{}" text-anchor="end">{} <tspan>{}</tspan></text>').format(
        WIDTH, y - 11, f"{number}{_number(row.deciding)}", row.deciding.shown_model
    )
    marks = [Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="track"/>').format(MARGIN, WIDTH - MARGIN, y, y)]
    marks += [_mark(item, y, whole, item is row.deciding) for item in reversed(_measured(row))]
    if number:
        x = _x(float(row.claim.published), whole)
        marks.append(Markup('<path d="M{} {}l5 -5l5 5l-5 5z" class="published"/>').format(f"{x - 5:.1f}", y))
    return left + right + Markup("").join(marks)


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
