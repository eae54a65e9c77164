"""Sequences from named distributions; row i of a stream is a pure function of (seed, stream, i).

packed_facts.py     facts as integers, and drawing a context from them
required_facts.py   the facts that a mechanism requires
sampler.py          the compiled sampler
distributions.py    named distributions; `sample()`
pair_kernels.py     two sequences about one group, compiled
counterfactuals.py  pairs whose closure and cancellation sets can be exchanged
dataset.py          a torch dataset over any distribution
"""
