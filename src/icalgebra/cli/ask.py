"""`icalgebra ask`: model, mechanisms with their proofs, and oracle side by side on your own sequence; and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import tyro
from rich.table import Table

from icalgebra.cli.common import MaybePath, MaybeQuery, WorldOptions, console, optional_arg, read_texts
from icalgebra.errors import InputError
from icalgebra.language.parsing import read_prompt
from icalgebra.language.world import World
from icalgebra.oracle import classify_queries, explain_impossible, likely_query, ranked
from icalgebra.solvers import MECHANISMS, proof
from icalgebra.solvers.ladder import prove, rules_hold

DIGITS = 6  # of probabilities in JSON
SHOWN = 3  # likeliest answers listed per predictor
RESTS_ON = {
    None: "No mechanism has this answer.",
    "any": "Several mechanisms have this answer; taking one away leaves it.",
    "none": "It does not clearly rest on any mechanism that has this answer.",
}
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
    query: MaybeQuery = None
    """How the query was drawn, which the oracle needs: held out of the context, or like any other fact. By default:
    train where the query or its reverse occurs in the context, else holdout."""
    why: bool = False
    """Also the proof that the answer follows, and the facts that the model's own answer rests on."""
    device: str = "cpu"
    json: bool = False
    """One JSON object per line."""

    def run(self) -> None:
        model, text = self._model_and_text()
        loaded, world = self._model_and_world(model)
        lines = [(1, text)] if text is not None else read_texts(self.file)
        for prompt in [read_prompt(line, number, world.vocabulary) for number, line in lines]:
            answer = self._ask(prompt, world, loaded)
            if self.why:
                answer |= _reasons(prompt, world, loaded)
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

    def _model_and_world(self, model: str | None) -> tuple[Any, World]:
        """The model and the world it was trained on; without a model, the world of the options."""
        if model is None:
            return None, self.world()
        if any(getattr(self, item.name) != item.default for item in fields(WorldOptions)):
            raise InputError("a model comes with the world it was trained on; leave out its options, or the model")
        from icalgebra.experiments.shared.loaded_model import load_with_config
        from icalgebra.train.distributed import choose_device

        loaded = load_with_config(model, choose_device(self.device))
        return loaded, loaded.world

    def _ask(self, prompt: np.ndarray, world: World, loaded: Any) -> dict[str, Any]:
        text = world.vocabulary.decode(prompt)[0]
        query = self.query or likely_query(text)
        judged = classify_queries(prompt, world, query)
        answer: dict[str, Any] = {"text": text}
        if loaded is not None:
            answer["model"] = ranked(loaded.predictor(prompt)[0], DIGITS)
        answer["mechanisms"] = {name: proof(name, text) for name in MECHANISMS}
        answer["oracle"] = {
            "query": query,
            "kind": str(judged.kinds[0]),
            "posterior": ranked(judged.probabilities[0], DIGITS),
        }
        impossible = explain_impossible(prompt, world, query)
        if impossible is not None:
            answer["oracle"]["why"] = f"{impossible.text}: {impossible.reason}; {impossible.advice}"
        return answer


def _reasons(prompt: np.ndarray, world: World, loaded: Any) -> dict[str, Any]:
    """The proof on the lowest rung of the ladder (null where there is none), and what the model's answer rests on."""
    facts = world.vocabulary.decode(prompt)[0][1:].split(",")[:-1]
    proven = prove(prompt, world) if rules_hold(world) else None
    found: dict[str, Any] = {"proof": None if proven is None else {**proven.to_dict(), "words": proven.words(facts)}}
    if loaded is None:
        return found
    from icalgebra.experiments.reliance.measure import CONTROLS, ask

    own = int(loaded.predictor(prompt)[0].argmax())
    rests = ask(loaded, prompt[0], own, "holdout", np.random.default_rng(0), CONTROLS)
    if rests is not None:
        order = np.argsort(-rests.falls, kind="stable")
        falls = [{"fact": facts[i], "index": int(i), "fall": round(float(rests.falls[i]), 3)} for i in order]
        found["reliance"] = {"mechanism": rests.used or None, "facts": falls}
    return found


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
    screen = console()
    screen.print(table)
    for line in _reason_lines(answer):
        screen.print(line, highlight=False)


def _reason_lines(answer: dict[str, Any]) -> Iterator[str]:
    if "proof" in answer:
        steps = answer["proof"]
        yield f"Proof ({steps['rung']}, depth {steps['depth']}):" if steps else "No proof on any rung of the ladder."
        yield from (f"  {words}" for words in (steps["words"] if steps else ()))
    if "reliance" in answer:
        rests = answer["reliance"]
        most = ", ".join(f"{item['fact']} ({item['fall']:.1f})" for item in rests["facts"][:SHOWN])
        yield f"The model's answer misses these facts most (fall of its logit): {most}."
        yield RESTS_ON.get(rests["mechanism"], f"It rests on {rests['mechanism']}.")


def _likeliest(probabilities: dict[str, float]) -> tuple[str, str]:
    shown = list(probabilities.items())[:SHOWN]
    return (shown[0][0] if shown else ""), "  ".join(f"{variable} {p:.3f}" for variable, p in shown)
