"""From a request to its answer: the same functions for server and static export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import icalgebra
from icalgebra.data.distributions import DISTRIBUTIONS
from icalgebra.explorer import contract as c
from icalgebra.explorer.inside import ablation, inside, reliance_steps
from icalgebra.explorer.limits import MAX_FACTS
from icalgebra.explorer.models import Library
from icalgebra.explorer.pairs import pair_answer, patched
from icalgebra.explorer.sequence import sampled, sequence_answer
from icalgebra.explorer.training import training


def start(library: Library) -> c.Start:
    return c.Start(
        version=icalgebra.__version__,
        models=[known.info for known in library.models.values()],
        runs=list(library.runs),
        distributions={name: found.summary for name, found in DISTRIBUTIONS.items()},
        max_facts=MAX_FACTS,
    )


def reliance(library: Library, r: c.SequenceRequest) -> c.Reliance:
    """The finished measurement, without progress."""
    *_, last = reliance_steps(library, r.model, r.text)
    return last


# part -> the function that answers its request (contract.REQUESTS)
ANSWERS: dict[str, Callable[[Library, Any], Any]] = {
    "sample": lambda library, r: sampled(library.known(r.model), r),
    "sequence": lambda library, r: sequence_answer(library, r.model, r.text, r.query, r.drawn),
    "inside": lambda library, r: inside(library, r.model, r.text),
    "ablation": lambda library, r: ablation(library, r.model, r.text, r.ablated),
    "pair": lambda library, r: pair_answer(library, r.model, r.clean, r.corrupt),
    "patch": lambda library, r: patched(library, r.model, r.clean, r.corrupt, r.sites),
    "training": lambda library, r: training(library, r.run, r.text),
}
