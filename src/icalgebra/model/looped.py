"""Blocks that run several times with the same weights (n_loops of ModelConfig).

Every pass has a block of its own in model.blocks, with its own hook points, over the parameters of the first pass. So
whatever goes through blocks.0 … blocks.{n_layers − 1} needs no case for loops, while parameters, checkpoints and
optimisers have each weight once, under the first pass's name.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from icalgebra.model.transformer import ModelConfig, Transformer

M = TypeVar("M", bound=nn.Module)
LAYER = re.compile(r"blocks\.([0-9]+)\.(.+)")


def run_again(block: M) -> M:
    """The block of a later pass. It only refers to the parameters, so that state dicts have each of them once."""
    again = copy.deepcopy(block, {id(parameter): parameter for parameter in block.parameters()})
    for module in again.modules():
        module.__dict__.update(module._parameters)
        module._parameters.clear()
    return again


def unrolled(model: Transformer) -> Transformer:
    """The same function without loops, each layer with its own copy of its weights: for tools that know no loops."""
    if model.config.n_loops == 1:
        return model
    plain = type(model)(replace(model.config, n_loops=1)).to(model.unembedding.device)
    plain.load_state_dict(unrolled_weights(model.state_dict(), model.config))
    plain.run_config, plain.residual_dtype = model.run_config, model.residual_dtype
    return plain.train(model.training)


def unrolled_weights(weights: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """The state dict of a looped model with every pass written out."""
    own = config.n_layers // config.n_loops
    found = {}
    for name, value in weights.items():
        layer = LAYER.fullmatch(name)
        passes = range(int(layer[1]), config.n_layers, own) if layer else ()
        found.update({f"blocks.{i}.{layer[2]}": value for i in passes} if layer else {name: value})
    return found


def rolled_weights(weights: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor] | None:
    """The inverse of unrolled_weights; None where the passes differ, so that no looped model has these weights."""
    own = config.n_layers // config.n_loops
    first = {
        name: value for name, value in weights.items() if not (layer := LAYER.fullmatch(name)) or int(layer[1]) < own
    }
    again = unrolled_weights(first, config)
    same = again.keys() == weights.keys() and all(torch.equal(again[name], weights[name]) for name in again)
    return first if same else None
