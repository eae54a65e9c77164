"""`icalgebra explain`: why a model answers a query so, as text, JSON or a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro
from rich.table import Table

from icalgebra.atomic_files import write_text
from icalgebra.cli.common import MaybePath, console, optional_arg
from icalgebra.errors import InputError
from icalgebra.interp.explanation import Explanation, Part, explain
from icalgebra.interp.explanation_html import explanation_page
from icalgebra.model.checkpoints import load_model
from icalgebra.train.distributed import choose_device

END = 24  # last characters of the sequence, shown above the tables


@dataclass(frozen=True)
class Explain:
    """Why a model answers the last query of a sequence so: mechanisms, posterior, heads and MLPs, with ablations."""

    model: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
    """A shipped model's name, a run folder, a checkpoint folder or a .safetensors file."""
    text: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SEQUENCE")]
    """A sequence whose last fact lacks its answer: ,ab=c,bc=d,xy="""
    query: Annotated[Literal["holdout", "train"] | None, optional_arg("holdout|train")] = None
    """How the query was drawn, which the oracle needs: held out of the context, or like any other fact. By default:
    train where the query or its reverse occurs in the context, else holdout."""
    html: MaybePath = None
    """Also write a page to this file."""
    parts: int = 10
    """How many heads and MLPs the text lists; the page and --json have all."""
    seed: int = 0
    """Seed of the sequences whose mean outputs replace an ablated head's or MLP's."""
    device: str = "cpu"
    json: bool = False
    """One JSON object."""

    def run(self) -> None:
        if self.parts < 0:
            raise InputError(f"--parts is a count of heads and MLPs, not {self.parts}")
        model = load_model(self.model, choose_device(self.device))
        found = explain(model, self.text, query=self.query, seed=self.seed)
        if self.html is not None:
            write_text(self.html, explanation_page(found, self.model))
        if self.json:
            print(json.dumps(found.to_dict()))
            return
        self._show(found)
        if self.html is not None:
            print(f"page: {self.html}")

    def _show(self, found: Explanation) -> None:
        screen = console(soft_wrap=True)
        end = found.text[-END:]
        print(f"{'…' if end != found.text else ''}{end}?")
        print(f"  model   {_shares(found.probabilities)}")
        print(f"  oracle  {found.kind}: {_shares(found.posterior)}{f'; {found.reason}' if found.reason else ''}")
        for name, answers in found.mechanisms.items():
            for answer, facts in answers.items():
                print(f"  {name}  {answer}, from {' '.join(facts)}")
        if not any(found.mechanisms.values()):
            print("  none of the five mechanisms answers it")
        if found.proof:
            print(f"  ladder  decided on rung {found.rung}:")
            print("".join(f"    {line}\n" for line in found.proof), end="")
        depths = (f"{layer}: {_shares(top, 1)}" for layer, top in enumerate(found.depths))
        print(f"  after each layer  {'  '.join(depths)}")
        table = Table(title=f"what the answer {found.answer} rests on", title_justify="left")
        for column in ("part", "without it", "direct", "promotes", "attends to"):
            table.add_column(column, no_wrap=column in ("part", "without it", "direct"))
        for part in found.strongest[: self.parts]:
            table.add_row(*_cells(part))
        screen.print(table)


def _shares(shares: dict[str, float], shown: int = 3) -> str:
    return " ".join(f"{name} {share:.3f}" for name, share in list(shares.items())[:shown]) or "no answer"


def _cells(part: Part) -> tuple[str, ...]:
    promoted = " ".join(f"{name} {value:+.1f}" for name, value in part.promotes.items())
    facts = ", ".join(f"{fact.fact} {fact.attention:.2f}" for fact in part.facts)
    return part.name, f"{part.without:.3f}", f"{part.direct:+.2f}", promoted, facts
