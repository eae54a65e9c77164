"""`icalgebra oracle`: the exact posterior of queries, and why an answer is forced or a context impossible."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import tyro

from icalgebra.cli.common import MaybePath, MaybeQuery, WorldOptions, optional_arg, output, progress, read_texts
from icalgebra.errors import InputError
from icalgebra.language.parsing import read_prompt
from icalgebra.language.vocabulary import ANSWER
from icalgebra.language.world import World
from icalgebra.oracle import classify_queries, explain_entailed, explain_impossible, likely_query
from icalgebra.oracle.arrays import oracle_arrays
from icalgebra.solvers.ladder import prove, rules_hold

SHOWN = 5  # mixtures in the text output


@dataclass(frozen=True)
class Oracle(WorldOptions):
    """The exact posterior over answers to the last query of each sequence, given how sequences are sampled."""

    text: Annotated[str | None, tyro.conf.Positional, optional_arg("[SEQUENCE]")] = None
    """A sequence whose last fact lacks its answer: ,ab=c,bc=d,xy= (or '-' for standard input)."""
    file: MaybePath = None
    """Read sequences from this file, one per line; without SEQUENCE and --file, from standard input."""
    query: MaybeQuery = None
    """How the query was drawn: held out of the context, or like any other fact. By default: train where the query or
    its reverse occurs in the context, else holdout."""
    proof: bool = False
    """Also a proof of an entailed answer, step by step, where the ladder of deduction has one."""
    json: bool = False
    """One JSON object per line."""
    out: MaybePath = None
    """Write to this file instead of standard output."""

    def run(self) -> None:
        world = self.world()
        oracle_arrays(world)
        prompts = [read_prompt(text, number, world.vocabulary) for number, text in self._texts()]
        # Progress bar and answers share the terminal, so nothing is printed before all answers are found.
        answers = [self._answer(prompt, world) for prompt in progress(prompts, len(prompts), "oracle")]
        with output(self.out) as stream:
            for answer in answers:
                stream.write((json.dumps(answer) if self.json else "\n".join(_lines(answer))) + "\n")

    def _texts(self) -> list[tuple[int, str]]:
        if self.text is not None and self.text != "-":
            if self.file is not None:
                raise InputError("give a sequence or --file, not both")
            return [(1, self.text)]
        return read_texts(self.file)

    def _answer(self, prompt: np.ndarray, world: World) -> dict[str, Any]:
        text = world.vocabulary.decode(prompt)[0]
        query = self.query or likely_query(text)
        judged = classify_queries(prompt, world, query)
        kind, letters = str(judged.kinds[0]), world.vocabulary.variables
        answer: dict[str, Any] = {
            "text": text,
            "query": query,
            "kind": kind,
            "posterior": {v: float(p) for v, p in zip(letters, judged.probabilities[0], strict=True) if p > 0},
        }
        why = {"entailed": explain_entailed, "impossible": explain_impossible}.get(kind)
        explanation = why(prompt, world, query) if why else None
        answer |= {kind: asdict(explanation)} if explanation else {}
        wanted = self.proof and kind == "entailed" and rules_hold(world)
        proven = prove(prompt, world) if wanted else None
        if proven is not None:
            facts = text[1:].split(",")[:-1]
            answer["proof"] = {**proven.to_dict(), "words": proven.words(facts)}
        return answer


def _lines(answer: dict[str, Any]) -> Iterator[str]:
    """The query with its kind, then the posterior, likeliest first, then the reason."""
    yield f"{answer['text'][-ANSWER:]}  {answer['kind']}"
    ranked = sorted(answer["posterior"].items(), key=lambda item: (-item[1], item[0]))
    if ranked:
        yield "  " + "  ".join(f"{v} {p:.4g}" for v, p in ranked)
    if "entailed" in answer:
        yield from _entailed_lines(answer["entailed"])
    if "proof" in answer:
        yield f"  proof ({answer['proof']['rung']}, depth {answer['proof']['depth']}):"
        yield from (f"    {words}" for words in answer["proof"]["words"])
    if "impossible" in answer:
        found = answer["impossible"]
        place = "the query" if found["fact"] is None else f"fact {found['fact']}"
        yield f"  {place} {found['text']}: {found['reason']}"
        yield f"  {found['advice']}"


def _entailed_lines(found: dict[str, Any]) -> Iterator[str]:
    facts = "".join(found["forced_by"])
    needed = " alone" if len(found["forced_by"]) == 1 else ", none of which can be spared"
    yield f"  forced by {facts}{needed}" if facts else "  forced without any fact"
    mixtures = found["mixtures"]
    listed = ", ".join(f"{'+'.join(names)} ({p:.3g})" for names, p in mixtures[:SHOWN])
    more = f" and {len(mixtures) - SHOWN} more" if len(mixtures) > SHOWN else ""
    some = (
        f"{len(mixtures)} multisets of structures remain" if len(mixtures) > 1 else "one multiset of structures remains"
    )
    yield f"  {some} possible: {listed}{more}; every assignment that satisfies the facts gives {found['answer']}"
