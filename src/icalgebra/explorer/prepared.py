"""The prepared sequences: what each shows, and how it is drawn. tests/explorer checks that the stories hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from icalgebra.errors import InputError
from icalgebra.explorer.contract import Drawn, Example
from icalgebra.explorer.models import Known, Library
from icalgebra.explorer.sequence import draw
from icalgebra.interp.minimal_pairs import minimal_pairs


def with_false_fact(text: str) -> str:
    """The first fact with another letter as its answer."""
    first, *rest = text[1:].split(",")
    other = next(letter for letter in "bc" if letter != first[3])
    return "," + ",".join([f"{first[:3]}{other}", *rest])


def unchanged(text: str) -> str:
    return text


@dataclass(frozen=True)
class Plan:
    """A sampled sequence, perhaps changed, with what to say about it."""

    title: str
    story: str
    distribution: str
    n_facts: int
    seed: int
    structures: str = ""
    edit: Callable[[str], str] = unchanged


PLANS = (
    Plan("copy", "The query occurs in the context, and the model copies its answer. Hover the heads: which one looks "
         "there?", "copy", 30, 12),
    Plan("commute", "Only the reverse of the query occurs. In this group the two products agree, and the model gives "
         "that answer.", "commute", 30, 1),
    Plan("identity", "A fact shows that one operand changes nothing, so the answer is the other operand.",
         "identity", 30, 0),
    Plan("cancel", "The query's row and column rule out every other member of the group: one candidate is left in the "
         "table.", "cancel", 14, 0),
    Plan("associate", "Three facts and (xy)z = x(yz) give the answer. Hover the mechanism to see them.",
         "associate", 8, 13),
    Plan("only the ladder", "None of the five mechanisms answers, but the answer follows from their results. Read the "
         "proof step by step.", "holdout", 40, 1),
    Plan("a guess", "Too few facts: several answers are possible, and the exact posterior says how likely each is. "
         "Compare the model with it.", "holdout", 9, 1),
    Plan("a quasigroup", "Facts from a table that is not a group. The model was trained on groups; it is sure of an "
         "answer, and wrong. The oracle says that no group gives such facts.", "holdout", 40, 1, "Quasigroup(7,1)"),
    Plan("a false fact", "The first fact is false and contradicts the others. For the oracle this context is "
         "impossible; the model still gives the true answer.", "holdout", 40, 0, edit=with_false_fact),
    Plan("a long context", "200 facts, as in training. How few of them does the answer rest on?", "holdout", 200, 0),
)  # fmt: skip
PHASES = Plan(
    "phases of training",
    "A very small model in a world of C3 and C4, at log-spaced moments of its training. Move the slider. First it "
    "guesses among all letters; then it knows which can be the answer at all (closure); then it copies; and only then "
    "it rules out what row and column already hold (cancel), which this query needs.",
    "cancel", 20, 6,
)  # fmt: skip
PAIR_FACTS, PAIR_SEED = 30, 0
CHOSEN_FOR = "small"  # the stories say what this model does


def prepared(library: Library) -> list[Example]:
    """All of them for the first model; the phases of training for the first run, where there is one."""
    known = next(iter(library.models.values()))
    found = [*_possible(PLANS, known), _minimal_pair(known)]
    if known.name != CHOSEN_FOR:
        found = [replace(example, story=f"(Chosen for {CHOSEN_FOR}.) {example.story}") for example in found]
    for run in list(library.runs)[:1]:
        phases = _example(PHASES, library.known(run))
        found.append(Example(phases.title, phases.story, {**phases.state, "run": run}))
    return found


def _possible(plans: Sequence[Plan], known: Known) -> Iterator[Example]:
    """Those that the model's world can have."""
    for plan in plans:
        with suppress(InputError):
            yield _example(plan, known)


def _example(plan: Plan, known: Known) -> Example:
    drawn = Drawn(
        distribution=plan.distribution, n_facts=plan.n_facts, seed=plan.seed, structures=plan.structures
    )  # fmt: skip
    text = plan.edit(draw(known, drawn).prompt)
    return Example(plan.title, plan.story, {"model": known.name, "text": text, "drawn": drawn.model_dump()})


def _minimal_pair(known: Known) -> Example:
    pairs = minimal_pairs("copy", 1, PAIR_FACTS, PAIR_SEED, known.world)
    clean, corrupt = (known.world.vocabulary.decode(side)[0] for side in (pairs.clean_prompts, pairs.corrupt_prompts))
    story = (
        "Two sequences that differ in one token: the answer of the copied fact. Patch single heads from the clean run "
        "into the corrupt one: which of them brings the clean answer back?"
    )
    return Example("a minimal pair", story, {"model": known.name, "text": clean, "corrupt": corrupt})
