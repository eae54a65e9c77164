"""Read or change hook points of a forward pass.

    with cached(model, "blocks.*.attn.hook_z", positions=-1) as cache:
        model(tokens)
    cache["blocks.3.attn.hook_z"]                      # [n, H, d_head]

    with hooked(model, {"blocks.3.hook_attn_out": add(5 * direction, positions=-1)}):
        logits = model(tokens)

A change is a function from the value to the new value. Hooks are removed when the block ends, even on an error, and
no other reference keeps the activations alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from icalgebra.errors import unknown
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

Change = Callable[[Tensor], Tensor]
Positions = int | slice | None  # an int drops the axis when reading; None: all


@contextmanager
def hooked(model: Transformer, changes: Mapping[str, Change]) -> Iterator[None]:
    """Inside the block, the named points have changed values; a change that returns None only reads."""
    points = model.hook_points()
    with ExitStack() as stack:
        for name, change in changes.items():
            if name not in points:
                raise unknown("hook point", name, points)
            handle = points[name].register_forward_hook(lambda _point, _args, value, change=change: change(value))
            stack.callback(handle.remove)
        yield


@contextmanager
def cached(model: Transformer, *patterns: str, positions: Positions = None) -> Iterator[dict[str, Tensor]]:
    """Inside the block, a forward pass stores the values of all points whose name matches a pattern (as in a shell)."""
    names = [name for name in model.hook_points() if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not names:
        raise unknown("hook point", ", ".join(patterns), model.hook_points())
    cache: dict[str, Tensor] = {}

    def keep(name: str) -> Change:
        def store(value: Tensor) -> None:
            # A clone, so that one position does not keep the whole tensor alive.
            cache[name] = value if positions is None else value[:, positions].clone()

        return store  # type: ignore[return-value]  # None: the value stays as it is

    with hooked(model, {name: keep(name) for name in names}):
        yield cache


def replace(
    new: Tensor, positions: Positions = None, head: int | None = None, rows: Bool[Tensor, " n"] | None = None
) -> Change:
    """Set the value to `new`: everywhere, or only at some positions, in one head, in some rows of the batch."""
    return _changed(lambda old: new.to(old), positions, head, rows)


def add(
    extra: Tensor, positions: Positions = None, head: int | None = None, rows: Bool[Tensor, " n"] | None = None
) -> Change:
    return _changed(lambda old: old + extra, positions, head, rows)


def project(
    basis: Float[Tensor, "k d"],
    new: Float[Tensor, "... d"],
    positions: Positions = None,
    rows: Bool[Tensor, " n"] | None = None,
) -> Change:
    """Set the part inside the span of an orthonormal basis to that of `new`: W·new + (I − W)·old."""
    return _changed(lambda old: old + ((new - old) @ basis.T) @ basis, positions, None, rows)


def _changed(change: Change, positions: Positions, head: int | None, rows: Tensor | None) -> Change:
    where: tuple[int | slice, ...] = (slice(None), slice(None) if positions is None else positions)
    where += () if head is None else (head,)

    def apply(value: Tensor) -> Tensor:
        result = value.clone()
        old = value[where]
        new = change(old).expand_as(old)
        result[where] = new if rows is None else torch.where(rows.view(-1, *[1] * (old.ndim - 1)), new, old)
        return result

    return apply
