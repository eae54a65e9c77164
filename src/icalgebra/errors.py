"""What the command line tells in one line: bad input (with the fix), and work that cannot go on (with the reason)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A request that cannot be met. The command line prints its message alone and exits with code 2."""


class RunError(RuntimeError):
    """Work that cannot go on: a full disk, a loss that is no number. Its message is printed alone, exit code 1."""


def unknown(kind: str, name: str, options: Iterable[str]) -> InputError:
    """An unknown name, with the nearest known one suggested."""
    known = list(options)
    lowered = {option.lower(): option for option in known}
    nearest = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.4)
    if nearest:
        return InputError(f"unknown {kind} {name!r}; did you mean {lowered[nearest[0]]!r}?")
    return InputError(f"unknown {kind} {name!r}; known: {', '.join(known)}")
