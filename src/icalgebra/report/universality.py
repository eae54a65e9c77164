"""Does the mechanism belong to the task or to the recipe? One word per claim about the insides of models.

A model *shows* a claim if its verdict is "reproduced" or "stronger here", and *does not show* it if it "differs".
Models whose verdict is "undecided", "not comparable" or "not measured" do not count. There are two recipes: AdamW (the
paper's optimiser: `published` and the seeds of `adamw256`) and Muon (`fast`, `small` and the seeds of `sprint`). Recipe
`adamw256` is `sprint` with AdamW in place of Muon. The words, in the order in which they are asked:

    belongs to the task         at least one model of each recipe counts, at least TASK_MODELS in all, and of the models
                                of each recipe at least TASK_SHARE show it
    belongs to the recipe       of each recipe at least RECIPE_MODELS count, and the shares that show it differ by
                                Fisher's exact test (two-sided, p < SIGNIFICANT)
    not seen                    at least UNSEEN_MODELS count, and none shows it
    differs from seed to seed   among runs that differ in their seed alone, one shows it and one does not
    open                        everything else: too few models to tell

The order of skills is measured over several runs of a recipe at once; such a result counts as one model.

The rule, the models of each recipe and the claims behind each question were written on 2026-11-18, when of these models
only `small` and `fast` had verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import Markup

from icalgebra.claims import Claim
from icalgebra.experiments.shared.readings import Stated, published_text, written
from icalgebra.report.store import SEED, Judged, Store
from icalgebra.results import display_name
from icalgebra.statistics import Estimate, fisher_exact, mean_of_runs
from icalgebra.verdicts import AGREES

Word = Literal["belongs to the task", "belongs to the recipe", "not seen", "differs from seed to seed", "open"]
WORDS: tuple[Word, ...] = (
    "belongs to the task", "belongs to the recipe", "differs from seed to seed", "not seen", "open",
)  # fmt: skip
Recipe = Literal["AdamW", "Muon"]
RECIPES: tuple[Recipe, ...] = ("AdamW", "Muon")
# Why it is open whether the recipe matters. "no clear difference": enough models of both recipes count
# for Fisher's test, but it finds none.
Lack = Literal["no model", "one recipe", "few models", "no clear difference"]

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

    @property
    def shown(self) -> str:
        return display_name(self.name)

    def models(self, measured: Iterable[str]) -> list[str]:
        """Those of the measured models that belong to it. The result of a whole set, which bears its name, stands in
        where none of its runs was measured on its own."""
        if not self.seeds:
            return [model for model in measured if model == self.name]
        of_set = re.compile(rf"{re.escape(self.name)}{SEED}(\d+)")
        runs = {model: int(found[1]) for model in measured if (found := of_set.fullmatch(model))}
        return sorted(runs, key=lambda model: runs[model]) or [model for model in measured if model == self.name]


SOURCES = (
    Source("published", "AdamW"),
    Source("adamw256", "AdamW", seeds=True),
    Source("sprint", "Muon", seeds=True),
    Source("small", "Muon"),
    Source("fast", "Muon"),
)
MATCHED = ("adamw256", "sprint")  # of the same architecture, data and number of tokens

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


def tally(judged: Iterable[Judged]) -> Tally:
    counted = [item for item in judged if item.decision.decided]
    return Tally(sum(item.verdict in AGREES for item in counted), len(counted))


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


@dataclass(frozen=True)
class Cell:
    """What the models of one source say of a claim."""

    source: Source
    judged: tuple[Judged, ...]  # those with a value

    @property
    def single(self) -> Judged | None:
        """The model, where the source is one and it was measured."""
        return self.judged[0] if self.judged and not self.source.seeds else None

    @property
    def tally(self) -> Tally:
        return tally(self.judged)

    @property
    def n(self) -> int:
        return len(self.judged)

    @property
    def n_uncounted(self) -> int:
        return self.n - self.tally.n

    @property
    def averaged(self) -> bool:
        return any(item.claim.rule != "holds" for item in self.judged)

    @property
    def values(self) -> list[float]:
        return [item.ours.value for item in self.judged if item.ours]

    @property
    def mean(self) -> Markup:
        """Over runs, with its t-interval; of a yes or no, in how many it is yes."""
        if not self.averaged:
            return Markup("yes in {} of {}").format(sum(value == 1 for value in self.values), self.n)
        found, unit = mean_of_runs(self.values), self.judged[0].claim.unit
        return Markup(written(_within_bounds(found) if unit == "%" else found, unit))

    @property
    def spread(self) -> str:
        """The least and the greatest value, where there are several; nothing for a yes or no."""
        return spread(self.values, self.judged[0].claim.unit) if self.averaged and self.n > 1 else ""


def _within_bounds(found: Estimate) -> Estimate:
    """A share's t-interval, cut to what a share can be."""
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 100.0))


