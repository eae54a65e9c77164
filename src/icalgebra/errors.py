"""Errors that the command line reports in one line: bad input, with the fix, and work that fails, with the reason."""

from __future__ import annotations

import difflib
import errno
import reprlib
import sys
from collections.abc import Iterable
from typing import Any

LONGEST = 280  # characters of a message: with "icalgebra: " in front, a line stays below 300
SHOWN = 60  # characters of a value that a message quotes
LISTED = 180  # characters of a list of known names
LEFT_OUT = " […] "

_short = reprlib.Repr()
_short.maxlevel, _short.maxother, _short.maxstring = 3, SHOWN, SHOWN


class InputError(ValueError):
    """A request that cannot be met. The command line prints only its message and exits with code 2."""

    def __init__(self, message: object) -> None:
        super().__init__(one_line(message))


class RunError(RuntimeError):
    """Work that cannot continue: a full disk, a loss that is NaN. Only the message is printed; exit code 1."""

    def __init__(self, message: object) -> None:
        super().__init__(one_line(message))


def reason(error: BaseException) -> tuple[str, int] | None:
    """The line that tells of an error, and the exit code; None where the error is a bug, which needs its traceback."""
    if isinstance(error, InputError | RunError):
        return str(error), 2 if isinstance(error, InputError) else 1
    # When memory runs out on a CPU, torch raises a plain RuntimeError; only its text tells it from a bug.
    short_of_memory = isinstance(error, RuntimeError) and "tried to allocate" in str(error).lower()
    if isinstance(error, MemoryError) or short_of_memory:
        return "not enough memory for this; use fewer facts, or a smaller batch or model", 2
    if isinstance(error, OSError):
        # A full disk, a folder without write permission: not a bug, so the system's message without a traceback.
        line = one_line(": ".join(str(part) for part in (error.filename, error.strerror) if part) or error)
        return line, 2 if error.errno == errno.ENAMETOOLONG else 1
    return None


def one_line(message: object, longest: int = LONGEST) -> str:
    """A message as one line that any terminal can show: line breaks, control characters and undecodable bytes as
    escapes, and without its middle where it is too long: it begins with what is wrong and ends with the fix."""
    text = str(message)
    if len(text) > longest:
        head = (longest - len(LEFT_OUT)) // 2
        text = text[:head] + LEFT_OUT + text[head + len(LEFT_OUT) - longest :]
    shown = text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= longest else one_line(shown, longest)


def shortened(value: Any) -> str:
    """repr(value), but short however long or deep the value is."""
    try:
        return one_line(_short.repr(value), SHOWN)
    except (ValueError, RecursionError):  # an integer of thousands of digits has no repr
        return f"a value of type {type(value).__name__}"


def warn(message: object) -> None:
    """One line on standard error, for what the user should know though the work goes on."""
    print(f"icalgebra: {one_line(message)}", file=sys.stderr)


def unknown(kind: str, name: str, options: Iterable[str]) -> InputError:
    """The error for an unknown name; it suggests the nearest known one, or lists them."""
    known = list(options)
    lowered = {option.lower(): option for option in known}
    # Only the beginning is compared: the time of difflib grows with the square of the length.
    nearest = difflib.get_close_matches(name[:SHOWN].lower(), lowered, n=1, cutoff=0.4)
    if nearest:
        return InputError(f"unknown {kind} {shortened(name)}; did you mean {lowered[nearest[0]]!r}?")
    return InputError(f"unknown {kind} {shortened(name)}; known: {_listed(known)}")


def _listed(names: list[str]) -> str:
    """As many names as fit in a message."""
    text = ", ".join(names)
    if len(text) <= LISTED:
        return text
    whole = text[:LISTED].rpartition(", ")[0]
    return f"{whole} and {len(names) - whole.count(', ') - 1} more"
