"""The first screen's findings: a few claims each, drawn small; which titles apply follows from their verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import Markup

from icalgebra.experiments.shared import released
from icalgebra.experiments.shared.readings import Number, Stated, listed, stated
from icalgebra.report.evidence import named
from icalgebra.report.findings_behaviour import OfModel
from icalgebra.report.findings_mechanisms import Identity, IdentityDirection
from icalgebra.report.store import PREFERRED, Judged
from icalgebra.report.universality import Row
from icalgebra.report.verdicts import JudgedClaim
from icalgebra.verdicts import AGREES

# In the units of the drawing; TRACK: where in a row the line lies.
WIDTH, ROW, TRACK, MARGIN = 300, 29, 23, 6
MUCH = 0.5  # of the published share: a direction whose largest effect stays below it is much weaker

# Of a part of a title: do its claims agree with the paper? Of the steering, by how much it is weaker; of accuracy, from
# which number of facts on it is lower; "nearly": the first claim does, the second misses its rule by very little.
Says = Literal["yes", "in part", "no", "first only", "nearly", "second only", "weaker", "much weaker", "from"]


@dataclass(frozen=True)
class Drawn:
    """A claim in the picture. part: the part of the title that its verdict decides. beside: whether the published
    number, which is of the same quantity, is drawn too."""

    claim: str
    label: str
    part: int = 0
    beside: bool = True


ASSOCIATION = "C3.associate_"  # its claims, by the number of facts
AT_MOST_FACTS = f"{ASSOCIATION}200"

# By name: the section to read on, and what is drawn. The words are in templates/first_screen.html.jinja.
FINDINGS: dict[str, tuple[str, tuple[Drawn, ...]]] = {
    "behaviour": (
        "distributions",
        (
            *(Drawn(f"C3.{skill}_50", skill) for skill in ("copy", "commute", "identity", "cancel", "associate")),
            Drawn(AT_MOST_FACTS, "associate, 200 facts", part=1),
        ),
    ),
    "copying": (
        "circuits",
        (
            Drawn("K1.copy_best", "unrelated pairs, strongest head", part=1),
            Drawn("K1.copy_second", "unrelated pairs, next head", part=1),
            Drawn("K4.share", "one fact differs, copying head"),
            Drawn("K4.others", "one fact differs, next head"),
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
            Drawn("I3.plus", f"by the paper's length, {released.STEERING_LENGTH}·v1"),
            Drawn("I3.plus_distance", "by the clusters' distance", beside=False),
            Drawn("I3.false_left", "with a false left identity", beside=False),
            Drawn("I3.false_right", "with a false right identity", beside=False),
        ),
    ),
    "ceiling": ("model_coverage", (Drawn("C2m.over_ceiling", "accuracy over the oracle's"),)),
}
NEW, STEERING = "ceiling", "steering"  # the first of them is not in the paper
BEHAVIOUR, SETS = "behaviour", "sets"
DETAILED = (BEHAVIOUR, SETS)  # where the models' values for the claim that differs are written out
PAIR = 2  # of a part with two claims the title says which one agrees

# Of models that do not decide a verdict: the sign in the key, and the mark in the pictures around a point.
SIGNS = {"small": "○", "fast": "□"}
SHAPES = {
    "○": '<circle cx="{x}" cy="{y}" r="4" class="other"/>',
    "□": '<rect x="{x}" y="{y}" width="7" height="7" transform="translate(-3.5 -3.5)" class="other"/>',
    "△": '<path d="M{x} {y}m0 -5l5 9h-10z" class="other"/>',
}
ANOTHER = "△"


@dataclass(frozen=True)
class Key:
    sign: str
    models: Markup


@dataclass(frozen=True)
class Difference:
    """A claim that differs, with every model's value."""

    label: str
    row: JudgedClaim

    @property
    def model(self) -> Markup:
        return named(self.row.deciding.shown_model)

    @property
    def value(self) -> Markup | str:
        return self.row.deciding.shown

    @property
    def just(self) -> Literal["under", "over", ""]:
        """On which side the value misses the rule, where it does by no more than the rule can resolve."""
        claim, ours = self.row.claim, self.row.deciding.ours
        assert ours is not None
        least, most = claim.meets
        if 0 < least - ours.value <= claim.resolution:
            return "under"
        return "over" if 0 < ours.value - most <= claim.resolution else ""

    @property
    def others(self) -> Markup:
        found = [Markup("{} {}").format(named(item.shown_model), _number(item)) for item in _measured(self.row)[1:]]
        return Markup(", ").join(found)


