"""Accuracy of small groups at long contexts under three laws of the evaluation (B1).

In training one variable is reserved: it never stands for an identity. The released code evaluates with a fixed,
unshuffled assignment in which it *is* the identity of the first group. So the published curves ask, in every identity
query, about something that no training sequence shows. For each group and law (data/distributions.py):

<group>.<law>.k<k>              hold-out accuracy; .last: at the longest context
<group>.<law>.fall, .falls      accuracy where the published curve peaks minus that at the end; whether it is above zero
<group>.<law>.errors_identity   the share of the errors at the end that are identity queries
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments.shared.estimates import boolean_estimate
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.experiments.shared.predictor_comparison import within_training_length
from icalgebra.model.accuracy import accuracy_estimate, hits
from icalgebra.results import Result
from icalgebra.statistics import Estimate, difference

LAWS = ("holdout", "holdout_reserved_identity", "holdout_unshuffled")
PEAKS = {"C3": 25, "C4": 50}  # where the published curves are highest


def run(tier: str, seed: int, loaded: LoadedModel, n: int, facts: tuple[int, ...]) -> Result:
    facts = within_training_length(facts, loaded)
    values: dict[str, Estimate] = {}
    names = [structure.name for structure in loaded.world.pool if structure.name in PEAKS]
    if not names:
        raise InputError(f"released_evaluation asks about {' and '.join(PEAKS)}, and this model's world has neither")
    # A world without a reserved variable has one law only.
    laws = LAWS if loaded.world.reserved_id >= 0 else LAWS[:1]
    for name in names:
        world = replace(loaded.world, structures=(name,), p_mix=0.0, d2=False)
        for law in laws:
            right: dict[int, np.ndarray] = {}
            for k in facts:
                sequences = sample(law, n, k, seed, world, stream=f"released evaluation/{name}")
                right[k] = hits(loaded.predictor, sequences)
                values[f"{name}.{law}.k{k}"] = accuracy_estimate(right[k])
            wrong = ~right[facts[-1]]
            if wrong.any():
                values[f"{name}.{law}.errors_identity"] = accuracy_estimate(sequences.identity_queries()[wrong])
            values[f"{name}.{law}.last"] = values[f"{name}.{law}.k{facts[-1]}"]
            if PEAKS[name] in facts[:-1]:
                fall = difference(values[f"{name}.{law}.k{PEAKS[name]}"], values[f"{name}.{law}.last"])
                values |= {f"{name}.{law}.fall": fall, f"{name}.{law}.falls": boolean_estimate(fall.low > 0, n)}
    return result_about(
        loaded, "released_evaluation", tier, seed,
        config={"n": n, "facts": list(facts)},
        values=values,
        details={"structures": names, "laws": list(laws), "reserved": loaded.world.reserved},
    )  # fmt: skip
