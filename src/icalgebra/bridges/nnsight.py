"""The model inside nnsight.

    traced = to_nnsight(model)
    with traced.trace(tokens):
        pattern = traced.blocks[2].attn.hook_pattern.output.save()

nnsight reads modules without torch's forward hooks, so the points that are computed only while a hook listens (scores,
pattern, per-head results, norm scales) would be asked for in vain. The traced model computes them always. It is a
second set of modules over the same parameters: the given model keeps its fused kernels.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from icalgebra.errors import InputError
from icalgebra.model.checkpoints import as_model
from icalgebra.model.transformer import Transformer


def to_nnsight(model: Transformer | str | Path) -> Any:
    """The model inside nnsight, sharing its parameters; every hook point is an envoy of the same name.

    model: one in memory, a shipped model's name, a run folder or a file.
    """
    try:
        from nnsight import NNsight
    except ImportError as error:
        raise InputError("nnsight is not installed: pip install 'icalgebra[nnsight]'") from error
    return NNsight(watched_copy(as_model(model)))


def watched_copy(model: Transformer) -> Transformer:
    """The same parameters in new modules that compute every hook point."""
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    watched = copy.deepcopy(model, shared)
    for point in watched.hook_points().values():
        point.watched = True
    return watched
