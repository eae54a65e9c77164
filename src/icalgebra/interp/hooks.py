"""Read or change hook points of a forward pass.

    with cached(model, "blocks.*.attn.hook_z", positions=-1) as cache:
        model(tokens)
    cache["blocks.3.attn.hook_z"]                      # [n, H, d_head]

    with hooked(model, {"blocks.3.hook_attn_out": add(5 * direction, positions=-1)}):
        logits = model(tokens)

A head's name stands for its output, [n, T, d_head]: cached(model, "3.6"), or hooked(model, ablate("3.6")). A change is
a function from the value to the new value. Attention (hook_pattern, hook_attn_scores) is [n, head, query, key], and its
positions are the queries'. Hooks are removed when the block ends, even on an error, and no other reference keeps the
activations alive.

Functions that resume runs from cached activations (last_token_cache.py: patch, logit_lens, explain, …) would skip hooks
and refuse a model that has some. indirect_effects makes plain passes then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from icalgebra.errors import InputError, unknown
from icalgebra.interp.head_names import HeadLike, as_head, head_name, looks_like_head, parse_head
from icalgebra.model.partial_pass import is_hooked
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

Change = Callable[[Tensor], Tensor]
Positions = int | slice | None  # an int drops the axis when reading; None: all
ATTENTION = ("attn.hook_pattern", "attn.hook_attn_scores")  # [n, head, query, key]; all others are [n, T, …]


@contextmanager
def hooked(model: Transformer, changes: Mapping[Any, Change]) -> Iterator[None]:
    """Inside the block, the named points (or heads) have changed values; a change that returns None only reads."""
    with ExitStack() as stack:
        for name, change in changes.items():
            point, head = _place(model, name)
            applied = change.on(point) if isinstance(change, _Part) else change
            applied = applied if head is None else _in_head(applied, head)
            handle = model.hook_points()[point].register_forward_hook(
                lambda _point, _args, value, applied=applied: applied(value)
            )
            stack.callback(handle.remove)
        yield


def check_unhooked(model: Transformer) -> None:
    """Raise InputError where the model has hooks: a resumed run skips most modules, so they would act in part of it."""
    if is_hooked(model):
        raise InputError(
            "this model has hooks, which a run resumed from cached activations would skip; leave the hooked or cached "
            "block (or remove the hooks), or combine changes in one `hooked` and call the model itself"
        )


def _place(model: Transformer, name: HeadLike) -> tuple[str, int | None]:
    """A hook point, and which of its heads is meant (None: all)."""
    if looks_like_head(name):
        layer, head = as_head(model, name)
        return f"blocks.{layer}.attn.hook_z", head
    points = model.hook_points()
    if name not in points:
        raise unknown("hook point", str(name), points)
    return str(name), None


def _in_head(change: Change, head: int) -> Change:
    def apply(value: Tensor) -> Tensor | None:
        new = change(value[:, :, head])
        if new is None:
            return None
        result = value.clone()
        result[:, :, head] = new
        return result

    return apply  # type: ignore[return-value]  # None: the value stays as it is


@contextmanager
def cached(model: Transformer, *patterns: HeadLike, positions: Positions = None) -> Iterator[dict[str, Tensor]]:
    """Inside the block, a forward pass stores the values of all points whose name matches a pattern (as in a shell).

    A head's name stores its output, [n, T, d_head], under that name.
    """
    heads = [head_name(parse_head(pattern)) for pattern in patterns if looks_like_head(pattern)]
    globs = [str(pattern) for pattern in patterns if not looks_like_head(pattern)]
    names = [name for name in model.hook_points() if any(fnmatchcase(name, pattern) for pattern in globs)] + heads
    if not names:
        raise unknown("hook point", ", ".join(globs), model.hook_points())
    cache: dict[str, Tensor] = {}

    def keep(name: str) -> Change:
        def store(value: Tensor) -> None:
            # A clone, so that one position or head does not keep the whole tensor alive.
            part = value if positions is None else value[place_of(name, positions)]
            cache[name] = part if part is value and name not in heads else part.clone()

        return store  # type: ignore[return-value]  # None: the value stays as it is

    with hooked(model, {name: keep(name) for name in names}):
        yield cache


def ablate(*heads: HeadLike, to: Float[Tensor, "n_layers n_heads d_head"] | None = None) -> dict[HeadLike, Change]:
    """The changes for `hooked` that take heads out: with hooked(model, ablate("2.1", "3.6")): …

    Their output is zero at every position; with `to` (such as mean_outputs) it is replaced at the last position.
    """
    zero, named = torch.zeros(()), [parse_head(head) for head in heads]
    return {head: replace(zero) if to is None else replace(to[head], positions=-1) for head in named}


def replace(
    new: Tensor, positions: Positions = None, head: int | None = None, rows: Bool[Tensor, " n"] | None = None
) -> Change:
    """Set the value to `new`: everywhere, or only at some positions, in one head, in some rows of the batch."""
    return _Part(lambda old: new.to(old), positions, head, rows)


def add(
    extra: Tensor, positions: Positions = None, head: int | None = None, rows: Bool[Tensor, " n"] | None = None
) -> Change:
    """Add to the value: everywhere, or only at some positions, in one head, in some rows of the batch."""
    return _Part(lambda old: old + extra, positions, head, rows)


def project(
    basis: Float[Tensor, "k d"],
    new: Float[Tensor, "... d"],
    positions: Positions = None,
    rows: Bool[Tensor, " n"] | None = None,
) -> Change:
    """Set the part inside the span of an orthonormal basis to that of `new`: W·new + (I − W)·old."""
    return _Part(lambda old: old + ((new - old) @ basis.T) @ basis, positions, None, rows)


def place_of(point: str, positions: Positions, head: int | None = None) -> tuple[int | slice, ...]:
    """The index of some positions, in one head, of a hook point's value."""
    at = slice(None) if positions is None else positions
    if point.endswith(ATTENTION):
        return (slice(None), slice(None) if head is None else head, at)
    return (slice(None), at) if head is None else (slice(None), at, head)


@dataclass(frozen=True, eq=False)
class _Part:
    """A change of some positions, in one head, in some rows of the batch."""

    change: Change
    positions: Positions
    head: int | None
    rows: Tensor | None

    def __call__(self, value: Tensor) -> Tensor:
        return self.on("")(value)

    def on(self, point: str) -> Change:
        """The change of a hook point's value: where heads and positions are depends on the point."""
        where = place_of(point, self.positions, self.head)

        def apply(value: Tensor) -> Tensor:
            result, old = value.clone(), value[where]
            new = self.change(old).expand_as(old)
            if self.rows is not None:
                new = torch.where(self.rows.view(-1, *[1] * (old.ndim - 1)), new, old)
            result[where] = new
            return result

        return apply