def spread(values: Sequence[float], unit: str) -> str:
    """'3.7 to 99.9 %'."""
    least, most = (written(Estimate(value, value, value, 1), unit) for value in (min(values), max(values)))
    return f"{least.removesuffix(unit).strip()} to {most}"


@dataclass(frozen=True)
class Row:
    """A claim with a cell per source."""

    claim: Claim
    cells: tuple[Cell, ...]

    def of_recipe(self, recipe: Recipe) -> Tally:
        return Tally.total(cell.tally for cell in self.cells if cell.source.recipe == recipe)

    @property
    def recipes(self) -> dict[Recipe, Tally]:
        """Those of which a model counts."""
        return {recipe: found for recipe in RECIPES if (found := self.of_recipe(recipe)).n}

    @property
    def word(self) -> Word:
        seeds = [cell.tally for cell in self.cells if cell.source.seeds]
        return word(self.of_recipe("AdamW"), self.of_recipe("Muon"), seeds)

    @property
    def lack(self) -> Lack | None:
        """Why it is open whether the recipe matters; None where it is not."""
        if self.word in ("belongs to the task", "belongs to the recipe") or (self.word == "not seen" and self.tested):
            return None
        if len(self.recipes) < len(RECIPES):
            return "one recipe" if self.recipes else "no model"
        return "no clear difference" if self.tested else "few models"

    @property
    def is_open(self) -> bool:
        return self.word == "open"

    @property
    def recipes_alike(self) -> bool:
        return self.lack == "no clear difference"

    @property
    def seeds(self) -> list[Judged]:
        """The runs of the sets that differ in their seeds alone."""
        return [item for cell in self.cells if cell.source.seeds for item in cell.judged if item.ours]

    @property
    def tally_of_seeds(self) -> Tally:
        return tally(self.seeds)

    @property
    def spread(self) -> str:
        """The least and the greatest value of all seeds; nothing for a yes or no."""
        values = [item.ours.value for item in self.seeds if item.ours]
        return spread(values, self.claim.unit) if self.claim.rule != "holds" and len(values) > 1 else ""

    @property
    def uncounted(self) -> list[Recipe]:
        """Recipes of which no model counts."""
        return [recipe for recipe in RECIPES if recipe not in self.recipes]

    @property
    def n_uncounted(self) -> int:
        return sum(cell.n_uncounted for cell in self.cells)

    @property
    def tested(self) -> bool:
        """Whether enough models of both recipes count for Fisher's test."""
        return min(self.of_recipe(recipe).n for recipe in RECIPES) >= RECIPE_MODELS

    @property
    def published(self) -> str:
        return published_text(self.claim)


@dataclass(frozen=True)
class Answer:
    """One of the questions, with the rows that answer it."""

    question: str
    rows: tuple[Row, ...]

    @property
    def says(self) -> Word | Literal["claims differ"]:
        """The word of its rows, where they have one in common."""
        words = {row.word for row in self.rows}
        return self.rows[0].word if len(words) == 1 else "claims differ"


@dataclass(frozen=True)
class WordCount:
    word: Word
    n: int

    @property
    def single(self) -> bool:
        return self.n == 1

    @property
    def by_test(self) -> bool:
        return self.word == "belongs to the recipe"


@dataclass(frozen=True)
class Rule:
    """The numbers of the rule, as the page prints them."""

    task_models: int
    task_share: Stated
    recipe_models: int
    unseen_models: int
    significant: Stated
    by_chance: Stated  # tests that are significant where nothing differs


RULE = Rule(
    task_models=TASK_MODELS,
    task_share=Stated(100 * TASK_SHARE, "%"),
    recipe_models=RECIPE_MODELS,
    unseen_models=UNSEEN_MODELS,
    significant=Stated(SIGNIFICANT),
    by_chance=Stated(100 * SIGNIFICANT, "%"),
)


