"""The sides of steering and of false facts, on a model written by hand whose answer at every dose is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from icalgebra.data.distributions import sample
from icalgebra.experiments.identity.measure import _steering
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.interp.query_batch import QueryBatch, with_false_identity
from icalgebra.model.transformer import Block
from icalgebra.solvers import solver
from icalgebra.statistics import Estimate
from icalgebra.train.config import TrainConfig
from planted_model import D_MODEL, N_HEADS, N_VARIABLES, planted_model, subspace

N_FACTS = 10
SWITCH = 200  # a dimension of the residual stream that nothing else uses
DISTANCE = 20.0  # between two clusters that the test makes up
CONFIG = TrainConfig(n_layers=2, n_heads=N_HEADS, d_model=D_MODEL, d_mlp=N_VARIABLES, rope_base=1e8, n_facts=N_FACTS)


@pytest.fixture(scope="module")
def base() -> QueryBatch:
    """Queries of two variables without the identity, each with its own fact to copy in the context."""
    drawn = QueryBatch.from_sequences(sample("holdout", 60, N_FACTS, 3))
    drawn = drawn[drawn.distinct & ~drawn.is_identity & (drawn.identity >= 0)]
    return drawn.with_facts((drawn.left, drawn.right, drawn.answer), seed=0, stream="copied")


def switched(prefers: str) -> LoadedModel:
    """It copies; where the switch is on, its last MLP promotes both variables of the query, one of them more."""
    model = planted_model()
    block = model.blocks[1]
    assert isinstance(block, Block)
    variables = torch.arange(N_VARIABLES)
    for side, back in (("left", 2), ("right", 1)):
        block.mlp.up.weight[variables, subspace(back).start + variables] = 4.5 if side == prefers else 4.0
    block.mlp.up.weight[:, SWITCH] = 6.0
    block.mlp.up.bias[:] = -60.0  # neither the switch alone nor the query alone reaches it
    block.mlp.down.weight[subspace(0).start + variables, variables] = 50.0
    return LoadedModel("switched", model, CONFIG)


def steered(base: QueryBatch, prefers: str) -> dict[str, Estimate]:
    direction = torch.zeros(D_MODEL)
    direction[SWITCH] = 1.0
    values: dict[str, Estimate] = {}
    _steering(switched(prefers), base, direction, DISTANCE, 0, values)
    return values


@pytest.mark.parametrize("prefers", ["left", "right"])
def test_plus_switches_to_the_query_variables_and_minus_leaves_the_answer(base: QueryBatch, prefers: str) -> None:
    values = {key: estimate.value for key, estimate in steered(base, prefers).items()}
    assert values["plain.correct"] == 1.0
    assert values["steer_distance.plus.query_variable"] == 1.0
    assert values["steer_distance.plus.left_variable"] == (prefers == "left")
    assert values["steer_distance.false_left.right_variable"] == (prefers == "right")
    assert values["steer_distance.false_right.left_variable"] == (prefers == "left")
    assert values["steer_distance.plus.both_on_top"] == 1.0
    # A false fact takes the place of a random one, now and then of the one that is copied.
    assert values["steer_distance.minus.correct"] > 0.8
    assert values["steer_distance.random.query_variable"] == values["plain.query_variable"]


@pytest.mark.parametrize("side, passes_for", [("left", "right"), ("right", "left")])
def test_a_false_identity_makes_the_other_operand_the_answer(side: str, passes_for: str) -> None:
    """xw=w makes x pass for an identity, and then xy = y: so says the identity solver, which only reads facts."""
    drawn = QueryBatch.from_sequences(sample("holdout", 80, N_FACTS, 4))
    plain = drawn[drawn.distinct & ~drawn.is_identity]
    answers = solver("identity")(with_false_identity(plain, side, seed=1).prompts)
    wanted = getattr(plain, passes_for)
    assert (answers[np.arange(len(plain)), wanted] == 1).all()
    assert not solver("identity")(plain.prompts).any()
