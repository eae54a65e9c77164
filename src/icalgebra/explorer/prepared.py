"""The prepared sequences of the static page: what each shows, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from icalgebra.explorer.contract import Drawn
from icalgebra.explorer.models import Known, Library
from icalgebra.explorer.sequence import draw
from icalgebra.interp.minimal_pairs import minimal_pairs


@dataclass(frozen=True)
class Example:
    """state: the fields of the page's state (static/state.js) that it sets."""

    title: str
    story: str
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """A sampled sequence, perhaps changed, with what to say about it."""

    title: str
    story: str
    drawn: Drawn
    edit: Callable[[str], str] = lambda text: text


def _drawn(distribution: str, n_facts: int, seed: int, structures: str = "") -> Drawn:
    return Drawn(distribution=distribution, n_facts=n_facts, seed=seed, structures=structures)


def with_false_fact(text: str) -> str:
    """The first fact with the next letter of its component as its answer."""
    first, *rest = text[1:].split(",")
    other = next(letter for letter in "bcdefghijklmnop" if letter != first[3])
    return "," + ",".join([f"{first[:3]}{other}", *rest])


def _plan(title: str, story: str, *drawn: Any, edit: Callable[[str], str] = lambda text: text) -> Plan:
    return Plan(title, story, _drawn(*drawn), edit)


PLANS = (
    _plan(
        "copy",
        "The query occurs in the context. The model copies its answer: hover the heads to see which one looks there.",
        *("copy", 30, 12),
    ),
    _plan(
        "commute",
        "Only the reverse of the query occurs. In this group the two products agree, and the model gives that answer.",
        *("commute", 30, 1),
    ),
    _plan(
        "identity",
        "A fact shows that one operand changes nothing. So the answer is the other operand.",
        *("identity", 30, 0),
    ),
    _plan(
        "cancel",
        "The query's row and column rule out every other member of the group: the table has one candidate left.",
        *("cancel", 14, 0),
    ),
    _plan(
        "associate",
        "Three facts, and (xy)z = x(yz): hover the mechanism to see them.",
        *("associate", 8, 13),
    ),
    _plan(
        "only the ladder",
        "None of the five mechanisms answers, but the answer follows from their results: read the proof step by step.",
        *("holdout", 40, 1),
    ),
    _plan(
        "a guess",
        "Too few facts: several answers are possible, and the exact posterior says how likely each is. Compare the "
        "model with it.",
        *("holdout", 9, 1),
    ),
    _plan(
        "a quasigroup",
        "Facts from a table that is not a group. The model was trained on groups; it is sure of an answer, and wrong. "
        "The oracle says that no group gives such facts.",
        *("holdout", 40, 1, "Quasigroup(7,1)"),
    ),
    _plan(
        "a false fact",
        "The first fact is false, and contradicts the others. For the oracle this context is impossible; the model "
        "still gives the true answer.",
        *("holdout", 40, 0),
        edit=with_false_fact,
    ),
    _plan(
        "a long context",
        "200 facts, as in training. See how few of them the answer rests on.",
        *("holdout", 200, 0),
    ),
)
PAIR_FACTS, PAIR_SEED = 30, 0
PHASES = _plan(
    "phases of training",
    "A very small model in a world of C3 and C4, asked at log-spaced moments of its training: move the slider, and see "
    "when it learns which letters can be the answer at all, and when, if its run is long enough, which one it is.",
    *("identity", 20, 13),
)


def prepared(library: Library, name: str, run: str | None) -> list[Example]:
    """All of them for one model; the phases of training for a run, where there is one."""
    known = library.known(name)
    found = [_example(plan, known) for plan in PLANS]
    found.append(_minimal_pair(known))
    if run is not None:
        phases = _example(PHASES, library.known(run))
        found.append(Example(phases.title, phases.story, {**phases.state, "run": run}))
    return found


def _example(plan: Plan, known: Known) -> Example:
    text = plan.edit(draw(known, plan.drawn).prompt)
    return Example(plan.title, plan.story, {"model": known.name, "text": text, "drawn": plan.drawn.model_dump()})


def _minimal_pair(known: Known) -> Example:
    pairs = minimal_pairs("copy", 1, PAIR_FACTS, PAIR_SEED, known.world)
    clean, corrupt = (known.world.vocabulary.decode(side)[0] for side in (pairs.clean_prompts, pairs.corrupt_prompts))
    story = (
        "Two sequences that differ in one token: the answer of the copied fact. Patch single heads from the clean run "
        "into the corrupt one: which of them brings the clean answer back?"
    )
    return Example("a minimal pair", story, {"model": known.name, "text": clean, "corrupt": corrupt})
