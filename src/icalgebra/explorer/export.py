"""The page with prepared sequences and their data in one file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from icalgebra.explorer import contract as c
from icalgebra.explorer import parts
from icalgebra.explorer.models import Library
from icalgebra.explorer.page import single_page
from icalgebra.explorer.prepared import prepared


def export_page(library: Library) -> str:
    return single_page(export_data(library))


def export_data(library: Library) -> dict[str, Any]:
    """What a server would answer at the start, and about every prepared sequence, in the same form."""
    examples = prepared(library)
    return {
        "start": asdict(parts.start(library)),
        "examples": [asdict(example) for example in examples],
        "parts": [_parts(library, example.state) for example in examples],
    }


def _parts(library: Library, state: dict[str, Any]) -> dict[str, Any]:
    basic = {"model": state["model"], "text": state["text"]}
    drawn = c.Drawn(**state["drawn"]) if "drawn" in state else None
    asked: dict[str, c.Request] = {
        "sequence": c.SequenceRequest(**basic, drawn=drawn),
        "inside": c.SequenceRequest(**basic),
        "ablation": c.AblationRequest(**basic),
    }
    if "corrupt" in state:
        asked["pair"] = c.PairRequest(model=state["model"], clean=state["text"], corrupt=state["corrupt"])
    if "run" in state:
        asked["training"] = c.TrainingRequest(run=state["run"], text=state["text"])
    found = {part: asdict(parts.ANSWERS[part](library, request)) for part, request in asked.items()}
    found["reliance"] = asdict(parts.reliance(library, c.SequenceRequest(**basic)))
    return found
