"""Sequences in notebooks: facts coloured by their structure, and what the facts show of each Cayley table."""

from __future__ import annotations

from icalgebra.algebra.structures import Structure
from icalgebra.language.sequences import Sequence, Sequences
from icalgebra.markup import MONO, Markup, colour, join, paragraph, styled, table

ROWS_SHOWN = 8  # sequences of a batch
FACTS_SHOWN = 40  # facts of each


def sequences_html(sequences: Sequences) -> Markup:
    """One line per sequence: its structures, and its facts."""
    rows = [
        (sequences.start + i, structures_html(row), facts_html(row)) for i, row in enumerate(sequences[:ROWS_SHOWN])
    ]
    more = len(sequences) - ROWS_SHOWN
    end = paragraph(f"and {more:,} more") if more > 0 else ""
    return join([paragraph(repr(sequences)), table(("row", "structures", "facts"), rows), end])


def sequence_html(sequence: Sequence) -> Markup:
    """The facts, then one partial Cayley table per structure."""
    tables = [cayley_html(sequence, place) for place in range(len(sequence.drawn))]
    side_by_side = styled(join(tables), "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start", "div")
    return join([paragraph(facts_html(sequence)), side_by_side])


def facts_html(sequence: Sequence) -> Markup:
    """Every fact underlined in its structure's colour; the query in bold."""
    *context, last = sequence.facts
    hidden = max(0, len(context) - FACTS_SHOWN)
    parts = [_fact_html(sequence, fact) for fact in context[:FACTS_SHOWN]]
    parts += [Markup("… {} more …").format(hidden)] if hidden else []
    parts += [Markup("<b>{}</b>").format(_fact_html(sequence, last))]
    return styled(join(parts, " "), f"{MONO};word-break:break-word")


def _fact_html(sequence: Sequence, fact: str) -> Markup:
    place = next((i for i, letters in enumerate(sequence.assignment) if fact[0] in letters), -1)
    name = sequence.structures[place] if place >= 0 else "no structure"
    return styled(fact, f"border-bottom:3px solid {colour(place)}", title=name)


def structures_html(sequence: Sequence) -> Markup:
    names = (styled(name, f"border-bottom:3px solid {colour(i)}") for i, name in enumerate(sequence.structures))
    return join(names, " + ")


def cayley_html(sequence: Sequence, place: int) -> Markup:
    """The products that the context shows; the query's cell has its answer in bold with a question mark."""
    letters, structure = sequence.assignment[place], sequence.drawn[place]
    *context, query = sequence.facts
    shown = {fact[:2]: fact[3] for fact in context}
    cells = [[_cell(x + y, shown, query) for y in letters] for x in letters]
    rows = [(styled(x, "font-weight:bold"), *line) for x, line in zip(letters, cells)]
    words = join([styled(structure.name, f"border-bottom:3px solid {colour(place)}"), _identity(structure, letters)])
    return table(("", *letters), rows, words)


def _cell(pair: str, shown: dict[str, str], query: str) -> Markup | str:
    if pair == query[:2]:
        return styled(f"{query[3]}?", "font-weight:bold;outline:2px solid currentColor", title="the query's answer")
    return shown.get(pair, "")


def _identity(structure: Structure, letters: str) -> str:
    return "" if structure.identity is None else f", identity {letters[structure.identity]}"
