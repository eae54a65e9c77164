"""What is wrong with a command line, in one sentence: tyro's boxed message in plain words, with the nearest option."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

NUMBERS = {"float": "a number", "int": "a whole number", "tuple[int, ...]": "whole numbers"}


def reason(message: str) -> str:
    """The reason inside tyro's box: the text between its title and its first rule.

    tyro has a hook that returns the reason without a box, but in a private module that may change in any release.
    """
    lines = [line.strip("│ \t") for line in message.splitlines() if not line.startswith(("╭", "╰"))]
    parts = re.split(r"\n[─-]+\n", "\n".join(lines))
    title_is_part = "╭" not in message and len(parts) > 1  # a box in ASCII
    found = " ".join(parts[title_is_part].split())
    # None stands for an option left out; nobody can type it.
    return re.sub(r"'None', |, 'None'", "", found).rstrip(".")


def plain_sentence(message: str, name: str, options: Iterable[str]) -> str:
    """One sentence with the fix in it; a form of message that is not known stays as tyro wrote it."""
    found = reason(message)
    for pattern, rewrite in REWRITES:
        match = pattern.match(found)
        if match:
            found = rewrite(match, name, list(options))
            break
    return f"{found} (see icalgebra {name} --help)"


def _unknown_option(match: re.Match[str], name: str, options: list[str]) -> str:
    words = match[1].split(", ")
    option = next((word for word in words if word.startswith("-")), None)
    if option is None:
        return f"{words[0]!r} is a word too many for icalgebra {name}"
    given = option.partition("=")[0]
    nearest = difflib.get_close_matches(given, options, n=1, cutoff=0.6)
    return f"unknown option {given!r}" + (f"; did you mean {nearest[0]!r}?" if nearest else "")


def _wrong_number(match: re.Match[str], name: str, options: list[str]) -> str:
    option, rest = match[1], match[2]
    # An option that may be left out is tried as None first: the last type named is the one that is meant.
    kinds = re.findall(r"<class '(\w+)'>|(tuple\[int, \.\.\.\])|literal for (int)|string to (float)", rest)
    kind = "".join(kinds[-1]) if kinds else ""
    value = re.search(r"\['([^']*)'\]", rest) or re.search(r"'([^']*)'$", rest)
    if kind not in NUMBERS or not value:
        return match[0]
    return f"{option} must be {NUMBERS[kind]}, not {value[1]!r}"


def _wrong_choice(match: re.Match[str], name: str, options: list[str]) -> str:
    value, option, choices = match[1], match[2], sorted(re.findall(r"'([^']*)'", match[3]))
    nearest = difflib.get_close_matches(value, choices, n=1, cutoff=0.6)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    listed = " or ".join(filter(None, [", ".join(choices[:-1]), choices[-1]]))
    return f"{option} must be {listed}, not {value!r}{hint}"


def _missing(match: re.Match[str], name: str, options: list[str]) -> str:
    needed = re.findall(r"(?:^| )(--[\w-]+|[A-Z][A-Z.]+)(?: [A-Z][\w|…,]*)? .*?\(required\)", match[1])
    return f"icalgebra {name} needs {' and '.join(needed)}" if needed else match[0]


REWRITES = (
    (re.compile(r"Unrecognized options: (.*)"), _unknown_option),
    (re.compile(r"Error parsing (\S+): (.*)"), _wrong_number),
    (re.compile(r"invalid choice '(.*)' for argument '([^']*)'\. Expected one of \((.*)\)"), _wrong_choice),
    (re.compile(r"Missing value for argument '([^']*)'.*"), lambda match, name, options: f"{match[1]} needs a value"),
    (re.compile(r"Missing from icalgebra \S+: (.*)"), _missing),
)
