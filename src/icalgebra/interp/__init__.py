"""Inside the model: read, change and follow its activations.

hooks.py             read or change any hook point of a plain run; hooks are always removed
last_token_cache.py  the last position of a run, and how to resume the run from there after a change
patching.py          indirect effects: sites × metric × pairs, on resumed runs where that gives the same
lens.py              what each component adds to the logits, in three forms; the path from a head to the logits
attention.py         attention mass by the relation of a fact to the query, and by slot
directions.py        principal directions and steering along them
query_batch.py       sequences with what their queries are about; pairs and planted facts
heads.py             roles of heads, found by what they do
cancellation.py      facts that rule answers out: attention on them, change of their answers
ablation.py          ablating and transplanting sets of heads: what they are necessary and sufficient for
subspaces.py         subspaces that carry a set from run to run, fitted by exchanging them
probes.py            one logistic probe per variable inside a subspace
adapters.py          the same model for other tools (extras)
"""