@dataclass(frozen=True)
class Steering:
    """What moves along the identity direction do in the model that decides the first verdict, and in the others by
    whose cluster distance they do more than along random directions."""

    direction: IdentityDirection
    models: list[IdentityDirection]

    @property
    def published(self) -> Stated:
        return stated("I3.plus")

    @property
    def moves(self) -> list[IdentityDirection]:
        others = [item for item in self.models if item.once.works and item is not self.direction]
        return [self.direction, *others]

    @property
    def says(self) -> Says:
        if self.direction.steers == "no":
            return "no"
        moves = [move.plus for move in (self.direction.once, self.direction.twice) if move]
        return "much weaker" if _most(moves) < MUCH * self.published.value / 100 else "weaker"


def _most(numbers: list[Number]) -> float:
    return max(number.high for number in numbers)


@dataclass(frozen=True)
class Seeds:
    """A claim that is drawn and about which seeds disagree."""

    label: str
    row: Row


@dataclass(frozen=True)
class Highlight:
    name: str
    section: str
    says: list[Says]  # by part of the title: do its claims agree with the paper?
    picture: Markup
    why: str  # of the first claim that differs
    first: JudgedClaim  # the first claim that is drawn
    others: list[str]  # models in the picture that do not decide a verdict
    difference: Difference | None
    natural: Number | None  # of the model whose accuracy differs: the higher accuracy among natural facts
    steering: Steering | None
    seeds: Seeds | None  # for the first claim about which they disagree
    falls_from: int | None  # number of facts from which on association lies below the published accuracy

    @property
    def is_new(self) -> bool:
        return self.name == NEW

    @property
    def overall(self) -> Literal["yes", "in part", "no"]:
        found = set(self.says)
        return "yes" if found == {"yes"} else "no" if found <= {"no", "weaker", "much weaker"} else "in part"

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


def read_highlights(
    judged: list[JudgedClaim],
    identity: Identity | None,
    natural: Sequence[OfModel] = (),
    universality: Sequence[Row] = (),
) -> list[Highlight]:
    """Those of which every claim was measured. identity: how far models are steered that are not as published; natural:
    their accuracy where association decides among natural facts; universality: what seeds say of claims."""
    rows = {row.claim.id: row for row in judged if row.deciding.ours is not None}
    by_claim = {row.claim.id: row for row in universality}
    found = [
        _highlight(name, section, [(item, rows[item.claim]) for item in items], identity, by_claim)
        for name, (section, items) in FINDINGS.items()
        if all(item.claim in rows for item in items)
    ]
    return [_with_facts(item, list(rows.values()), natural) if item.name == BEHAVIOUR else item for item in found]


def _with_facts(item: Highlight, rows: list[JudgedClaim], natural: Sequence[OfModel]) -> Highlight:
    """The highlight of accuracies, which names the number of facts from which on association is lower."""
    *others, last = item.says
    start = _falls_from(rows) if last == "no" else None
    says: list[Says] = [*others, "from"] if start else item.says
    return replace(item, says=says, falls_from=start, natural=_more_natural(item.difference, natural))


def _falls_from(rows: list[JudgedClaim]) -> int | None:
    """None where association at the most facts is not below the published accuracy."""
    by_facts = {
        int(row.claim.id.removeprefix(ASSOCIATION)): row for row in rows if row.claim.id.startswith(ASSOCIATION)
    }
    start = None
    for n_facts, row in sorted(by_facts.items()):
        assert row.deciding.ours is not None
        below = row.verdict == "differs" and row.deciding.ours.value < row.claim.number
        start = (start or n_facts) if below else None
    return start


