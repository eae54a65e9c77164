"""Why might accuracy fall at long contexts? Controls that change one thing at a time, for one small group.

short      25 facts, the query included
long       as many facts as in training
repeated   the 24 context facts of short, cycled up to the length of long: length and repetition, nothing new
far        short, with the query at the position it has in long: distance alone
shifted    short, with all tokens at later positions: position alone (RoPE is relative, so this should change nothing)
company    long, in sequences shared with C8: length with less repetition; skipped if both do not fit in the alphabet

The accuracy of the shipped model does not fall at long contexts. Only `far` costs it much: with the query 875 positions
away, C3 drops to 87 % and C4 to 89 %.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from icalgebra.algebra.structures import structure
from icalgebra.data.distributions import sample
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.language.world import World
from icalgebra.model.accuracy import accuracy_estimate, hits, query_structures, strictly_best
from icalgebra.model.prefix_accuracy import BRANCH, logits_at_positions
from icalgebra.statistics import Estimate

SHORT = 25
COMPANY = "C8"


def measure_decline(loaded: LoadedModel, name: str, n: int, seed: int) -> dict[str, Estimate]:
    """decline.<structure>.<condition>: hold-out accuracy on the structure alone, or with C8 (company)."""
    world = replace(loaded.world, structures=(name,), p_mix=0.0, d2=False)
    n_facts = loaded.config.n_facts
    short, long = (sample("holdout", n, k, seed, world, stream=f"decline/{name}") for k in (SHORT, n_facts))
    gap = (n_facts - SHORT) * FACT_LENGTH
    at = np.arange(short.prompts.shape[1])
    query_moved = at + gap * (at >= len(at) - BRANCH)
    hit = {
        "short": hits(loaded.predictor, short),
        "long": hits(loaded.predictor, long),
        "repeated": strictly_best(loaded.predictor(_repeated(short, n_facts)), short.answers),
        "far": strictly_best(logits_at_positions(loaded.model, short.prompts, query_moved), short.answers),
        "shifted": strictly_best(logits_at_positions(loaded.model, short.prompts, at + gap), short.answers),
    }
    if structure(name).order + structure(COMPANY).order <= loaded.world.n_variables:
        prompts, answers = _in_company(loaded.world, name, n, n_facts, seed)
        hit["company"] = strictly_best(loaded.predictor(prompts), answers)
    return {f"decline.{name}.{condition}": accuracy_estimate(found) for condition, found in hit.items()}


def _repeated(short: Sequences, n_facts: int) -> np.ndarray:
    """Prompts of n_facts facts whose context cycles through the short one's facts."""
    context = short.tokens[:, :-FACT_LENGTH].reshape(len(short), -1, FACT_LENGTH)
    places = np.arange(n_facts - 1) % context.shape[1]
    return np.concatenate([context[:, places].reshape(len(short), -1), short.prompts[:, -BRANCH:]], axis=1)


def _in_company(world: World, name: str, n: int, n_facts: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Prompts and answers of sequences of the structure and C8 whose query is about the structure."""
    both = replace(world, structures=(name, COMPANY), mixture_rule="all", d2=False)
    small, large = (structure.order**2 for structure in both.pool)
    # A query falls on a structure in proportion to its cells: draw enough that about 2n are about the small one.
    drawn = sample("holdout", n * (2 + 2 * large // small), n_facts, seed, both, stream=f"decline/{name}/company")
    chosen = np.flatnonzero(np.array(query_structures(drawn)) == name)[:n]
    return drawn.prompts[chosen], drawn.answers[chosen]


def prevalence(world: World, name: str) -> dict[str, float]:
    """How often training sequences contain the structure, alone and at all; how often each fact then occurs in 199."""
    mixtures = [([world.pool[i].name for i in drawn], p) for drawn, p in world.mixtures().items()]
    order = next((s.order for s in world.pool if s.name == name), 0)
    return {
        "alone": sum(p for names, p in mixtures if names == [name]),
        "present": sum(p for names, p in mixtures if name in names),
        "repeats_alone_at_200": 199 / order**2 if order else 0.0,
    }
