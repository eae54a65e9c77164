"""Attention over the facts of one sequence, for any heads: one call, one SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from icalgebra.atomic_files import write_text
from icalgebra.errors import InputError
from icalgebra.interp.attention_mass import attention, by_fact
from icalgebra.interp.head_names import HeadLike, as_head, head_name
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.model.inputs import one_prompt
from icalgebra.model.transformer import Transformer
from icalgebra.plotting import axes, legend_below, svg
from icalgebra.plotting.panels import attention_strip, facts_in, titled


class Svg(str):
    """A drawing as text; notebooks show it, and save() writes it to a file."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | Path) -> None:
        write_text(Path(path), self)


def attention_figure(model: Transformer, sequence: Any, *heads: HeadLike) -> Svg:
    """How the query's '=' attends to every fact of one sequence, by slot; one panel per head.

    sequence: one row of `sample`, a text that ends in '=', or its tokens.
    """
    prompts = one_prompt(model, sequence, "a figure shows one sequence")
    if not heads:
        raise InputError("name the heads to draw, such as attention_figure(model, sequence, '2.1')")
    text = Vocabulary(model.config.n_variables).decode(prompts)[0]
    names = [head_name(as_head(model, head)) for head in heads]
    pattern = by_fact(attention(model, prompts)[0])
    figure, panels = axes(len(heads), 1, (7.0, 0.9 + 1.5 * len(heads)), sharex=True)
    for panel, name, head in zip(panels.flat, names, heads):
        strip = pattern[as_head(model, head)].tolist()
        attention_strip(panel, strip, facts_in(text), width=max(0.8, len(strip) / 125))
        titled(panel, f"head {name}, query {text[-3:]}?", "left")
    panels[-1][0].set_xlabel("fact, the query last")
    legend_below(figure, panels, 5)
    return Svg(svg(figure, f"attention of {', '.join(names)} over the facts of {text[-30:]}"))
