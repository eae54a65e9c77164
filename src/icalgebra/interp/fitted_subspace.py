"""One subspace that carries a set, fitted on counterfactual pairs in one call; subspaces.py has the parts.

pairs = counterfactual_pairs("closure", n=400)
found = subspace(model, pairs, size=16)
found.accuracy(model, counterfactual_pairs("closure", n=100, stream="fresh"))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from icalgebra.data.counterfactuals import Pairs
from icalgebra.errors import InputError, unknown
from icalgebra.interp.head_names import as_layer
from icalgebra.interp.subspaces import COMPONENTS, STEPS, fit, hits, run_pairs, site_name
from icalgebra.model.accuracy import accuracy_estimate
from icalgebra.model.transformer import Transformer
from icalgebra.statistics import Estimate

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Subspace:
    """An orthonormal basis of a subspace at a hook point."""

    site: str
    basis: Float[Tensor, "d size"]

    def accuracy(self, model: Transformer, pairs: Pairs) -> Estimate:
        """The share of pairs whose base run gives the counterfactual answer once it has the source's part in here."""
        return accuracy_estimate(hits(model, run_pairs(model, pairs, keys=True), self.site, self.basis[None])[:, 0])


def subspace(
    model: Transformer,
    pairs: Pairs,
    size: int,
    component: str = "attention",
    layer: int = -1,
    *,
    steps: int = STEPS,
    seed: int = 0,
) -> Subspace:
    """The subspace of this size whose exchange between source and base runs best gives the counterfactual answers.

    component: attention, MLP or residual, whose output at the query's '=' is exchanged, in one layer.
    """
    d_model = model.config.d_model
    if component not in COMPONENTS:
        raise unknown("component", component, COMPONENTS)
    site = site_name(component, as_layer(model, layer))
    if not 1 <= size <= d_model:
        raise InputError(f"a subspace has 1 to {d_model} dimensions here, not {size}")
    fitted = fit(model, run_pairs(model, pairs, keys=True), site, (size,), steps=steps, seed=seed)
    return Subspace(site, fitted.basis(size)[0])
