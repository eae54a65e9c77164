"""Inside the model: read, change and trace its activations.

    >>> from icalgebra import interp, load_model, sample
    >>> model, copied = load_model("small"), sample("copy", n=8, n_facts=20)
    >>> interp.attention(model, copied, "2.1")              # [8, T]: from the query's '=' to every token
    >>> with interp.hooked(model, interp.ablate("2.1")):    # the model without this head
    ...     logits = model(copied.prompts)

A head is "2.1" or (2, 1) in every function, layer and head from 0. Sequences, text, token rows and cached runs can be
given wherever a function takes a run. Public names are imported on first use.

    read        cached · attention · by_fact · direct_logits · logit_lens
    change      hooked, with replace, add, project or ablate · mean_outputs · patch · indirect_effects · steer
    find        head_roles · subspace · reliance · explain

head_names.py        "2.1" or (2, 1)
hooks.py             read or change any hook point of a forward pass; hooks are always removed
last_token_cache.py  the last position of a run, and how to resume the run from there after a change
patching.py          indirect effects of sites on a metric; resumed runs where that is exact
lens.py              logit lens; each component's direct logits, in three forms; path patching from a head to the logits
attention_mass.py    attention to tokens; attention mass by a fact's relation to the query, and by slot
directions.py        principal directions and steering along them
query_batch.py       sequences with the properties of their queries; pairs; planted facts
heads.py             roles of heads, found by their effects
cancellation.py      facts that rule out answers: attention on them, change of their answers' logits
ablation.py          ablating and patching sets of heads: what they are necessary and sufficient for
minimal_pairs.py     pairs of sequences that differ in one fact; natural_pairs.py: of whole hold-out contexts
components.py        every head and MLP at every token of the query, alone and in sets
paths.py             path patching: which component feeds which
knockout.py          attention knock-out by slot
query_cache.py       the query's four tokens of a run, and how to resume the run from there
subspaces.py         subspaces that carry a set, fitted by interchange interventions
fitted_subspace.py   one of them in one call
explanation.py       why a model answers a query so; explanation_html.py: as a page
probes.py            one logistic probe per variable inside a subspace
fact_reliance.py     how far an answer's logit falls without each fact
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "ablate": "hooks",
    "add": "hooks",
    "attention": "attention_mass",
    "by_fact": "attention_mass",
    "cached": "hooks",
    "direct_logits": "lens",
    "explain": "explanation",
    "head_roles": "heads",
    "hooked": "hooks",
    "indirect_effects": "patching",
    "logit_lens": "lens",
    "mean_outputs": "ablation",
    "patch": "patching",
    "project": "hooks",
    "reliance": "fact_reliance",
    "replace": "hooks",
    "steer": "directions",
    "subspace": "fitted_subspace",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'icalgebra.interp' has no attribute {name!r}")
    return getattr(import_module(f"icalgebra.interp.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