@dataclass(frozen=True)
class SeedSet:
    """What runs that differ in their seeds alone have in common, and the hold-out accuracy at which they end."""

    name: str
    n: int
    d_model: int
    optimiser: str
    rate: Stated  # of the block matrices
    steps: Stated
    batch_size: int
    n_facts: int
    holdout: str  # the least and the greatest


@dataclass(frozen=True)
class Universality:
    rows: tuple[Row, ...]
    sources: tuple[Source, ...]  # those measured; each row has a cell for each
    sets: tuple[SeedSet, ...] = ()
    rule: Rule = RULE

    @property
    def n_seeds(self) -> int:
        return sum(found.n for found in self.sets)

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def n_open(self) -> int:
        return sum(row.is_open for row in self.rows)

    @property
    def all_open(self) -> bool:
        return self.n_open == self.n_rows

    @property
    def counts(self) -> list[WordCount]:
        words = [row.word for row in self.rows]
        return [WordCount(each, words.count(each)) for each in WORDS]

    @property
    def decided_counts(self) -> list[WordCount]:
        return [item for item in self.counts if item.n and item.word != "open"]

    @property
    def answers(self) -> list[Answer]:
        rows = {row.claim.id: row for row in self.rows}
        return [Answer(question, tuple(rows[item] for item in claims)) for question, claims in QUESTIONS.items()]

    @property
    def seeds_differ(self) -> dict[str, Row]:
        """By claim, those about which seeds of one recipe disagree."""
        return {row.claim.id: row for row in self.rows if row.word == "differs from seed to seed"}

    @property
    def measured(self) -> dict[Recipe, list[Source]]:
        """Sources by recipe; a recipe without any is left out."""
        found = {recipe: [item for item in self.sources if item.recipe == recipe] for recipe in RECIPES}
        return {recipe: sources for recipe, sources in found.items() if sources}

    @property
    def unmeasured(self) -> list[Recipe]:
        return [recipe for recipe in RECIPES if recipe not in self.measured]

    @property
    def matched(self) -> list[str]:
        """The sets of runs that differ in nothing but the optimiser and the seed, where both were measured."""
        found = [source.name for source in self.sources if source.name in MATCHED]
        return found if len(found) == len(MATCHED) else []

    @property
    def n_tested(self) -> int:
        return sum(row.tested for row in self.rows)

    @property
    def by_chance(self) -> Stated:
        """Of these tests, how many would be significant if the recipe never mattered; Fisher's test finds fewer."""
        return Stated(SIGNIFICANT * self.n_tested)


def is_inside(claim: Claim) -> bool:
    return claim.experiment in EXPERIMENTS_INSIDE or claim.row in ROWS_OF_TRAINING


def read_universality(store: Store, claims: Sequence[Claim]) -> Universality | None:
    """None where none of these models was measured."""
    rows = [
        Row(claim, tuple(_cell(store, claim, source) for source in SOURCES)) for claim in claims if is_inside(claim)
    ]
    measured = [i for i in range(len(SOURCES)) if any(row.cells[i].judged for row in rows)]
    if not measured:
        return None
    kept = tuple(Row(row.claim, tuple(row.cells[i] for i in measured)) for row in rows)
    sets = [found for i in measured if SOURCES[i].seeds and (found := _seed_set(store, SOURCES[i]))]
    return Universality(kept, tuple(SOURCES[i] for i in measured), tuple(sets))


def _seed_set(store: Store, source: Source) -> SeedSet | None:
    """From the results about training; None where there are none."""
    stored = [store.get("dynamics", model) for model in source.models(store.models("dynamics"))]
    results = [item.result for item in stored if item and "training" in item.result.config]
    if len(results) < 2:
        return None
    recipe = results[0].config["training"]
    last = [100 * result.curves["holdout"].y[-1] for result in results]
    rate = recipe["muon_lr"] if recipe["optimiser"] == "muon" else recipe["lr"]
    return SeedSet(
        name=source.name,
        n=len(results),
        d_model=recipe["d_model"],
        optimiser=source.recipe,
        rate=Stated(rate),
        steps=Stated(recipe["steps"]),
        batch_size=recipe["batch_size"],
        n_facts=recipe["n_facts"],
        holdout=spread(last, "%"),
    )


def _cell(store: Store, claim: Claim, source: Source) -> Cell:
    models = source.models(store.models(claim.experiment))
    judged = [store.judge_model(claim, model) for model in models]
    return Cell(source, tuple(item for item in judged if item is not None))
