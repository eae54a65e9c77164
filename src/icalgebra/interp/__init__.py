"""Inside the model: read, change and trace its activations.

hooks.py             read or change any hook point of a forward pass; hooks are always removed
last_token_cache.py  the last position of a run, and how to resume the run from there after a change
patching.py          indirect effects of sites on a metric; resumed runs where that is exact
lens.py              each component's direct logits, in three forms; path patching from a head to the logits
attention.py         attention mass by a fact's relation to the query, and by slot
directions.py        principal directions and steering along them
query_batch.py       sequences with the properties of their queries; pairs; planted facts
heads.py             roles of heads, found by their effects
cancellation.py      facts that rule out answers: attention on them, change of their answers' logits
ablation.py          ablating and patching sets of heads: what they are necessary and sufficient for
subspaces.py         subspaces that carry a set, fitted by interchange interventions
probes.py            one logistic probe per variable inside a subspace
adapters.py          the model in other tools (extras)
"""
