"""The exact Bayes oracle: the best answer anyone could give, since the generative process is known.

    >>> sequences = icalgebra.sample("holdout", n=4, n_facts=20)
    >>> posterior(sequences.prompts, sequences.world)      # [4, 16], a Predictor like any other

query says how the last fact came about: "holdout" (its cell and the reverse were held out of the context) or "train".

arrays -> embeddings -> counting -> weighing -> rows        kernels, from the world to batches
posteriors · floors · explanations                          what callers use
"""

from icalgebra.oracle.explanations import (
    Entailment,
    Impossibility,
    explain_entailed,
    explain_impossible,
    remaining_mixtures,
)
from icalgebra.oracle.loss_floor import slot_floors
from icalgebra.oracle.posteriors import (
    Ceiling,
    Judgement,
    ceiling_hits,
    credit,
    judge,
    judge_by_facts,
    oracle_predictor,
    posterior,
    posterior_by_facts,
)

__all__ = [
    "Ceiling",
    "Entailment",
    "Impossibility",
    "Judgement",
    "ceiling_hits",
    "credit",
    "explain_entailed",
    "explain_impossible",
    "judge",
    "judge_by_facts",
    "oracle_predictor",
    "posterior",
    "posterior_by_facts",
    "remaining_mixtures",
    "slot_floors",
]
