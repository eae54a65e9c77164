"""Training compute from the shape of a model. Imports no torch: figures use it too."""

from __future__ import annotations

from typing import Protocol

from icalgebra.language.vocabulary import FACT_LENGTH


class Shape(Protocol):
    """What determines the compute, in a ModelConfig or any record. The number of heads does not: it divides d_model."""

    @property
    def n_layers(self) -> int: ...
    @property
    def d_model(self) -> int: ...
    @property
    def d_mlp(self) -> int: ...
    @property
    def d_vocab(self) -> int: ...


def flops_a_sequence(model: Shape, n_facts: int) -> float:
    """Forward and backward pass: 6 FLOP per weight and token, plus causal attention."""
    tokens = n_facts * FACT_LENGTH
    weights = model.n_layers * (4 * model.d_model**2 + 2 * model.d_model * model.d_mlp) + model.d_model * model.d_vocab
    return 6.0 * weights * tokens + 6.0 * model.n_layers * model.d_model * tokens**2
