"""Muon in batches is Muon; short sequences come first where asked for; FLOPs are counted by hand."""

import pytest
import torch

from icalgebra.train import preset
from icalgebra.train.data import training_rows
from icalgebra.train.distributed import Ranks
from icalgebra.train.muon import BatchedMuon, orthogonalised
from icalgebra.train.speedrun import flops_a_sequence, flops_before

SHAPES = [(8, 8), (8, 8), (32, 8), (8, 32), (32, 8)]


def test_the_batched_update_is_torchs_update() -> None:
    """torch.optim.Muon orthogonalises in bf16, ours in fp32 on a CPU: they agree to bf16's precision."""
    generator = torch.Generator().manual_seed(0)
    ours = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]
    theirs = [torch.nn.Parameter(parameter.detach().clone()) for parameter in ours]
    begun = [parameter.detach().clone() for parameter in ours]
    lr = 0.02
    batched, plain = BatchedMuon(ours, lr, 0.01), torch.optim.Muon(theirs, lr=lr, weight_decay=0.01, momentum=0.95)
    for _ in range(4):
        for left, right in zip(ours, theirs):
            left.grad = torch.randn(left.shape, generator=generator)
            right.grad = left.grad.clone()
        batched.step()
        plain.step()
    for left, right, start in zip(ours, theirs, begun):
        moved = (right - start).norm()
        assert (left - right).norm() < 0.03 * moved
        assert moved > lr


def test_orthogonalised_matrices_have_singular_values_near_one() -> None:
    matrices = torch.randn(3, 24, 16, generator=torch.Generator().manual_seed(1))
    found = torch.linalg.svdvals(orthogonalised(matrices))
    assert found.min() > 0.5
    assert found.max() < 1.5


def test_a_phase_of_short_sequences() -> None:
    config = preset("tiny").with_changes(short_facts=8, short_steps=2, batch_size=4)
    assert [training_rows(config, step, Ranks()).shape[1] // 5 for step in range(4)] == [8, 8, 30, 30]
    assert [config.tokens_before(step) for step in (0, 1, 2, 3)] == [0, 160, 320, 920]


def test_flops_are_six_a_weight_and_token_and_causal_attention() -> None:
    config = preset("tiny").with_changes(n_layers=1, n_heads=1, d_model=2, d_mlp=8, n_facts=2, batch_size=3)
    weights = 4 * 2 * 2 + 2 * 2 * 8 + 2 * config.model.d_vocab
    by_hand = 6 * weights * 10 + 6 * 2 * 10**2
    assert flops_a_sequence(config.model, 2) == pytest.approx(by_hand)
    assert flops_before(config, 5) == pytest.approx(5 * 3 * by_hand)
