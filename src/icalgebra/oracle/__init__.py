"""The exact Bayes oracle: the best possible answer, since the generative process is known.

    >>> sequences = icalgebra.sample("holdout", n=4, n_facts=20)
    >>> posterior(sequences.prompts, sequences.world)  # [4, 16]; oracle_predictor(world) is the same as a predictor

`query` says how the last fact was drawn: "holdout" (the query and its reverse are held out of the context) or "train".

symmetry -> arrays -> embeddings -> components -> counting -> posterior_weights -> rows    from the world to batches
posteriors · loss_floor · explanations                                                   what callers use
"""

from icalgebra.oracle.explanations import (
    Entailment,
    Impossibility,
    explain_entailed,
    explain_impossible,
    likely_query,
    remaining_mixtures,
)
from icalgebra.oracle.loss_floor import slot_floors
from icalgebra.oracle.posteriors import (
    Ceiling,
    ClassifiedQueries,
    Posterior,
    Query,
    catalogue_predictor,
    ceiling_hits,
    classify_by_facts,
    classify_queries,
    credit,
    oracle_predictor,
    posterior,
    posterior_by_facts,
    ranked,
)

__all__ = [
    "Ceiling",
    "ClassifiedQueries",
    "Entailment",
    "Impossibility",
    "Posterior",
    "Query",
    "catalogue_predictor",
    "ceiling_hits",
    "classify_by_facts",
    "classify_queries",
    "credit",
    "explain_entailed",
    "explain_impossible",
    "likely_query",
    "oracle_predictor",
    "posterior",
    "posterior_by_facts",
    "ranked",
    "remaining_mixtures",
    "slot_floors",
]
