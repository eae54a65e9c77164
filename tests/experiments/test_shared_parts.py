"""Shared parts: ablations are plain runs with hooks, the choice is made on one half, and words follow thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from helpers import ROOT
from icalgebra.experiments import load_claims
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.experiments.shared.readings import Values
from icalgebra.experiments.shared_parts.figures import closure, losses
from icalgebra.experiments.shared_parts.measure import _most_needed, _together, run
from icalgebra.experiments.shared_parts.reading import Reading, read
from icalgebra.interp.ablation import ablate_each, answered
from icalgebra.interp.components import all_components
from icalgebra.interp.heads import query_sampler
from icalgebra.interp.hooks import hooked
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.interp.query_cache import N_QUERY
from icalgebra.model.predict import on_device
from icalgebra.model.transformer import Transformer
from icalgebra.results import Result, read_result
from icalgebra.statistics import Estimate
from icalgebra.train import TrainConfig

CONFIG = TrainConfig(
    structures=("C3", "C4"), n_variables=8, n_layers=2, n_heads=2, d_model=16, n_facts=16, batch_size=4, steps=2
)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    model = Transformer(CONFIG.model, seed=3).eval().requires_grad_(False)
    for parameter in model.parameters():  # larger than at the start, so that answers depend on every component
        parameter.mul_(6 if parameter.ndim == 2 else 1)
    return LoadedModel("random", model, CONFIG)


@pytest.fixture(scope="module")
def result(loaded: LoadedModel) -> Result:
    return run("quick", 0, loaded, n=24, n_facts=200)


@torch.no_grad()
def test_each_ablation_is_a_plain_run_with_a_hook(loaded: LoadedModel) -> None:
    model, draw = loaded.model, query_sampler(loaded.world, 16, 0, "test")
    queries, donors = draw("holdout", 40), cache_last_token_batched(loaded.model, draw("train", 20).prompts)
    components = all_components(model, [N_QUERY - 1])
    found = ablate_each(model, queries, donors, components)
    tokens = on_device(model, queries.prompts)
    changed = 0
    for column, component in zip(found.T, components, strict=True):
        if component.head is None:
            name, new = f"blocks.{component.layer}.hook_mlp_out", donors.mlp_out[:, component.layer].mean(0)
        else:
            name, new = f"blocks.{component.layer}.attn.hook_z", donors.z[:, component.layer, component.head].mean(0)

        def change(value: torch.Tensor, head: int | None = component.head, new: torch.Tensor = new) -> torch.Tensor:
            value = value.clone()
            value[(slice(None), -1) if head is None else (slice(None), -1, head)] = new
            return value

        with hooked(model, {name: change}):
            plain = answered(model, model(tokens)[:, -1], queries)
        np.testing.assert_array_equal(column, plain)
        changed += int((column != answered(model, model(tokens)[:, -1], queries)).any())
    assert changed > 0


def test_the_component_is_chosen_on_one_half_among_those_that_spare_copying() -> None:
    lost = {name: np.zeros((4, 3)) for name in ("identity", "cancel", "copy")}
    lost["identity"][::2] = [0.2, 0.9, 0.5]  # the half that chooses
    lost["identity"][1::2] = [1.0, 0.0, 0.3]
    lost["copy"][::2, 1] = 0.2  # the second breaks copying
    assert _most_needed(lost, "identity") == 2
    lost["copy"][::2] = 0.2
    assert _most_needed(lost, "identity") == 1


@pytest.mark.parametrize("cancel, copy, shared", [(0.3, 0.05, 1), (0.2, 0.05, 0), (0.3, 0.2, 0)])
def test_shared_means_needed_by_both_and_not_by_copying(cancel: float, copy: float, shared: int) -> None:
    lost = {"identity": np.full((4, 2), 0.6), "cancel": np.full((4, 2), cancel), "copy": np.full((4, 2), copy)}
    values = _together(lost, {"identity": 0, "cancel": 1})
    assert values["demotion.shared"].value == shared
    assert values["demotion.same_component"].value == 0


def test_every_claim_finds_its_value_and_figures_draw_the_tables(result: Result) -> None:
    for claim in load_claims():
        if claim.experiment == "shared_parts":
            assert claim.measure(result) is not None, claim.id
    for estimate in result.values.values():
        assert np.isfinite([estimate.value, estimate.low, estimate.high]).all()
    (panel,) = losses(result).axes
    np.testing.assert_allclose(panel.lines[1].get_ydata(), 100 * np.array(result.details["lost"]["cancel"]))
    for panel, name in zip(closure(result).axes, ("left", "equals")):
        np.testing.assert_allclose(panel.images[0].get_array(), result.details["closure"][name])
    names = [text.get_text() for text in losses(result).axes[0].get_xticklabels()]
    assert names == result.details["components"] == ["0.0", "0.1", "mlp 0", "1.0", "1.1", "mlp 1"]


def reading(result: Result, **changes: float) -> Reading:
    new = {key.replace("__", "."): Estimate(x, x - 0.01, x + 0.01, 20) for key, x in changes.items()}
    return read(Values(replace(result, values={**result.values, **new})))


@pytest.mark.parametrize("one, other, verdict", [(0.26, 0.26, "shared"), (0.26, 0.24, "one way"), (0.2, 0.2, "apart")])
def test_words_for_sharing(result: Result, one: float, other: float, verdict: str) -> None:
    found = reading(result, demotion__identity__lost__cancel=one, demotion__cancel__lost__identity=other)
    assert found.verdict == verdict


def test_words_for_lowering_and_for_closure(result: Result) -> None:
    assert reading(result, demotion__identity__demotes=-0.02).identity.lowers
    assert not reading(result, demotion__identity__demotes=0.0).identity.lowers
    found = reading(result, closure__correlation=0.5).closure
    assert found is not None
    assert found.alike
    assert read(Values(replace(result, details={**result.details, "closure": {}}))).closure is None


@pytest.mark.parametrize(
    ("verdict", "lowers", "demoter", "upstream"),
    [("shared", True, True, False), ("shared", False, False, True), ("one way", True, False, False)],
)
def test_a_shared_component_is_a_demoter_only_if_it_lowers_answers(
    verdict: Any, lowers: bool, demoter: bool, upstream: bool
) -> None:
    found = read(Values(read_result(ROOT / "results/full/published/shared_parts.json")))
    changed = replace(found, verdict=verdict, identity=replace(found.identity, lowers=lowers),
                      cancel=replace(found.cancel, lowers=lowers))  # fmt: skip
    assert (changed.shares_demoter, changed.shares_upstream) == (demoter, upstream)
