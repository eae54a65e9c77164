"""`icalgebra ask`: model, mechanisms with their proofs, and oracle side by side on your own sequence."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from icalgebra.cli.common import MaybePath, WorldOptions, optional_arg, read_texts
from icalgebra.errors import InputError
from icalgebra.language.parsing import read_prompt
from icalgebra.language.world import World
from icalgebra.oracle import classify_queries, explain_impossible
from icalgebra.solvers import MECHANISMS, proof

SHOWN = 3  # likeliest answers listed per predictor
END = 24  # last characters of the sequence, shown above the table


@dataclass(frozen=True)
class Ask(WorldOptions):
    """Ask a model, the five mechanisms and the oracle for the answer to the last query of a sequence."""

    model: Annotated[str | None, tyro.conf.Positional, optional_arg("[MODEL]")] = None
    """A shipped model's name, a run folder or a file; 'none', or nothing, for mechanisms and oracle alone."""
    text: Annotated[str | None, tyro.conf.Positional, optional_arg("[SEQUENCE]")] = None
    """A sequence whose last fact lacks its answer: ,ab=c,bc=d,xy="""
    file: MaybePath = None
    """Read sequences from this file, one per line; without SEQUENCE and --file, from standard input."""
    query: Annotated[Literal["holdout", "train"] | None, optional_arg("holdout|train")] = None
    """How the query was drawn, which the oracle needs: held out of the context, or like any other fact. By default:
    train where the query or its reverse occurs in the context, else holdout."""
    device: str = "cpu"
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        model, text = self._model_and_text()
        predictor, world = self._predictor(model)
        lines = [(1, text)] if text is not None else read_texts(self.file)
        for prompt in [read_prompt(line, number, world.vocabulary) for number, line in lines]:
            answer = self._ask(prompt, world, predictor)
            if self.json:
                print(json.dumps(answer))
            else:
                _show(answer)

    def _model_and_text(self) -> tuple[str | None, str | None]:
        """A single argument that contains '=' is a sequence; then there is no model."""
        model, text = self.model, self.text
        if text is None and model is not None and "=" in model:
            model, text = None, model
        if text is not None and self.file is not None:
            raise InputError("give a sequence or --file, not both")
        return (None if model == "none" else model), text

    def _predictor(self, model: str | None) -> tuple[Any, World]:
        """The model and the world it was trained on; without a model, the world of the options."""
        if model is None:
            return None, self.world()
        if any(getattr(self, item.name) != item.default for item in fields(WorldOptions)):
            raise InputError("a model comes with the world it was trained on; leave out its options, or the model")
        from icalgebra.experiments.shared.loaded_model import load_with_config
        from icalgebra.train.distributed import choose_device

        loaded = load_with_config(model, choose_device(self.device))
        return loaded.predictor, loaded.world

    def _ask(self, prompt: np.ndarray, world: World, predictor: Any) -> dict[str, Any]:
        text, letters = world.vocabulary.decode(prompt)[0], world.vocabulary.variables
        query = self.query or _likely_query(text)
        judged = classify_queries(prompt, world, query)
        answer: dict[str, Any] = {"text": text}
        if predictor is not None:
            answer["model"] = _ranked(predictor(prompt)[0], letters)
        answer["mechanisms"] = {name: proof(name, text) for name in MECHANISMS}
        answer["oracle"] = {
            "query": query,
            "kind": str(judged.kinds[0]),
            "posterior": _ranked(judged.probabilities[0], letters),
        }
        impossible = explain_impossible(prompt, world, query)
        if impossible is not None:
            answer["oracle"]["why"] = f"{impossible.text}: {impossible.reason}; {impossible.advice}"
        return answer


def _likely_query(text: str) -> Literal["holdout", "train"]:
    *context, last = text[1:].split(",")
    return "train" if any(fact[:2] in (last[:2], last[1::-1]) for fact in context) else "holdout"


def _ranked(probabilities: np.ndarray, letters: str) -> dict[str, float]:
    order = np.argsort(-probabilities, kind="stable")
    return {letters[i]: round(float(probabilities[i]), 6) for i in order if probabilities[i] > 0}


def _show(answer: dict[str, Any]) -> None:
    whole, end = answer["text"], answer["text"][-END:]
    table = Table(title=f"{'…' if end != whole else ''}{end}?", title_justify="left")
    table.add_column("who")
    table.add_column("answer")
    table.add_column("why")
    if "model" in answer:
        table.add_row("model", *_likeliest(answer["model"]), end_section=True)
    for name, found in answer["mechanisms"].items():
        facts = "; ".join(" ".join(f"{fact[:2]}={fact[2]}" for fact in facts) for facts in found.values())
        table.add_row(name, " or ".join(found) or "–", facts, end_section=name == MECHANISMS[-1])
    oracle = answer["oracle"]
    best, others = _likeliest(oracle["posterior"])
    table.add_row("oracle", best or "–", f"{oracle['kind']}: {oracle.get('why', others)}")
    Console().print(table)


def _likeliest(probabilities: dict[str, float]) -> tuple[str, str]:
    shown = list(probabilities.items())[:SHOWN]
    return (shown[0][0] if shown else ""), "  ".join(f"{variable} {p:.3f}" for variable, p in shown)
