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
    """Values by hook name, or by TransformerLens's short names; see `full_name`."""

    n_layers: int

    def __missing__(self, name: Any) -> Tensor:
        full = self.full_name(name) if isinstance(name, tuple) else f"hook_{name}"
        if full is not None and full in self:
            return self[full]
        raise KeyError(str(unknown("activation", str(name), self)))

    def full_name(self, short: tuple[Any, ...]) -> str | None:
        """("pattern", 2) is "blocks.2.attn.hook_pattern", ("scale", -1, "ln2") the last layer's "ln2.hook_scale"."""
        if not 2 <= len(short) <= 3 or not isinstance(short[1], int):
            return None
        part, layer, *home = short
        block = f"blocks.{layer + self.n_layers if layer < 0 else layer}"
        names = [f"{block}.{place}hook_{part}" for place in ([f"{home[0]}."] if home else ["attn.", "mlp.", ""])]
        return next((name for name in names if name in self), None)


def run_with_cache(
    model: Transformer, tokens: Tokens, names_filter: NamesFilter = None, *, positions: Any = None, mask: Any = None
) -> tuple[Tensor, Activations]:
    """One forward pass: its logits, and the values of all hook points or of those that names_filter chooses.

    names_filter: a name, several names, or a function from a name to whether it is kept.
    """
    cache = Activations()
    cache.n_layers = model.config.n_layers
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
