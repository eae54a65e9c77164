"""Why could accuracy fall at long contexts? The same small group, asked at length under changed circumstances.

short      25 facts
long       as many facts as in training
repeated   the 24 facts of short over and over, up to the length of long: length and repetition, nothing new
far        short, with the query at the position it has in long: distance alone
shifted    short, with all tokens later in the sequence: position alone (RoPE should not notice)
company    long, but the facts are shared with C8: length without so much repetition;
           left out where the alphabet has no room for both
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
    """decline.<structure>.<condition>: hold-out accuracy."""
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
    """Prompts of n_facts facts whose context goes through the short one's again and again."""
    context = short.tokens[:, :-FACT_LENGTH].reshape(len(short), -1, FACT_LENGTH)
    places = np.arange(n_facts - 1) % context.shape[1]
    return np.concatenate([context[:, places].reshape(len(short), -1), short.prompts[:, -BRANCH:]], axis=1)


def _in_company(world: World, name: str, n: int, n_facts: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Prompts and answers of sequences of the structure and C8 whose query belongs to the structure."""
    both = replace(world, structures=(name, COMPANY), draw="all", d2=False)
    small, large = (structure.order**2 for structure in both.pool)
    drawn = sample("holdout", n * (2 + 2 * large // small), n_facts, seed, both, stream=f"decline/{name}/company")
    chosen = np.flatnonzero(np.array(query_structures(drawn)) == name)[:n]
    return drawn.prompts[chosen], drawn.answers[chosen]


def prevalence(world: World, name: str) -> dict[str, float]:
    """How often training shows the structure: alone, and at all; and how often each cell then comes in 199 facts."""
    mixtures = [([world.pool[i].name for i in drawn], p) for drawn, p in world.mixtures().items()]
    order = next((s.order for s in world.pool if s.name == name), 0)
    return {
        "alone": sum(p for names, p in mixtures if names == [name]),
        "present": sum(p for names, p in mixtures if name in names),
        "repeats_alone_at_200": 199 / order**2 if order else 0.0,
    }