def _more_natural(found: Difference | None, natural: Sequence[OfModel]) -> Number | None:
    """Where the interval lies above that of the claim that differs."""
    if found is None or found.row.claim.id != AT_MOST_FACTS or found.row.deciding.ours is None:
        return None
    ours, model = found.row.deciding.ours, found.row.deciding.shown_model
    return next((item.value for item in natural if item.model == model and 100 * item.value.low > ours.high), None)


def read_key(highlights: list[Highlight]) -> list[Key]:
    """The marks in the pictures, beside the one of the model that decides a verdict."""
    models = dict.fromkeys(model for item in highlights for model in item.others)
    by_sign = {sign: [named(model) for model in models if _sign(model) == sign] for sign in SHAPES}
    return [Key(sign, listed(found)) for sign, found in by_sign.items() if found]


def _highlight(
    name: str,
    section: str,
    items: list[tuple[Drawn, JudgedClaim]],
    identity: Identity | None,
    universality: dict[str, Row],
) -> Highlight:
    parts = sorted({item.part for item, _ in items})
    says = [_says([row for item, row in items if item.part == part]) for part in parts]
    rows, difference = [row for _, row in items], _difference(items) if name in DETAILED else None
    if name == SETS and difference and difference.just == "under":
        says = ["nearly" if part == "first only" else part for part in says]
    steering = _steering(rows[0], identity) if name == STEERING else None
    return Highlight(
        name,
        section,
        [steering.says] if steering and says == ["no"] else says,
        _picture(name, items, universality),
        _why(rows),
        rows[0],
        [item.shown_model for row in rows for item in _measured(row)[1:]],
        difference,
        None,
        steering,
        _seeds(items, universality),
        None,
    )


def _seeds(items: list[tuple[Drawn, JudgedClaim]], universality: dict[str, Row]) -> Seeds | None:
    """The first part of the title comes first."""
    found = [(item, universality[item.claim]) for item, _ in items if item.claim in universality]
    differ = [(item, row) for item, row in found if row.word == "differs from seed to seed"]
    item, row = min(differ, key=lambda pair: pair[0].part, default=(None, None))
    return Seeds(item.label, row) if item and row else None


def _steering(first: JudgedClaim, identity: Identity | None) -> Steering | None:
    models = identity.models if identity else []
    direction = next((item for item in models if item.model == first.deciding.shown_model), None)
    return Steering(direction, models) if direction else None


def _difference(items: list[tuple[Drawn, JudgedClaim]]) -> Difference | None:
    return next((Difference(item.label, row) for item, row in items if row.verdict == "differs"), None)


def _why(rows: list[JudgedClaim]) -> str:
    return next((row.claim.why for row in rows if row.verdict == "differs" and row.deciding.needs_reason), "")


def _says(rows: list[JudgedClaim]) -> Says:
    """What cannot be compared counts only where nothing can."""
    rows = [row for row in rows if row.deciding.decision.comparable] or rows
    agree = [row.verdict in AGREES for row in rows]
    if len(rows) == PAIR and sum(agree) == 1 and any(row.verdict == "differs" for row in rows):
        return "first only" if agree[0] else "second only"
    return "yes" if all(agree) else "in part" if any(agree) else "no"


def _picture(name: str, items: list[tuple[Drawn, JudgedClaim]], universality: dict[str, Row]) -> Markup:
    whole = max(_whole(row) for _, row in items)
    seeds = {name: [item.ours.value for item in row.seeds if item.ours] for name, row in universality.items()}
    drawn = [_row(i * ROW, item, row, seeds.get(item.claim, []), whole) for i, (item, row) in enumerate(items)]
    told = [f"{item.label}: {_published(item, row)}here {_told(row)}" for item, row in items]
    head = Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}" class="small-picture">')
    return (
        head.format(f"{name}: {'; '.join(told)}", WIDTH, ROW * len(items)) + Markup("").join(drawn) + Markup("</svg>")
    )


def _is_beside(item: Drawn, row: JudgedClaim) -> bool:
    return item.beside and not isinstance(row.claim.published, str)


def _published(item: Drawn, row: JudgedClaim) -> str:
    return f"published {row.published}, " if _is_beside(item, row) else ""


