"""Small pieces of HTML for notebooks and pages.

Everything is put together with markupsafe, which escapes whatever is not already markup: names of structures, worlds
and models are a user's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

# Okabe and Ito's colours, which people with any common colour blindness can tell apart; then greys.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#aaaaaa")
MONO = "font-family:monospace"
CELL = "padding:1px 6px;text-align:center;border:1px solid #bbb"


def colour(index: int) -> str:
    return PALETTE[min(index, len(PALETTE) - 1)]


def join(parts: Iterable[object], between: str = "") -> Markup:
    return Markup(between).join(parts)  # type: ignore[arg-type]  # escapes what is not markup


def styled(content: object, style: str, tag: str = "span", title: str = "") -> Markup:
    tip = Markup(' title="{}"').format(title) if title else ""
    return Markup('<{0} style="{1}"{2}>{3}</{0}>').format(Markup(tag), style, tip, content)


def paragraph(content: object) -> Markup:
    return Markup("<p>{}</p>").format(content)


def heading(content: object) -> Markup:
    return Markup("<h4>{}</h4>").format(content)


def table(header: Sequence[object], rows: Iterable[Sequence[object]], caption: object = "") -> Markup:
    """A plain table; cells that are not markup are escaped."""
    lines = [join(styled(cell, CELL, "td") for cell in row) for row in rows]
    top = Markup("<tr>{}</tr>").format(join(styled(cell, CELL, "th") for cell in header)) if header else ""
    words = Markup("<caption>{}</caption>").format(caption) if caption else ""
    body = join(Markup("<tr>{}</tr>").format(line) for line in lines)
    return Markup('<table style="border-collapse:collapse">{}{}{}</table>').format(words, top, body)


def bar(share: float, width: int = 160, ink: str = PALETTE[0]) -> Markup:
    """A horizontal bar for a share between 0 and 1, with its per cent."""
    length = round(width * min(max(share, 0.0), 1.0))
    drawn = styled("", f"display:inline-block;height:.8em;width:{length}px;background:{ink}")
    return join([drawn, f" {100 * share:.1f} %"])


def bars(shares: Mapping[str, float], ink: str = PALETTE[0]) -> Markup:
    """One labelled bar per share, in the given order."""
    rows = (join([styled(name, f"{CELL};border:0", "td"), styled(bar(share, ink=ink), "text-align:left", "td")])
            for name, share in shares.items())  # fmt: skip
    return Markup("<table>{}</table>").format(join(Markup("<tr>{}</tr>").format(row) for row in rows))
