"""icalgebra: a laboratory for in-context algebra.

    >>> import icalgebra
    >>> sequences = icalgebra.sample("holdout", n=4, n_facts=50, seed=0)
    >>> sequences.texts()[0]

Names are imported on first use, so that `import icalgebra` is fast and does not load torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "DISTRIBUTIONS": "data.distributions",
    "InputError": "errors",
    "SequenceDataset": "data.dataset",
    "Sequence": "language.sequences",
    "Sequences": "language.sequences",
    "Structure": "algebra.structures",
    "Vocabulary": "language.vocabulary",
    "World": "language.world",
    "accuracy": "model.accuracy",
    "all_groups": "algebra.structures",
    "as_predictor": "model.predict",
    "attention_figure": "plotting.attention",
    "batches": "data.distributions",
    "classify_queries": "oracle",
    "counterfactual_pairs": "data.counterfactuals",
    "explain": "interp.explanation",
    "from_huggingface": "bridges.huggingface",
    "from_released": "bridges.released",
    "import_model": "bridges.importing",
    "indirect_effects": "interp.patching",
    "load_model": "model.checkpoints",
    "load_structure": "algebra.table_files",
    "oracle_predictor": "oracle",
    "posterior": "oracle",
    "prove": "solvers.ladder",
    "sample": "data.distributions",
    "slot_floors": "oracle",
    "solver": "solvers",
    "structure": "algebra.structures",
    "to_huggingface": "bridges.huggingface",
    "to_nnsight": "bridges.nnsight",
    "to_transformer_lens": "bridges.transformer_lens",
}
_MODULES = ("interp",)  # also public: icalgebra.interp.attention(…)
__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    name = {"judge": "classify_queries"}.get(name, name)  # its name up to 0.1, for one release
    if name in _MODULES:
        return import_module(f"icalgebra.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'icalgebra' has no attribute {name!r}")
    return getattr(import_module(f"icalgebra.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
