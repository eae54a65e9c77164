"""What the sections on reasoning and reliance decide, and what their figures draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from icalgebra.data.distributions import sample
from icalgebra.experiments.reasoning import figures as reasoning_figures
from icalgebra.experiments.reasoning import reading as reasoning
from icalgebra.experiments.reasoning.measure import guess_floors, reasoned_share
from icalgebra.experiments.reliance import figures as reliance_figures
from icalgebra.experiments.reliance import reading as reliance
from icalgebra.experiments.reliance.evidence import evidence
from icalgebra.experiments.reliance.measure import MARGIN, used
from icalgebra.experiments.shared.readings import Values
from icalgebra.experiments.shared.rungs import LABELS, QueryRungs, prefix_prompt
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.results import Curve, read_result
from icalgebra.solvers.reference import SOLVERS
from icalgebra.statistics import Estimate

ROOT = Path(__file__).parents[2]
REASONING = read_result(ROOT / "results/full/small/reasoning.json")
RELIANCE = read_result(ROOT / "results/full/small/reliance.json")


def with_depths(lows: list[float], n: int = 100) -> reasoning.OfKind:
    """Hold-out sequences whose shares reasoned have these lower bounds at depths 1, 2, …"""
    changed = {
        f"holdout.depth.{depth}.{key}": Estimate(low + 0.1, low, low + 0.2, n)
        for depth, low in enumerate(lows, start=1)
        for key in ("accuracy", "floor", "reasoned")
    }
    kept = {key: value for key, value in REASONING.values.items() if not key.startswith("holdout.depth")}
    return reasoning.read(Values(replace(REASONING, values={**kept, **changed}))).kinds[0]


def test_how_many_steps_a_model_chains():
    assert with_depths([0.9, 0.6, 0.4, 0.1, -0.2]).mastered == "2 steps"
    assert with_depths([0.9, 0.6, 0.4, 0.1, -0.2]).reached == "4 steps"
    assert with_depths([0.9, 0.8, 0.7, 0.6, 0.55]).mastered == "5 steps and more"
    assert with_depths([0.9, 0.8, 0.7, 0.6, 0.55]).reached == ""
    assert with_depths([0.3, -0.1]).mastered == ""
    assert with_depths([0.3, -0.1]).reached == "1 step"
    assert with_depths([-0.1, 0.9]).reached == ""
    assert with_depths([0.9, 0.8], n=reasoning.FEWEST - 1).mastered == ""


def rungs_of(labels: list[str]) -> QueryRungs:
    numbers = np.array([[LABELS.index(label) for label in labels]])
    return QueryRungs(numbers, np.full(numbers.shape, -1), np.full(numbers.shape, -1))


def test_right_answers_are_split_into_reasoning_and_guesses():
    """Four queries of chain, all right, with floor 0: all reasoned. Two guesses that are right: none of it."""
    found = rungs_of(["five", "chain", "chain", "chain", "chain", "guess", "guess"])
    hits = np.ones((1, 7), dtype=bool)
    share = reasoned_share(hits, np.zeros((1, 7)), found)
    assert share.n == 6
    assert share.value == pytest.approx(4 / 6)
    half = reasoned_share(hits & (np.arange(7) < 3), np.full((1, 7), 0.0), found)
    assert half.value == pytest.approx(1.0)  # two of four right, none by guessing, and no guess right
    floor = reasoned_share(hits, np.full((1, 7), 1.0), found)
    assert floor.value == pytest.approx(0.0)  # guessing would do as well


def test_the_floor_is_the_accuracy_on_guesses_with_as_many_candidates():
    sequences = sample("holdout", 40, 12, seed=1)
    random = np.random.default_rng(0)
    labels = random.choice([LABELS.index("guess"), LABELS.index("chain")], (40, 11))
    found = QueryRungs(labels, labels, labels)
    guesses = labels == LABELS.index("guess")
    floors = guess_floors(guesses & (random.random((40, 11)) < 0.5), found, sequences, "last")
    assert abs(floors[guesses].mean() - 0.5) < 0.1
    assert floors.min() >= 0


def test_prefix_prompts_ask_the_right_query():
    for kind in ("train", "holdout"):
        sequences = sample(kind, 2, 6, seed=2)
        text = sequences.texts()[1]
        query = text[15:19] if kind == "train" else text[-5:-1]
        assert sequences.world.vocabulary.decode(prefix_prompt(sequences, 1, 3))[0] == text[:15] + query


def test_without_its_evidence_a_mechanism_has_no_answer():
    n = 0
    for kind in ("train", "copy", "identity", "cancel", "associate"):
        for text in sample(kind, 20, 25, seed=3).texts():
            *facts, last = [fact.replace("=", "") for fact in text[1:].split(",")]
            for name, needed in evidence(facts, last[:2], last[2]).items():
                left = [fact for i, fact in enumerate(facts) if i not in needed]
                assert last[2] not in SOLVERS[name](left, last[:2]), (name, text)
                n += 1
    assert n > 80


def test_what_an_answer_rests_on():
    both = {"copy": (0,), "identity": (1,)}
    assert used({"copy": 2 * MARGIN, "identity": 3 * MARGIN}, both) == "identity"
    assert used({"copy": 2 * MARGIN, "identity": MARGIN / 2}, both) == "copy"
    assert used({"copy": 0.0, "identity": 0.0, "any": 2 * MARGIN}, both) == "any"
    assert used({"copy": 0.0, "proof": 9.0}, both) == "none"
    assert used({"proof": 9.0}, {}) == ""


@pytest.mark.parametrize("module, result", [(reasoning_figures, REASONING), (reliance_figures, RELIANCE)])
def test_figures_draw_every_series(module, result):
    for draw in module.FIGURES:
        assert all(panel.has_data() for panel in draw(result).axes)


def test_readings_of_the_committed_results():
    for kind in reasoning.read(Values(REASONING)).kinds:
        assert 0 < kind.floor.value < kind.accuracy.value < 1
        assert 0 < kind.reasoned.value < 1
    found = reliance.read(Values(RELIANCE))
    for kind in found.kinds:
        assert kind.any.value + kind.none.value + sum(row.used.value for row in kind.rows) == pytest.approx(1, abs=1e-3)
    assert [proof.beyond for proof in found.proofs] == [False, True]


@pytest.mark.parametrize(
    ("deduced", "since"), [([0.0, 0.3, 0.3], 2), ([0.3, 0.0, 0.3], 3), ([0.3, 0.3, 0.0], None), ([0.3, 0.3, 0.3], 1)]
)
def test_from_which_context_size_the_gap_is_mostly_deduction(deduced: list[float], since: int | None) -> None:
    """The gap is .4 everywhere: more than half of it, and at all larger sizes, too."""
    flat = {name: Curve([1, 2, 3], [0.1] * 3, [0.1] * 3, [0.1] * 3, [9] * 3) for name in MECHANISMS}
    rungs = {name: replace(flat["copy"], y=[0.0] * 3) for name in reasoning.RUNGS} | {
        "chain": replace(flat["copy"], y=deduced)
    }
    curves = flat | rungs | {"ceiling": replace(flat["copy"], y=[0.9] * 3)}
    values = Values(replace(REASONING, curves={f"holdout.{name}": curve for name, curve in curves.items()}))
    assert reasoning.mostly_deduction_from(values) == since


@pytest.mark.parametrize(("low", "less"), [(0.31, True), (0.29, False)])
def test_holdout_answers_may_rest_on_none_more_often(low: float, less: bool) -> None:
    values = RELIANCE.values | {"holdout.all.used.none": Estimate(0.4, low, 0.5, 200),
                                "train.all.used.none": Estimate(0.2, 0.1, 0.3, 200)}  # fmt: skip
    assert reliance.read(Values(replace(RELIANCE, values=values))).holdout_rests_less == less


@pytest.mark.parametrize(("low", "mastered"), [(0.49, False), (0.51, True)])
def test_whether_any_depth_is_mastered(low: float, mastered: bool) -> None:
    result = read_result(ROOT / "results/full/small/reasoning.json")
    values = {"train.depth.1.reasoned": Estimate(low + 0.1, low, low + 0.2, 100)}
    assert reasoning.read(Values(replace(result, values=result.values | values))).some_mastered == mastered
