"""Does the mechanism belong to the task or to the recipe? One word per claim about the insides of models.

A model *shows* a claim if its verdict is "reproduced" or "stronger here", and *does not show* it if it "differs".
Models whose verdict is "undecided", "not comparable" or "not measured" do not count. There are two recipes: AdamW (the
paper's optimiser: `published` and the seeds of `adamw256`) and Muon (`fast`, `small`, the seeds of `muon256` and of
`sprint`). The words, in the order in which they are asked:

    belongs to the task         at least one model of each recipe counts, at least TASK_MODELS in all, and of the models
                                of each recipe at least TASK_SHARE show it
    belongs to the recipe       of each recipe at least RECIPE_MODELS count, and the shares that show it differ by
                                Fisher's exact test (two-sided, p < SIGNIFICANT)
    not seen                    at least UNSEEN_MODELS count, and none shows it
    differs from seed to seed   among runs that differ in their seed alone, one shows it and one does not
    open                        everything else: too few models to tell

The rule, the models of each recipe and the claims behind each question were written on 2026-11-18, when of these models
only `small` and `fast` had results here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from icalgebra.statistics import fisher_exact

Word = Literal["belongs to the task", "belongs to the recipe", "not seen", "differs from seed to seed", "open"]
Recipe = Literal["AdamW", "Muon"]

TASK_MODELS = 6
TASK_SHARE = 0.9
RECIPE_MODELS = 4
SIGNIFICANT = 0.05
UNSEEN_MODELS = 4


@dataclass(frozen=True)
class Source:
    """A model, or a set of runs that differ in their seed alone: `sprint` stands for sprint-seed0, sprint-seed1, …"""

    name: str
    recipe: Recipe
    seeds: bool = False


SOURCES = (
    Source("published", "AdamW"),
    Source("adamw256", "AdamW", seeds=True),
    Source("muon256", "Muon", seeds=True),
    Source("sprint", "Muon", seeds=True),
    Source("small", "Muon"),
    Source("fast", "Muon"),
)

# Every claim of these experiments has a row; of `dynamics`, which is about training, the order of skills has one.
EXPERIMENTS_INSIDE = (
    "copying", "circuits", "identity", "closure", "cancellation", "heads", "shared_parts", "subspaces",
    "subspace_generalisation", "probes",
)  # fmt: skip
ROWS_OF_TRAINING = ("P1",)

# What one would ask first, and the claims that answer it.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "copying head": ("K4.share", "K4.others", "K4.one"),
    "slot": ("K2.slot",),
    "identity heads": ("I2.promotion", "I2.demotion"),
    "cancellation heads": ("L5.left_slot", "L5.right_slot"),
    "sets": ("L2.without_identity", "L3.without_identity", "L6.closure", "L6.cancellation"),
    "order": ("P1.order",),
}


@dataclass(frozen=True)
class Tally:
    """Of the models that count, how many show a claim."""

    n_show: int
    n: int

    @property
    def share(self) -> float:
        return self.n_show / self.n

    @property
    def mixed(self) -> bool:
        return 0 < self.n_show < self.n

    @staticmethod
    def total(parts: Iterable[Tally]) -> Tally:
        found = list(parts)
        return Tally(sum(part.n_show for part in found), sum(part.n for part in found))


def word(adamw: Tally, muon: Tally, seeds: Sequence[Tally]) -> Word:
    """The word of a claim. seeds: of each set of runs that differ in their seed alone."""
    both, fewest = Tally.total((adamw, muon)), min(adamw.n, muon.n)
    if fewest >= 1 and both.n >= TASK_MODELS and min(adamw.share, muon.share) >= TASK_SHARE:
        return "belongs to the task"
    if fewest >= RECIPE_MODELS and _differ(adamw, muon):
        return "belongs to the recipe"
    if both.n >= UNSEEN_MODELS and both.n_show == 0:
        return "not seen"
    if any(found.mixed for found in seeds):
        return "differs from seed to seed"
    return "open"


def _differ(one: Tally, other: Tally) -> bool:
    return fisher_exact(one.n_show, one.n, other.n_show, other.n) < SIGNIFICANT
