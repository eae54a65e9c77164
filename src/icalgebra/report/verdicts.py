"""One verdict per claim, counted; and what this run's verdicts say about the committed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby

from icalgebra.claims import VERDICTS, Claim, Verdict
from icalgebra.experiments import EXPERIMENTS
from icalgebra.experiments.shared.readings import published_text
from icalgebra.report.store import COMMITTED, SIGNS, Judged, Store, css_class, preference
from icalgebra.results import Result, display_name
from icalgebra.verdicts import AGREES

SECONDS_PER_MINUTE = 60
MEANINGS: dict[Verdict, str] = {
    "reproduced": "within the limit; a narrow interval may cross it",
    "stronger here": "beyond it, on the better side",
    "differs": "outside it",
    "undecided": "across it, too few to tell, or a control does as well",
    "not comparable": "another quantity or setting, or not yet learned",
    "not measured": "no result holds it",
}


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict, and every model's verdict on it."""

    claim: Claim
    verdicts: list[Judged]

    @cached_property
    def deciding(self) -> Judged:
        """The verdict that counts: of the first model in the order of preference that can be compared."""
        counted = sorted((item for item in self.verdicts if item.counts), key=lambda item: preference(item.model))
        measured = [item for item in counted if item.ours is not None]
        return next((item for item in measured if item.decision.comparable), (measured or counted)[0])

    @property
    def verdict(self) -> Verdict:
        return self.deciding.verdict

    @property
    def kind(self) -> str:
        return css_class(self.verdict)

    @property
    def told(self) -> str:
        """For the map: the claim, its verdict, and the model it rests on."""
        ours = self.deciding.plain
        beside = self.earlier[:1].upper() + self.earlier[1:] if self.claim.check else f"Published: {self.published}"
        return f"{self.claim.id}: {self.claim.text}. {beside}. {self.verdict}{ours}"

    @property
    def reasons(self) -> list[str]:
        """Why the verdict is not simply that of the rule, and what we know about the cause of a difference."""
        found = (self.deciding.decision.because, self.cause(self.deciding))
        return [reason[:1].upper() + reason[1:] for reason in found if reason]

    @property
    def reason_of_others(self) -> str:
        """Why models differ that do not decide the verdict, where the deciding one has not the same reason."""
        causes = [self.cause(item) for item in self.others]
        return next((why for why in causes if why and why != self.cause(self.deciding)), "")

    def cause(self, item: Judged) -> str:
        return self.claim.cause(item.ours) if item.needs_reason and item.ours else ""

    @property
    def others(self) -> list[Judged]:
        return [item for item in self.verdicts if item is not self.deciding]

    @property
    def anchor(self) -> str:
        return f"claim-{self.claim.id}"

    @property
    def published(self) -> str:
        """Nothing for a check of our own, which the paper knows nothing of."""
        return "–" if self.claim.check else published_text(self.claim)

    @property
    def earlier(self) -> str:
        """What a check of our own is compared with."""
        return f"an earlier program of ours gave {published_text(self.claim)}" if self.claim.check else ""


def judge_all(store: Store, claims: tuple[Claim, ...]) -> list[JudgedClaim]:
    judged = [item for claim in claims for item in store.judge(claim)]
    return [JudgedClaim(claim, list(items)) for claim, items in groupby(judged, key=lambda item: item.claim)]


@dataclass(frozen=True)
class Group:
    """The claims of one row, which quote one place of the paper, under a common heading."""

    heading: str
    rows: list[JudgedClaim]


@dataclass(frozen=True)
class SectionVerdicts:
    """The verdicts of one experiment. notes: the reasons that its claims give, each once."""

    experiment: str
    title: str
    has_section: bool  # on the page
    groups: list[Group]
    notes: list[str]

    def notes_of(self, row: JudgedClaim) -> list[int]:
        """The numbers of its reasons among the notes."""
        return [self.notes.index(reason) + 1 for reason in row.reasons]


def by_section(judged: list[JudgedClaim]) -> list[SectionVerdicts]:
    return [_section(name, list(rows)) for name, rows in groupby(judged, key=lambda row: row.claim.experiment)]


def _section(name: str, rows: list[JudgedClaim]) -> SectionVerdicts:
    groups = [
        Group((items := list(found))[0].claim.of_row, items)
        for _, found in groupby(rows, key=lambda item: item.claim.row)
    ]
    notes = dict.fromkeys(reason for row in rows for reason in row.reasons)
    has_section = any(row.deciding.ours is not None for row in rows)
    return SectionVerdicts(name, EXPERIMENTS[name].title, has_section, groups, list(notes))


