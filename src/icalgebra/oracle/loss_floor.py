"""The loss floor of a sequence, slot by slot: the least expected loss. A model's loss above it is its regret.

Every fact is drawn independently (the distribution `train`). With Z the probability of the facts before:

    left     P(a)      = P(facts, left a) / Z
    right    P(b | a)  = P(facts, pair ab) / P(facts, left a)
    answer   P(c | ab) = the posterior                           and P(facts, ab=c) is the next Z
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from icalgebra.errors import InputError
from icalgebra.language.vocabulary import FACT_LENGTH, facts_of
from icalgebra.language.world import World
from icalgebra.oracle.arrays import oracle_arrays
from icalgebra.oracle.posteriors import kind_names
from icalgebra.oracle.rows import slot_log_probabilities
from icalgebra.oracle.threads import parallel_rows
from icalgebra.records import argument

if TYPE_CHECKING:
    from jaxtyping import Float64


def slot_floors(tokens: np.ndarray, world: World) -> Float64[np.ndarray, "n k 3"]:
    """−log of the exact probability of each left, right and answer token, [n, k, 3] in nats; tokens [n, 5k].

    From the first fact that the world cannot produce, the floor is infinite.
    """
    tokens = argument(World, world, "world").vocabulary.rows(tokens)
    if tokens.shape[1] % FACT_LENGTH:
        raise InputError("loss floors need whole sequences; the last fact lacks its answer")
    facts = np.ascontiguousarray(facts_of(tokens), dtype=np.int64)
    log_left, log_pair, log_answer = np.empty((3, *facts.shape[:2]))
    kinds = np.empty(facts.shape[:2], dtype=np.int64)
    arrays = oracle_arrays(world)
    parallel_rows(slot_log_probabilities, kinds, arrays, facts, log_left, log_pair, log_answer, kinds)
    kind_names(kinds)  # raises where a context cannot be counted
    with np.errstate(invalid="ignore"):
        log_fact = log_pair + log_answer
        log_before = np.concatenate([np.zeros((len(facts), 1)), log_fact[:, :-1]], axis=1)
        floors = -np.stack([log_left - log_before, log_pair - log_left, log_answer], axis=2)
    return np.where(np.isnan(floors), np.inf, floors)
