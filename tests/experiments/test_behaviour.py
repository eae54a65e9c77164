"""Behaviour experiments: branches equal plain passes, every claim finds its value, figures and sections render."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import n_drawn, n_figures
from icalgebra.algebra.structures import structure
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments import EXPERIMENTS, load_claims
from icalgebra.experiments.accuracy_by_facts import figures
from icalgebra.experiments.accuracy_by_facts import measure as accuracy_by_facts
from icalgebra.experiments.accuracy_by_facts.measure import between
from icalgebra.experiments.distributions import measure as distributions
from icalgebra.experiments.model_coverage import measure as model_coverage
from icalgebra.experiments.shared.loaded_model import LoadedModel, load_with_config
from icalgebra.experiments.unseen_structures import measure as unseen_structures
from icalgebra.language.world import World
from icalgebra.model.accuracy import hits
from icalgebra.model.prefix_accuracy import (
    hits_by_facts,
    logits_after_prefixes,
    logits_at_every_fact,
    logits_at_positions,
)
from icalgebra.model.transformer import Transformer
from icalgebra.plotting import svg
from icalgebra.report.page import build_report
from icalgebra.results import Result, write_result
from icalgebra.solvers import solver
from icalgebra.solvers.coverage import coverage
from icalgebra.statistics import difference, proportion, share_among
from icalgebra.train import TrainConfig

CONFIG = TrainConfig(n_layers=2, n_heads=2, d_model=16)
SUBJECT = LoadedModel("untrained", Transformer(CONFIG.model, seed=3).eval(), CONFIG)
FACTS = (2, 5, 10, 25, 50, 100, 198, 200)

RUNS: dict[str, Callable[..., Result]] = {
    "accuracy_by_facts": lambda **arguments: accuracy_by_facts.run(**arguments, n=3, facts=FACTS),
    "unseen_structures": lambda **arguments: unseen_structures.run(
        **arguments,
        n=3,
        n_large=0,
        n_tables=2,
        facts=FACTS[1:],
        cancel_facts=(50,),
        groups=("C8", "C4xC2", "Q8", "C2xC2xC2", "A4"),
    ),
    "distributions": lambda **arguments: distributions.run(**arguments, n=3, facts=(5, 10, 25, 50, 75, 100, 150, 200)),
    "model_coverage": lambda **arguments: model_coverage.run(**arguments, n_train=4, n_holdout=16),
}
BEHAVIOUR = sorted(RUNS)


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {name: run(tier="quick", seed=0, loaded=SUBJECT) for name, run in RUNS.items()}


# --- branches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source, rows", [("untrained", 4), ("small", 2)])
def test_a_branch_equals_the_plain_pass(source: str, rows: int) -> None:
    loaded = SUBJECT if source == "untrained" else load_with_config(source)
    facts = range(2, 61) if source == "untrained" else (2, 3, 17, 40)
    sequences = sample("holdout", rows, 60, seed=3)
    branched = logits_after_prefixes(loaded.model, sequences.prompts, facts)
    query = sequences.prompts[:, -4:]
    for place, k in enumerate(facts):
        prompt = np.concatenate([sequences.tokens[:, : 5 * (k - 1)], query], axis=1)
        plain = logits_at_every_fact(loaded.model, np.pad(prompt, ((0, 0), (0, 1))))[:, -1]
        assert np.abs(branched[:, place] - plain).max() < 1e-4, k


def test_hits_by_facts_are_those_of_the_predictor() -> None:
    for name in ("holdout", "train"):
        sequences = sample(name, 30, 12, seed=1)
        assert (hits_by_facts(SUBJECT.model, sequences, (5, 12))[:, 1] == hits(SUBJECT.predictor, sequences)).all()
    train = sample("train", 30, 12, seed=1)
    shorter = replace(train, tokens=train.tokens[:, :25])
    assert (hits_by_facts(SUBJECT.model, train, (5,))[:, 0] == hits(SUBJECT.predictor, shorter)).all()


@pytest.mark.parametrize("name", ["train", "holdout"])
@pytest.mark.parametrize("facts", [(0,), (-1,), (3, 13), (), (2.5,)])
def test_hits_by_facts_are_of_numbers_that_are_there(name: str, facts: Sequence[Any]) -> None:
    sequences = sample(name, 4, 12, world=SUBJECT.world)
    with pytest.raises(InputError, match=r"numbers? of facts"):
        hits_by_facts(SUBJECT.model, sequences, facts)
    one, same = (hits_by_facts(SUBJECT.model, sequences, given) for given in (np.array([3]), [3]))
    np.testing.assert_array_equal(one, same)


def test_rope_does_not_notice_where_a_sequence_begins() -> None:
    prompts = sample("holdout", 3, 8).prompts
    at = np.arange(prompts.shape[1])
    here, later = (logits_at_positions(SUBJECT.model, prompts, at + shift) for shift in (0, 500))
    assert np.allclose(here, later, atol=1e-3)


# --- experiments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BEHAVIOUR)
def test_every_claim_finds_its_value(name: str, results: dict[str, Result]) -> None:
    wanted = [claim for claim in load_claims() if claim.experiment == name]
    assert wanted
    assert [claim.id for claim in wanted if claim.measure(results[name]) is None] == []


def test_any_commutative_copy_leaves_less_unexplained(results: dict[str, Result]) -> None:
    """By as much as the two counts of the mechanisms differ."""
    values = results["model_coverage"].values
    sequences = sample("train", 4, 200, 0, SUBJECT.world, stream="model_coverage/train")
    right, anyway = (coverage(sequences.tokens, "every", commute_any=counts).hits("total") for counts in (False, True))
    less = values["train.unexplained"].value - values["train.unexplained_any"].value
    assert less == pytest.approx(anyway.mean() - right.mean())
    assert less > 0


def test_only_curves_that_are_drawn_have_every_point(results: dict[str, Result]) -> None:
    result = results["unseen_structures"]
    for key, curve in result.curves.items():
        order = structure(result.details["structures"][key.split(".")[-1]][0]).order
        asked = [k for k in result.config["facts"] if order == 8 or k in unseen_structures.SHOWN]
        assert curve.x == asked, key
        assert len(curve.y) == len(curve.low) == len(curve.n) == len(asked)
    assert any(len(curve.x) < len(result.config["facts"]) for curve in result.curves.values())


@pytest.mark.parametrize("name", BEHAVIOUR)
def test_the_same_seed_gives_the_same_result(name: str, results: dict[str, Result]) -> None:
    again = RUNS[name](tier="quick", seed=0, loaded=SUBJECT)
    assert json.dumps(again.to_dict()) == json.dumps(results[name].to_dict())


@pytest.mark.parametrize("name", BEHAVIOUR)
def test_quick_and_full_settings_are_those_the_experiment_takes(name: str) -> None:
    chosen = EXPERIMENTS[name]
    assert chosen.about == "model"
    accepted = signature(chosen.part("measure").run).parameters
    required = {key for key, parameter in accepted.items() if parameter.default is parameter.empty}
    for settings in (chosen.quick, chosen.full):
        assert required - {"tier", "seed", "loaded"} <= set(settings) <= set(accepted) - {"tier", "seed", "loaded"}
    assert max(chosen.full.get("facts", (200,))) == 200


def test_every_accuracy_lies_in_its_interval(results: dict[str, Result]) -> None:
    for result in results.values():
        for key, estimate in result.values.items():
            if estimate.n > 1:
                assert estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9, key


def test_all_groups_that_fit_the_alphabet_are_evaluated() -> None:
    evaluated = unseen_structures.structures_to_evaluate(World(), 20, None)
    groups = [name for name in evaluated if name not in unseen_structures.CLASSES]
    assert len(groups) == 42 - 1 - 11 + 2  # all of order at most 16, less the trivial one and the trained, two controls
    for family in unseen_structures.CLASSES:
        kinds = {structure(name).kind for name in evaluated[family]}
        assert kinds <= ({family, "loop"} if family == "quasigroup" else {family})


def test_cancellation_decides_what_was_chosen() -> None:
    world = World(structures=unseen_structures._tables("Quasigroup", 3), p_mix=0.0)
    prompts, answers = unseen_structures.decided_by_cancellation(world, 20, 50, seed=0)
    assert len(prompts) == 20
    assert (solver("cancel")(prompts)[np.arange(20), answers] == 1.0).all()


def test_a_difference_is_never_certain() -> None:
    same = difference(proportion(40, 40), proportion(40, 40))
    assert same.low < same.value == 0.0 < same.high
    # Newcombe (1998), his example of method 10 without pairing: 56/70 against 48/80
    found = difference(proportion(56, 70), proportion(48, 80))
    assert (found.low, found.high) == (pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4))


def test_interpolation_and_shares() -> None:
    assert between(np.array([[False, True]]), (2, 6), [2, 4, 6]).tolist() == [[0.0, 0.5, 1.0]]
    found = share_among(np.array([[True, False], [True, True]]), np.array([[True, True], [False, True]]))
    assert (found.value, found.n) == (pytest.approx(2 / 3), 3)


# --- other worlds and lengths ---------------------------------------------------------------------------------------


def untrained(**changes: Any) -> LoadedModel:
    config = CONFIG.with_changes(**changes)
    return LoadedModel("other", Transformer(config.model, seed=3).eval(), config)


def test_company_is_left_out_where_it_does_not_fit_the_alphabet() -> None:
    """As in the preset tiny; C3 beside C8 takes eleven variables, C4 twelve."""
    for n_variables, fitting in ((8, set()), (11, {"C3"})):
        loaded = untrained(structures=("C3", "C4"), n_variables=n_variables, n_facts=50)
        result = accuracy_by_facts.run(tier="quick", seed=0, loaded=loaded, n=2, facts=FACTS)
        assert {name for name in ("C3", "C4") if f"decline.{name}.company" in result.values} == fitting
        assert {"decline.C3.long", "decline.C4.far"} <= set(result.values)
        assert svg(figures.causes(result)).startswith("<svg")


def test_labels_tell_the_models_own_length(results: dict[str, Result]) -> None:
    assert figures.labels(200)[1:4] == [
        "200 facts", "24 facts repeated\nup to 199", "25 facts, query\nat the 200th"
    ]  # fmt: skip
    assert [figures.labels(k)[3].split()[-1] for k in (31, 42, 53, 111)] == ["31st", "42nd", "53rd", "111th"]
    result = results["accuracy_by_facts"]
    assert "30 facts, shared" in svg(figures.causes(replace(result, config={**result.config, "n_facts": 30})))
    assert "200 facts, shared" in svg(figures.causes(replace(result, config={"n": 3})))  # from before it was kept


def test_numbers_of_facts_that_a_world_cannot_have_are_skipped() -> None:
    loaded = untrained(structures=("C6", "D4"), n_facts=10)
    result = distributions.run(tier="quick", seed=0, loaded=loaded, n=2, facts=(5, 10, 25))
    assert result.curves["model.cancel"].x == result.curves["ceiling.cancel_embedded"].x == [10]
    assert result.curves["model.copy"].x == [5, 10]
    assert "cancel.k5" not in result.values


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"structures": ("Quasigroup(7,0)",)}, "identity needs a structure with an identity"),
        ({"n_facts": 4}, "needs 5 facts or more; other was trained on 4"),
    ],
)
def test_a_distribution_that_a_model_cannot_have_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        distributions.run(tier="quick", seed=0, loaded=untrained(**changes), n=2, facts=(5, 10))


# --- figures and page -----------------------------------------------------------------------------------------------


def test_sections_show_the_numbers(tmp_path: Path, results: dict[str, Result]) -> None:
    for result in results.values():
        stamped = Result(**{**vars(result), "provenance": {"seconds": 1.0, "machine": "m", "commit": None}})
        write_result(tmp_path / "results", stamped)
    html = build_report(tmp_path, tmp_path / "results", None).read_text()
    for name in BEHAVIOUR:
        assert f'id="{name}"' in html
    assert n_drawn(html) == n_figures(BEHAVIOUR)
