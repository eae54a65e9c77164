"""The explorer: a local page that shows one sequence from every side. `icalgebra explore` opens it.

contract.py   the JSON that page and server exchange, as typed values; the static export holds the same
limits.py     how large a request may be
models.py     the models and runs that may be asked, and what is kept of them between requests
sequence.py   a sequence: what was predicted, its tables, the answers with proofs
inside.py     heads, MLPs, logit lens, ablations, reliance
pairs.py      two sequences: patching from one to the other
training.py   one sequence asked of the checkpoints of a run
prepared.py   the dozen prepared sequences of the static export
parts.py      from a request to its answer, for server and export alike
app.py        the server; access.py: who may call it
export.py     the page and its data in one file
static/       the page: plain ES modules and CSS, no build step
"""