@dataclass(frozen=True)
class ClassCount:
    verdict: Verdict
    sign: str
    meaning: str
    n: int
    stopped: int = 0  # of these, how many rest on a run that was stopped early and may differ for that reason alone

    @property
    def kind(self) -> str:
        return css_class(self.verdict)


def count_classes(judged: list[JudgedClaim], stopped: Collection[str] = ()) -> list[ClassCount]:
    """The paper's claims by verdict; checks of our own are not counted. stopped: models that were stopped early."""
    papers = [item for item in judged if not item.claim.check]
    counts = Counter(item.verdict for item in papers)
    early = Counter({"differs": sum(_may_be_early(item, stopped) for item in papers)})
    return [ClassCount(item, SIGNS[item], MEANINGS[item], counts[item], early[item]) for item in VERDICTS]


def _may_be_early(row: JudgedClaim, stopped: Collection[str]) -> bool:
    return row.verdict == "differs" and row.claim.unfinished and row.deciding.shown_model in stopped


@dataclass(frozen=True)
class Family:
    """The claims of one family, for the map."""

    name: str
    claims: list[JudgedClaim]

    @property
    def is_check(self) -> bool:
        return all(item.claim.check for item in self.claims)


def by_family(judged: list[JudgedClaim]) -> list[Family]:
    names = dict.fromkeys(item.claim.family for item in judged)
    found = [Family(name, [item for item in judged if item.claim.family == name]) for name in names]
    return sorted(found, key=lambda family: family.is_check)


@dataclass(frozen=True)
class Compared:
    """A claim judged on a model in this run and in the committed results."""

    row: JudgedClaim
    here: Judged
    committed: Judged


@dataclass(frozen=True)
class YourRun:
    """What this run measured, and how its verdicts compare with the committed ones about the same models."""

    experiments: list[str]
    tier: str
    models: list[str]
    minutes: str
    n_verdicts: int
    compared: list[Compared]

    @property
    def n_compared(self) -> int:
        return len(self.compared)

    @property
    def undecided(self) -> list[Compared]:
        """At this size; where the committed results do not decide either, the two agree."""
        return [item for item in self.compared if item.here.verdict == "undecided" and not _agree(item)]

    @property
    def agree(self) -> list[Compared]:
        return [item for item in self.compared if _agree(item)]

    @property
    def disagree(self) -> list[Compared]:
        return [item for item in self.compared if not _agree(item) and item.here.verdict != "undecided"]

    @property
    def n_agree(self) -> int:
        return len(self.agree)

    @property
    def n_disagree(self) -> int:
        return len(self.disagree)

    @property
    def n_undecided(self) -> int:
        return len(self.undecided)


def _agree(item: Compared) -> bool:
    """The same class; a wider interval may say reproduced where a narrow one says stronger."""
    here, there = item.here.verdict, item.committed.verdict
    return here == there or (here in AGREES and there in AGREES)


def read_your_run(store: Store, judged: list[JudgedClaim]) -> YourRun | None:
    """None where the page shows committed results alone."""
    fresh = store.of_this_run()
    if not fresh:
        return None
    compared, n_verdicts = [], 0
    for row in judged:
        for here in (item for item in row.verdicts if item.of_this_run and item.ours is not None):
            n_verdicts += 1
            same = [item for item in row.verdicts if item.model == here.model and item.origin.startswith(COMMITTED)]
            compared += [Compared(row, here, item) for item in same if item.ours is not None]
    return YourRun(
        experiments=[name for name in EXPERIMENTS if any(s.result.experiment == name for s in fresh)],
        tier=" and ".join(sorted({stored.result.tier for stored in fresh})),
        models=sorted({display_name(stored.result.model) for stored in fresh} - {"data"}),
        minutes=f"{elapsed_seconds([stored.result for stored in fresh]) / SECONDS_PER_MINUTE:.1f}",
        n_verdicts=n_verdicts,
        compared=compared,
    )


def elapsed_seconds(results: list[Result]) -> float:
    """How long the clock ran while these were measured: some at the same time, and perhaps in several sittings."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(filter(None, map(_span, results))):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def _span(result: Result) -> tuple[float, float] | None:
    seconds, time = result.provenance.get("seconds"), result.provenance.get("time")
    try:
        end = datetime.fromisoformat(time or "").timestamp()
    except ValueError:  # it does not say when
        return None
    return end - (seconds or 0.0), end
