"""Drawings in fewer bytes: what matplotlib writes for editors and to a millionth of a point, a reader never sees."""

from __future__ import annotations

import re

# Pattern -> what stands for it, in this order.
NOT_NEEDED = (
    (re.compile(r"<metadata>.*?</metadata>\s*", re.S), ""),
    (re.compile(r' id="[A-Za-z][\w.]*_\d+"'), ""),  # names of parts; what is referred to has hashes for names
    (re.compile(r' transform="rotate\(-?0 [^)]*\)"'), ""),
    (re.compile(r"font-family: [^;\"]*(sans-serif)"), r"font-family: \1"),
    (re.compile(r"\s*<g/>"), ""),
    (re.compile(r"\s*\n\s*(?=[MLCQz\"])"), " "),
    (re.compile(r"\n\s+"), "\n"),
)
# Points of a line between two others of the same height: L x1 y L x2 y L x3 y …
FLAT_RUN = re.compile(r"(L [-\d.]+ ([-\d.]+) )(?:L [-\d.]+ \2 )+(L [-\d.]+ \2 )")
TAG = re.compile(r"<[^>]*>")  # words stay as they are
LONG_NUMBER = re.compile(r"(?<![\w#])-?\d*\.\d{3,}(?![\w])")


def compact(svg: str) -> str:
    for pattern, kept in NOT_NEEDED:
        svg = pattern.sub(kept, svg)
    return FLAT_RUN.sub(r"\1\3", TAG.sub(lambda tag: LONG_NUMBER.sub(_shorter, tag.group()), svg))


def _shorter(found: re.Match[str]) -> str:
    """A tenth of a point is finer than a screen; small numbers keep two digits, for scales and widths."""
    value = float(found.group())
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
