"""One way to name a head: "2.1" or (2, 1), layer and head, both counted from 0."""

from __future__ import annotations

import re
from typing import Any

from icalgebra.errors import InputError
from icalgebra.model.transformer import Transformer

Head = tuple[int, int]  # layer, head; written 3.6
HeadLike = str | tuple[int, int]


def head_name(head: Head) -> str:
    return f"{head[0]}.{head[1]}"


def looks_like_head(given: Any) -> bool:
    """Whether this names a head, and not a hook point."""
    return isinstance(given, tuple) or (isinstance(given, str) and bool(re.fullmatch(r"\d+\.\d+", given)))


def parse_head(given: HeadLike) -> Head:
    """Layer and head of a name, whatever the model."""
    parts = given.split(".") if isinstance(given, str) else given
    try:
        layer, head = (int(part) for part in parts)
    except (TypeError, ValueError):
        raise InputError(f"{given!r} does not name a head; write '2.1' or (2, 1), layer and head from 0") from None
    return layer, head


def as_head(model: Transformer, given: HeadLike) -> Head:
    """Layer and head of a name; InputError says which heads the model has."""
    layer, head = parse_head(given)
    layers, heads = model.config.n_layers, model.config.n_heads
    if not (0 <= layer < layers and 0 <= head < heads):
        raise InputError(
            f"head {layer}.{head} is not in this model: its layers are 0 to {layers - 1} and its heads 0 to {heads - 1}"
        )
    return layer, head


def as_layer(model: Transformer, given: int) -> int:
    """A layer counted from 0; negative ones count from the last, as in a list."""
    layers = range(model.config.n_layers)
    if not -len(layers) <= given < len(layers):
        raise InputError(f"layer {given} is not in this model: its layers are 0 to {len(layers) - 1}")
    return layers[given]
