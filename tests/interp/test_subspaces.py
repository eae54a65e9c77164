"""Laws of subspaces: orthonormal whatever the vectors, nothing in, nothing out; everything in, the source's effect."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from icalgebra.data.counterfactuals import counterfactual_pairs
from icalgebra.interp.hooks import hooked, project
from icalgebra.interp.last_token_cache import resume
from icalgebra.interp.patching import value_of
from icalgebra.interp.subspaces import (
    COMPONENTS,
    PairRuns,
    exchanged,
    fit,
    hits,
    householder,
    overlap,
    predictions,
    principal_basis,
    random_bases,
    random_vectors,
    run_pairs,
    share_inside,
    site_name,
)
from icalgebra.language.world import World
from icalgebra.model.checkpoints import load_model
from icalgebra.model.predict import on_device
from icalgebra.model.transformer import ModelConfig, Transformer

WORLD = World(("C3", "C4"), n_variables=8)
SITES = [site_name(component, layer) for component in COMPONENTS for layer in range(3)]
PAIRS = counterfactual_pairs("closure", 24, 8, 0, WORLD)


@pytest.fixture(scope="module")
def model() -> Transformer:
    made = Transformer(ModelConfig(n_layers=3, n_heads=4, d_model=32, n_variables=8), seed=1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.15 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter))))
    return made.eval()


@pytest.fixture(scope="module")
def runs(model: Transformer) -> PairRuns:
    return run_pairs(model, PAIRS, keys=True)


# --- bases ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d, k", [(32, 1), (32, 7), (256, 16), (16, 16)])
@pytest.mark.parametrize("size", [0.1, 1.0, 50.0])
def test_a_projection_is_idempotent_and_symmetric(d: int, k: int, size: float) -> None:
    basis = householder(size * torch.randn(3, d, k, generator=torch.Generator().manual_seed(k)))
    torch.testing.assert_close(basis.mT @ basis, torch.eye(k).expand(3, k, k), atol=1e-5, rtol=0)
    projection = basis @ basis.mT
    torch.testing.assert_close(projection @ projection, projection, atol=1e-5, rtol=0)
    torch.testing.assert_close(projection.mT, projection, atol=1e-5, rtol=0)


def test_reflections_one_after_another_give_the_same_basis() -> None:
    vectors = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    product = torch.eye(9, dtype=torch.float64)
    for i in range(4):
        v = torch.cat([torch.zeros(i), torch.ones(1), vectors[i + 1 :, i]]).double()
        product = product @ (torch.eye(9) - 2 * torch.outer(v, v) / v.dot(v))
    torch.testing.assert_close(householder(vectors), product[:, :4])


def test_torchs_own_reflections_give_the_same_basis() -> None:
    vectors = random_vectors(20, 6, 3).double()
    tau = 2 / (1 + vectors.tril(-1).square().sum(0))
    torch.testing.assert_close(householder(vectors), torch.linalg.householder_product(vectors, tau))


def test_the_first_columns_depend_on_the_first_reflections_alone() -> None:
    vectors = random_vectors(20, 8, 1)
    torch.testing.assert_close(householder(vectors)[:, :5], householder(vectors[:, :5]))


def test_gradients_of_a_basis() -> None:
    vectors = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(householder, (vectors,))


def test_random_bases_are_seeded_and_lie_anywhere() -> None:
    drawn = random_bases(torch.zeros(64), 8, 200, seed=4)
    assert torch.equal(drawn, random_bases(torch.zeros(64), 8, 200, seed=4))
    inside = torch.stack([share_inside(torch.randn(50, 64), basis).mean() for basis in drawn]).mean()
    assert float(inside) == pytest.approx(8 / 64, abs=0.01)
    assert np.mean([overlap(drawn[i], drawn[i + 1]) for i in range(199)]) == pytest.approx(8 / 64, abs=0.02)
    assert overlap(drawn[0], drawn[0]) == pytest.approx(1.0, abs=1e-5)


# --- exchanging -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("site", SITES)
def test_an_exchange_is_a_plain_run_with_a_hook(model: Transformer, runs: PairRuns, site: str) -> None:
    basis = random_bases(model.unembedding, 5, 1, seed=2)
    with torch.no_grad(), hooked(model, {site: project(basis[0].T, value_of(runs.source, site), positions=-1)}):
        plain = model(on_device(model, PAIRS.base.prompts))[:, -1]
    with torch.no_grad():
        torch.testing.assert_close(exchanged(model, runs, site, basis)[:, 0], plain, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("site", SITES)
def test_the_empty_space_does_nothing_and_the_full_one_everything(
    model: Transformer, runs: PairRuns, site: str
) -> None:
    both = torch.stack([torch.zeros(32, 32), torch.eye(32)])
    with torch.no_grad():
        logits = exchanged(model, runs, site, both)
        source = resume(model, runs.base, {site: lambda value: value_of(runs.source, site)[:, None]})
    torch.testing.assert_close(logits[:, 0], runs.base.logits, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(logits[:, 1], source[:, 0], atol=1e-4, rtol=1e-4)
    if site == "blocks.2.hook_resid_post":
        torch.testing.assert_close(logits[:, 1], runs.source.logits, atol=1e-4, rtol=1e-4)


def test_hits_count_counterfactual_answers(model: Transformer, runs: PairRuns) -> None:
    bases = random_bases(model.unembedding, 20, 3, seed=0)
    predicted = predictions(model, runs, SITES[0], bases)
    assert predicted.shape == (len(PAIRS), 3)
    assert predicted.max() < 8
    np.testing.assert_array_equal(hits(model, runs, SITES[0], bases), predicted == PAIRS.targets[:, None])


# --- fitting --------------------------------------------------------------------------------------------------------


def losses(model: Transformer, runs: PairRuns, site: str, bases: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        logits = exchanged(model, runs, site, bases)
    return -logits.log_softmax(-1).gather(-1, runs.targets.view(-1, 1, 1).expand(-1, len(bases), 1)).mean((0, 2))


@pytest.mark.parametrize("site", [SITES[2], SITES[6]])
def test_sizes_fitted_together_are_those_fitted_alone(model: Transformer, runs: PairRuns, site: str) -> None:
    together = fit(model, runs, site, (2, 4, 6), steps=8, seed=5)
    for size in (2, 4, 6):
        basis, alone = together.basis(size)[0], fit(model, runs, site, (size,), steps=8, seed=5).basis(size)[0]
        torch.testing.assert_close(basis, alone, atol=1e-4, rtol=1e-3)
        torch.testing.assert_close(basis.T @ basis, torch.eye(size), atol=1e-5, rtol=0)
    assert together.bases[0, :, 2:].abs().max() == 0


def test_a_fit_lowers_the_loss_and_repeats_itself(model: Transformer, runs: PairRuns) -> None:
    site = site_name("attention", 1)
    found = fit(model, runs, site, (3, 8), steps=25, seed=1, watched=runs, every=10)
    start = householder(random_vectors(32, 8, 1))[None]
    before = torch.cat([losses(model, runs, site, start[..., :3]), losses(model, runs, site, start)])
    assert (losses(model, runs, site, found.bases) < before - 0.1).all()
    assert found.steps == [0, 10, 20, 25]
    np.testing.assert_array_equal(found.watched[-1], hits(model, runs, site, found.bases))
    again = fit(model, runs, site, (3, 8), steps=25, seed=1)
    torch.testing.assert_close(again.bases, found.bases, rtol=0, atol=0)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_pairs_taken_in_parts_give_the_same_fit(
    model: Transformer, runs: PairRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_name("attention", 2)
    whole = fit(model, runs, site, (4,), steps=5)
    monkeypatch.setattr("icalgebra.interp.subspaces.rows_per_pass", lambda model, variants, budget: 7)
    torch.testing.assert_close(fit(model, runs, site, (4,), steps=5).bases, whole.bases, atol=1e-4, rtol=1e-3)


def test_principal_directions_hold_most_of_the_differences(model: Transformer, runs: PairRuns) -> None:
    site = site_name("attention", 2)
    basis = principal_basis(runs, site, 4)[0]
    torch.testing.assert_close(basis.T @ basis, torch.eye(4), atol=1e-5, rtol=0)
    varying = runs.difference(site) - runs.difference(site).mean(0)
    others = random_bases(model.unembedding, 4, 20, seed=0)
    assert (varying @ basis).square().sum() > (varying @ others).square().sum((1, 2)).max()


def test_runs_taken_in_parts_are_the_same_runs(
    model: Transformer, runs: PairRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("icalgebra.model.predict.rows_per_pass", lambda model, length: 7)
    parts = run_pairs(model, PAIRS, keys=True)
    assert [layer.shape for layer in parts.base.keys] == [layer.shape for layer in runs.base.keys]
    for site in SITES:
        torch.testing.assert_close(parts.difference(site), runs.difference(site), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(parts.base.values[1], runs.base.values[1], atol=1e-5, rtol=1e-4)


def test_in_the_shipped_model_a_fit_beats_its_controls() -> None:
    shipped = load_model("small")
    train, fresh = (run_pairs(shipped, counterfactual_pairs("closure", n, seed=n)) for n in (120, 40))
    site = site_name("attention", 3)
    found = hits(shipped, fresh, site, fit(shipped, train, site, (16,), steps=60).basis(16)).mean()
    random = hits(shipped, fresh, site, random_bases(shipped.unembedding, 16, 4, seed=0)).mean()
    principal = hits(shipped, fresh, site, principal_basis(train, site, 16)).mean()
    assert found > 0.4
    assert max(random, principal) < 0.15
