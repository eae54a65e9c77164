"""Inside the model: read, change and follow its activations.

hooks.py       read or change any hook point of a plain run; hooks are always removed
trace.py       the last position of a run, and how to go on from there after a change
patching.py    indirect effects: sites × metric × pairs, resumed where that is the same
lens.py        what each component adds to the logits, in three forms; the path from a head to the logits
attention.py   attention mass by the relation of a fact to the query, and by slot
directions.py  principal directions and steering along them
cases.py       sequences with what their queries are about; pairs and planted facts
heads.py       roles of heads, found by what they do
closure.py     variables that belong together, and how logits spread over a set of them
cancellation.py facts that rule answers out: attention on them, change of their answers
ablation.py    what a set of heads is worth: necessary for what, sufficient for what
subspaces.py   subspaces that carry a set from run to run, fitted by exchanging them
probes.py      one logistic probe a variable inside a subspace
adapters.py    the same model for other tools (extras)
"""
