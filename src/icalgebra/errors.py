"""Errors that the command line reports in one line: bad input, with the fix, and work that fails, with the reason."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A request that cannot be met. The command line prints only its message and exits with code 2."""


class RunError(RuntimeError):
    """Work that cannot continue: a full disk, a loss that is NaN. Only the message is printed; exit code 1."""


def unknown(kind: str, name: str, options: Iterable[str]) -> InputError:
    """The error for an unknown name; it suggests the nearest known one, or lists them all."""
    known = list(options)
    lowered = {option.lower(): option for option in known}
    nearest = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.4)
    if nearest:
        return InputError(f"unknown {kind} {name!r}; did you mean {lowered[nearest[0]]!r}?")
    return InputError(f"unknown {kind} {name!r}; known: {', '.join(known)}")
