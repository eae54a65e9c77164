"""An explanation as HTML: for notebooks, and as a page of its own."""

from __future__ import annotations

from icalgebra.interp.explanation import Explanation, Part
from icalgebra.markup import MONO, PALETTE, Markup, bar, bars, heading, join, paragraph, styled, table

SHOWN = 4  # likeliest answers

PAGE = Markup("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222;
background: #fff; overflow-wrap: anywhere }}</style></head>
<body><h1>{title}</h1>{body}</body></html>
""")


def explanation_page(found: Explanation, model: str) -> str:
    """A complete page."""
    return PAGE.format(title=f"Why {model} answers {found.text[-3:]}{found.answer}", body=explanation_html(found))


def explanation_html(found: Explanation) -> Markup:
    sections = [
        paragraph(styled(f"{found.text}?", MONO)),
        heading("The model's answer"),
        bars(dict(list(found.probabilities.items())[:SHOWN])),
        heading("What can be known"),
        paragraph(f"The oracle: {found.kind} (query drawn as {found.query}). {found.reason}"),
        bars(dict(list(found.posterior.items())[:SHOWN]), PALETTE[2]),
        heading("Mechanisms"),
        table(("mechanism", "answer", "facts"), [_mechanism(name, found) for name in found.mechanisms]),
        heading("Proof"),
        _proof(found),
        heading("Layer by layer (logit lens)"),
        table(("after", "likeliest answers"), [_depth(i, top) for i, top in enumerate(found.depths)]),
        heading("Heads and MLPs, those the answer needs most first"),
        table(
            (
                "part",
                f"P({found.answer}) without it",
                f"direct logit of {found.answer}",
                "promotes",
                "demotes",
                "attends to",
            ),
            [_part(part) for part in found.strongest],
        ),
    ]
    return join(sections)


def _mechanism(name: str, found: Explanation) -> tuple[str, str, str]:
    answers = found.mechanisms[name]
    return name, " or ".join(answers) or "–", "; ".join(" ".join(facts) for facts in answers.values())


def _proof(found: Explanation) -> Markup:
    if not found.proof:
        return paragraph("No rung of the ladder of deduction decides this query.")
    lines = [paragraph(line) for line in found.proof]
    return join([paragraph(f"The lowest rung of the ladder that decides it: {found.rung}."), *lines])


def _depth(layers: int, top: dict[str, float]) -> tuple[str, str]:
    return (f"{layers} layers" if layers else "embedding"), "  ".join(f"{name} {p:.2f}" for name, p in top.items())


def _part(part: Part) -> tuple[object, ...]:
    return (
        part.name,
        styled(bar(part.without, 80), "white-space:nowrap"),
        f"{part.direct:+.2f}",
        " ".join(f"{name} {value:+.1f}" for name, value in part.promotes.items()),
        " ".join(f"{name} {value:+.1f}" for name, value in part.demotes.items()),
        "; ".join(f"{fact.fact} {fact.attention:.2f} at {fact.slot}" for fact in part.facts),
    )
