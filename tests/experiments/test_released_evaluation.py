"""The law of the evaluation: values are plain accuracies under each law, and the words follow their intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments import load_claims
from icalgebra.experiments.released_evaluation.figures import by_law
from icalgebra.experiments.released_evaluation.measure import LAWS, run
from icalgebra.experiments.released_evaluation.reading import Reading, read
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.experiments.shared.readings import Values
from icalgebra.language.world import World
from icalgebra.model.accuracy import hits
from icalgebra.model.transformer import Transformer
from icalgebra.results import Result
from icalgebra.statistics import Estimate
from icalgebra.train import TrainConfig

CONFIG = TrainConfig(
    structures=("C3", "C4", "C5"), n_variables=8, n_layers=1, n_heads=2, d_model=16, n_facts=60, batch_size=4, steps=2
)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return LoadedModel("random", Transformer(CONFIG.model, seed=3).eval(), CONFIG)


@pytest.fixture(scope="module")
def result(loaded: LoadedModel) -> Result:
    return run("quick", 0, loaded, n=30, facts=(25, 50, 60, 200))


def test_values_are_accuracies_under_each_law(loaded: LoadedModel, result: Result) -> None:
    assert result.config["facts"] == [25, 50, 60]
    world = World(("C4",), n_variables=8, p_mix=0.0)
    for law in LAWS:
        sequences = sample(law, 30, 60, 0, world, stream="released evaluation/C4")
        right = hits(loaded.predictor, sequences)
        assert result.values[f"C4.{law}.last"].value == pytest.approx(right.mean())
        shares = sequences.identity_queries()[~right]
        assert result.values[f"C4.{law}.errors_identity"].value == pytest.approx(shares.mean())
    for claim in load_claims():
        if claim.experiment == "released_evaluation":
            assert claim.measure(result) is not None


def test_the_figure_draws_every_law(result: Result) -> None:
    for panel, name in zip(by_law(result).axes, ("C3", "C4"), strict=True):
        for line, law in zip(panel.lines, LAWS):
            expected = [100 * result.values[f"{name}.{law}.k{k}"].value for k in (25, 50, 60)]
            np.testing.assert_allclose(line.get_ydata(), expected)


def test_a_world_without_these_groups_is_refused(loaded: LoadedModel) -> None:
    config = replace(CONFIG, structures=("C5",))
    with pytest.raises(InputError, match="C3 and C4, and this model's world has neither"):
        run("quick", 0, LoadedModel("random", loaded.model, config), n=4, facts=(25,))


def reading(falls: dict[str, float], errors: float = 1.0) -> Reading:
    """Falls by group and law, with intervals of ± .05; all else .5."""
    values = {}
    for group in ("C3", "C4"):
        for law in LAWS:
            fall = falls.get(f"{group}.{law}", 0.0)
            values[f"{group}.{law}.k25"] = values[f"{group}.{law}.last"] = Estimate(0.5, 0.4, 0.6, 10)
            values[f"{group}.{law}.fall"] = Estimate(fall, fall - 0.05, fall + 0.05, 10)
            values[f"{group}.{law}.errors_identity"] = Estimate(errors, errors, errors, 10)
    details = {"structures": ["C3", "C4"], "laws": list(LAWS), "reserved": "a"}
    config = {"n": 10, "facts": [25]}
    return read(Values(Result("released_evaluation", "full", "m", 0, config, "", values, {}, details)))


def test_which_groups_fall_and_by_which_law() -> None:
    r = reading({"C3.holdout_unshuffled": 0.06, "C4.holdout_reserved_identity": 0.06})
    assert (r.fall_by_assignment, r.fall_by_identity, r.fall_anyway) == (["C3"], ["C4"], [])
    assert r.errors_are_identities
    both = reading({"C3.holdout_unshuffled": 0.06, "C3.holdout": 0.06})
    assert (both.fall_by_assignment, both.fall_by_identity, both.fall_anyway) == ([], [], ["C3"])
    assert not reading({"C3.holdout_unshuffled": 0.06}, errors=0.9).errors_are_identities
    assert not reading({}).errors_are_identities


@pytest.mark.parametrize(
    ("falls", "explained", "nowhere"),
    [
        (["C3.holdout_unshuffled"], True, False),
        (["C3.holdout_reserved_identity"], False, False),
        (["C3.holdout_unshuffled", "C4.holdout"], False, False),
        ([], False, True),
    ],
)
def test_what_the_evaluation_explains(falls: list[str], explained: bool, nowhere: bool) -> None:
    """Falls with the released assignment, in a model that falls nowhere under the rule of training."""
    found = reading(dict.fromkeys(falls, 0.06))
    assert (found.explained, found.falls_nowhere) == (explained, nowhere)
