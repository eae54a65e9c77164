"""All activations of one forward pass, by TransformerLens's names.

logits, cache = model.run_with_cache(",pf=p,ee=n,ae=f,pp=e,pn=f,pe=")
cache["blocks.2.attn.hook_pattern"]     # [n, H, T, T]
cache["pattern", 2]                     # the same
logits, cache = model.run_with_cache(tokens, names_filter=lambda name: name.endswith("hook_z"))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from torch import Tensor

from icalgebra.errors import InputError, unknown
from icalgebra.model.inputs import Tokens
from icalgebra.model.transformer import Transformer

NamesFilter = str | Sequence[str] | Callable[[str], bool] | None


class Activations(dict[str, Tensor]):
    """Values by hook name; ("pattern", 2) is short for "blocks.2.attn.hook_pattern"."""

    def __missing__(self, name: Any) -> Tensor:
        if isinstance(name, tuple) and len(name) == 2:
            part, layer = name
            for home in ("attn.", "mlp.", ""):
                full = f"blocks.{layer}.{home}hook_{part}"
                if full in self:
                    return self[full]
        if f"hook_{name}" in self:
            return self[f"hook_{name}"]
        raise KeyError(str(unknown("activation", str(name), self)))


def run_with_cache(
    model: Transformer, tokens: Tokens, names_filter: NamesFilter = None, *, positions: Any = None, mask: Any = None
) -> tuple[Tensor, Activations]:
    """One forward pass: its logits, and the values of all hook points or of those that names_filter chooses.

    names_filter: a name, several names, or a function from a name to whether it is kept.
    """
    cache = Activations()
    with ExitStack() as stack:
        for name, point in chosen_points(model, names_filter).items():

            def keep(_point: Any, _args: Any, value: Tensor, name: str = name) -> None:
                cache[name] = value

            stack.callback(point.register_forward_hook(keep).remove)
        logits = model(tokens, positions=positions, mask=mask)
    return logits, cache


def chosen_points(model: Transformer, names_filter: NamesFilter) -> dict[str, Any]:
    points = model.hook_points()
    if names_filter is None:
        return dict(points)
    if callable(names_filter):
        found = {name: point for name, point in points.items() if names_filter(name)}
        if not found:
            raise InputError(f"names_filter accepts none of the {len(points)} hook points; see model.hook_points()")
        return found
    wanted = [names_filter] if isinstance(names_filter, str) else list(names_filter)
    for name in wanted:
        if name not in points:
            raise unknown("hook point", name, points)
    return {name: points[name] for name in wanted}
