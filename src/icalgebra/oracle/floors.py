"""The least loss anyone could have on a whole sequence, slot by slot: what is above it is a model's regret.

Every fact is drawn independently (the law of `train`). With Z the probability of the facts before:

    left     P(a)      = P(facts, left a) / Z
    right    P(b | a)  = P(facts, pair ab) / P(facts, left a)
    answer   P(c | ab) = the posterior                           and P(facts, ab=c) is the next Z
"""

from __future__ import annotations

import numpy as np

from icalgebra.oracle.arrays import oracle_arrays
from icalgebra.oracle.posteriors import named
from icalgebra.oracle.rows import weigh_each, weigh_left
from icalgebra.oracle.weighing import TRAIN
from icalgebra.vocabulary import facts_of
from icalgebra.world import World


def slot_floors(tokens: np.ndarray, world: World) -> np.ndarray:
    """−log of the exact probability of each left, right and answer token, [n, k, 3] in nats; tokens [n, 5k].

    From the first fact that the world cannot produce on, the floor is infinite.
    """
    facts = np.ascontiguousarray(facts_of(tokens), dtype=np.int64)
    n, k = facts.shape[:2]
    arrays = oracle_arrays(world)
    probabilities, kinds = np.empty((n, k, world.n_variables)), np.empty((n, k), dtype=np.int64)
    log_left, log_pair = np.empty((n, k)), np.empty((n, k))
    weigh_left(arrays, facts, log_left)
    weigh_each(arrays, facts, TRAIN, probabilities, kinds, log_pair)
    named(kinds)  # refuses a context that cannot be counted
    with np.errstate(divide="ignore", invalid="ignore"):
        log_answer = np.log(np.take_along_axis(probabilities, facts[:, :, 2:], axis=2)[:, :, 0])
        log_fact = log_pair + log_answer
        log_before = np.concatenate([np.zeros((n, 1)), log_fact[:, :-1]], axis=1)
        floors = -np.stack([log_left - log_before, log_pair - log_left, log_answer], axis=2)
    return np.where(np.isnan(floors), np.inf, floors)