def _limit(row: JudgedClaim) -> str:
    """'≥ 99' where the paper states a bound, else its number."""
    bound = (
        {"at_least": "≥ ", "at_most": "≤ "}.get(row.claim.rule, "") if row.claim.threshold == row.claim.number else ""
    )
    return f"{bound}{row.claim.number:g}"


def _told(row: JudgedClaim) -> str:
    return ", ".join(f"{_number(item)} ({item.shown_model})" for item in _measured(row))


def _measured(row: JudgedClaim) -> list[Judged]:
    """The deciding model first; of the others those results that count."""
    others = [item for item in row.others if item.counts and item.ours is not None and item.model != row.deciding.model]
    return [row.deciding, *others]


def _number(item: Judged) -> str:
    assert item.ours is not None
    return f"{item.ours.value:.1f}\N{NO-BREAK SPACE}%" if item.claim.unit == "%" else f"{item.ours.value:.2f}"


def _row(top: float, item: Drawn, row: JudgedClaim, seeds: list[float], whole: float) -> Markup:
    """A line from 0 to the end of the picture with the published number, our interval, and other models' values; each
    run of a set of seeds is a tick below it."""
    y = top + TRACK
    left = Markup('<text x="0" y="{}">{}</text>').format(y - 8, item.label)
    right = Markup('<text x="{}" y="{}" text-anchor="end">{}{}{}</text>').format(
        WIDTH,
        y - 8,
        f"{_limit(row)} → " if _is_beside(item, row) else "",
        _number(row.deciding),
        _of_model(row.deciding),
    )
    marks = [Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="track"/>').format(MARGIN, WIDTH - MARGIN, y, y)]
    if whole > _one(row):  # a share of an effect may exceed the whole of it: a tick says where that is
        marks.append(Markup('<path d="M{} {}v8" class="tick"/>').format(f"{_x(_one(row), whole):.1f}", y - 4))
    marks += [Markup('<path d="M{} {}v6" class="seed"/>').format(f"{_x(value, whole):.1f}", y + 1) for value in seeds]
    marks += [_other(found, y, whole) for found in reversed(_measured(row)[1:])]
    marks.append(_deciding(row.deciding, y, whole))
    if _is_beside(item, row):
        x = _x(row.claim.number, whole)
        marks.append(Markup('<path d="M{} {}l5 -5l5 5l-5 5z" class="published"/>').format(f"{x - 5:.1f}", y))
    return left + right + Markup("").join(marks)


def _of_model(item: Judged) -> Markup:
    """Nothing for the paper's recipe, which the key of the pictures names."""
    return Markup("") if item.model == PREFERRED[0] else Markup(" <tspan>{}</tspan>").format(item.shown_model)


def _one(row: JudgedClaim) -> float:
    return 100.0 if row.claim.unit == "%" else 1.0


def _whole(row: JudgedClaim) -> float:
    """Where the line ends: at one, or where the last interval ends."""
    ends = [end for item in _measured(row) if item.ours for end in (item.ours.value, item.ours.high)]
    return max([_one(row), *(end for end in ends if not math.isnan(end))])


def _deciding(item: Judged, y: float, whole: float) -> Markup:
    assert item.ours is not None
    dot = Markup('<circle cx="{}" cy="{}" r="4" class="ours"/>').format(f"{_x(item.ours.value, whole):.1f}", y)
    return _interval(item, y, whole, "span") + dot


def _other(item: Judged, y: float, whole: float) -> Markup:
    assert item.ours is not None
    shape = Markup(SHAPES[_sign(item.shown_model)]).format(x=f"{_x(item.ours.value, whole):.1f}", y=y)
    return _interval(item, y, whole, "span other") + shape


def _interval(item: Judged, y: float, whole: float, kind: str) -> Markup:
    assert item.ours is not None
    low, high = (f"{_x(value, whole):.1f}" for value in (item.ours.low, item.ours.high))
    return Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="{}"/>').format(low, high, y, y, kind)


def _sign(model: str) -> str:
    return SIGNS.get(model, ANOTHER)


def _x(value: float, whole: float) -> float:
    share = 0.0 if math.isnan(value) else min(max(value / whole, 0.0), 1.0)
    return MARGIN + share * (WIDTH - 2 * MARGIN)
