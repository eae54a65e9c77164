"""Subspaces that carry a set: fitted so that interchange interventions give the counterfactual answer.

An interchange intervention sets one site of a base run, at the last position, to W·source + (I − W)·base, where
W = Q Qᵀ projects on a subspace. Q is orthonormal by construction: a product of Householder reflections, whose vectors
are fitted. All sizes at one site are fitted in one batch, as variants of the same resumed runs; each has its own loss,
so they do not affect each other. The forward passes are made once, in `run_pairs`; a step only repeats the computation
after the site, at one position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from icalgebra.data.counterfactuals import Pairs
from icalgebra.interp.directions import principal
from icalgebra.interp.last_token_cache import LastTokenCache, cache_last_token_batched, resume
from icalgebra.interp.patching import value_of
from icalgebra.model.predict import RESUMED, chunks, rows_per_pass, top_variable
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

# The published fit is Adam on the full batch at .05. The vectors' entries have size 1 / √d: at .05 accuracy on fresh
# pairs ends lower (`small`, final attention output: closure 98.6 instead of 99.7 %, cancellation 83 instead of 86 %)
# and can fall again (cancellation, residual stream: 99.1 % at step 100, 98.4 % at step 400; at .01 it stays at 99.6).
PUBLISHED_RATE, LEARNING_RATE, STEPS = 0.05, 0.01, 250
# resid_mid: the residual stream between a layer's attention and its MLP
COMPONENTS = {
    "attention": "hook_attn_out",
    "resid_mid": "hook_resid_mid",
    "MLP": "hook_mlp_out",
    "residual": "hook_resid_post",
}


def site_name(component: str, layer: int) -> str:
    return f"blocks.{layer}.{COMPONENTS[component]}"


# --- orthonormal bases ----------------------------------------------------------------------------------------------


def householder(vectors: Float[Tensor, "... d k"]) -> Float[Tensor, "... d k"]:
    """The first k columns of H_1 … H_k; H_i reflects at (0, …, 0, 1, entries below the diagonal).

    In the compact form I − V T Vᵀ and in double precision, so that the basis stays orthonormal however large the
    vectors become. The first j columns depend only on the first j reflections.
    """
    k = vectors.shape[-1]
    unit = torch.eye(vectors.shape[-2], k, dtype=torch.float64, device=vectors.device)
    v = vectors.double().tril(-1) + unit
    products = v.mT @ v
    inverse_t = products.triu(1) + torch.diag_embed(products.diagonal(dim1=-2, dim2=-1) / 2)
    q = unit - v @ torch.linalg.solve_triangular(inverse_t, v[..., :k, :].mT, upper=True)
    return q.to(vectors.dtype)


def random_vectors(d: int, k: int, seed: int) -> Float[Tensor, "d k"]:
    """Reflections of a uniformly random basis. Those of a smaller k are the first columns of those of a larger k."""
    drawn = torch.randn(d, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)[:k].T
    return torch.geqrf(drawn)[0].float()


def random_bases(like: Float[Tensor, "... d"], k: int, n: int, seed: int) -> Float[Tensor, "n d k"]:
    """Bases of n uniformly random subspaces: the control for any subspace of the same size."""
    vectors = torch.stack([random_vectors(like.shape[-1], k, 1000 * seed + i) for i in range(n)])
    return householder(vectors).to(like)


def principal_basis(runs: PairRuns, site: str, k: int) -> Float[Tensor, "1 d k"]:
    """The principal directions of the differences between source and base runs: a control."""
    return principal(runs.difference(site), k).directions.T[None]


# --- pairs of runs, and exchanging a subspace between them ----------------------------------------------------------


@dataclass(frozen=True)
class PairRuns:
    """Both runs of every pair at the last position, and the counterfactual answers."""

    source: LastTokenCache
    base: LastTokenCache
    targets: Int[Tensor, " n"]

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, rows: slice | Tensor) -> PairRuns:
        return PairRuns(self.source[rows], self.base[rows], self.targets[rows])

    def difference(self, site: str) -> Float[Tensor, "n d_model"]:
        return value_of(self.source, site) - value_of(self.base, site)


def run_pairs(model: Transformer, pairs: Pairs, *, keys: bool = False) -> PairRuns:
    """keys: needed for sites before a later attention layer."""
    targets = torch.as_tensor(pairs.targets, device=model.unembedding.device)
    return PairRuns(
        cache_last_token_batched(model, pairs.source.prompts),
        cache_last_token_batched(model, pairs.base.prompts, keys=keys),
        targets,
    )


def exchanged(
    model: Transformer,
    runs: PairRuns,
    site: str,
    bases: Float[Tensor, "variants d k"],
    within: Float[Tensor, "d d"] | None = None,
) -> Float[Tensor, "n variants d_vocab"]:
    """Logits of the base runs after the interchange in each subspace. A basis may be padded with columns of zeros.

    within: a projection; only the part of the exchange that lies in it is made.
    """
    inside = torch.einsum("nd,vdk->nvk", runs.difference(site), bases)
    moved = torch.einsum("nvk,vdk->nvd", inside, bases if within is None else within @ bases)
    return resume(model, runs.base, {site: lambda value: value + moved}, len(bases))


@torch.no_grad()
def exchanged_logits(
    model: Transformer, runs: PairRuns, site: str, bases: Float[Tensor, "variants d k"], within: Tensor | None = None
) -> Float[Tensor, "n variants N"]:
    """`exchanged` in batches, without gradients: the logits of the variables alone."""
    parts = [
        exchanged(model, runs[rows], site, bases, within)[..., : model.config.n_variables]
        for rows in chunks(len(runs), rows_per_pass(model, len(bases), RESUMED))
    ]
    return torch.cat(parts)


def predictions(
    model: Transformer, runs: PairRuns, site: str, bases: Float[Tensor, "variants d k"], within: Tensor | None = None
) -> Int[np.ndarray, "n variants"]:
    """The variable that the base run predicts after each interchange; −1 for a tie."""
    return top_variable(exchanged_logits(model, runs, site, bases, within))


def hits(
    model: Transformer, runs: PairRuns, site: str, bases: Tensor, within: Tensor | None = None
) -> Bool[np.ndarray, "n variants"]:
    """Interchange accuracy by pair: whether the counterfactual answer is predicted."""
    return predictions(model, runs, site, bases, within) == runs.targets.cpu().numpy()[:, None]


# --- fitting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """One basis per size, padded with columns of zeros; hits on the watched pairs at some steps."""

    sizes: tuple[int, ...]
    bases: Float[Tensor, "variants d k"]
    steps: list[int]
    watched: list[Bool[np.ndarray, "n variants"]]

    def basis(self, size: int) -> Float[Tensor, "1 d size"]:
        return self.bases[self.sizes.index(size), None, :, :size]


def fit(
    model: Transformer,
    runs: PairRuns,
    site: str,
    sizes: Sequence[int],
    *,
    steps: int = STEPS,
    rate: float = LEARNING_RATE,
    seed: int = 0,
    watched: PairRuns | None = None,
    every: int = 10,
) -> Fit:
    """Fit one subspace of each size at a site: full-batch Adam on the cross entropy of the counterfactual answers.

    There is no early stopping. `watched` pairs are evaluated before every `every`-th step and after the last.
    """
    start = random_vectors(model.config.d_model, max(sizes), seed).to(model.unembedding.device)
    vectors = start.repeat(len(sizes), 1, 1).requires_grad_()
    used = torch.arange(max(sizes), device=start.device) < torch.tensor(sizes, device=start.device)[:, None]
    optimiser = torch.optim.Adam([vectors], lr=rate)
    seen: dict[int, np.ndarray] = {}

    def bases() -> Tensor:
        return householder(vectors) * used[:, None]

    for step in range(steps):
        if watched is not None and step % every == 0:
            seen[step] = hits(model, watched, site, bases().detach())
        with tf32_matmuls():
            vectors.grad = _gradient(model, runs, site, bases(), vectors)
        optimiser.step()
    final = bases().detach()
    if watched is not None:
        seen[steps] = hits(model, watched, site, final)
    return Fit(tuple(sizes), final, list(seen), list(seen.values()))


def _gradient(model: Transformer, runs: PairRuns, site: str, bases: Tensor, vectors: Tensor) -> Tensor:
    """Gradient of the summed mean losses: to the bases, in batches of pairs, then once from those to the vectors."""
    leaves, total = bases.detach().requires_grad_(), torch.zeros_like(bases)
    for rows in chunks(len(runs), rows_per_pass(model, len(bases), RESUMED)):
        logits = exchanged(model, runs[rows], site, leaves)
        wanted = runs.targets[rows, None].expand(-1, len(bases))
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="sum") / len(runs)
        total += torch.autograd.grad(loss, leaves)[0]
    return torch.autograd.grad(bases, vectors, total)[0]


@contextmanager
def tf32_matmuls() -> Iterator[None]:
    """TF32 on CUDA for the gradients only: they need not be exact. Accuracies are computed in fp32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


# --- what a subspace holds ------------------------------------------------------------------------------------------


def overlap(one: Float[Tensor, "d k"], other: Float[Tensor, "d k"]) -> float:
    """The share of one subspace that lies in the other: the mean squared cosine of the principal angles."""
    return float((one.T @ other).square().sum() / one.shape[1])


def share_inside(values: Float[Tensor, "n ... d"], basis: Float[Tensor, "d k"]) -> Float[Tensor, "n ..."]:
    """The share of each value's squared distance from the mean that lies in a subspace."""
    varying = values - values.mean(0)
    return (varying @ basis).square().sum(-1) / varying.square().sum(-1).clamp(min=1e-12)
