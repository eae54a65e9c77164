"""The models that the explorer may ask: those named on the command line, and nothing that a request names.

Hooks are placed on a model while it runs, so two requests never run one model at once: `Library.use` is a lock. Long
work gives the lock back between its steps, so that a short request does not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError, unknown
from icalgebra.explorer.contract import ModelInfo
from icalgebra.explorer.limits import MAX_CHECKPOINTS, MAX_FACTS
from icalgebra.interp.explanation import REFERENCES
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.language.parsing import read_prompt
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.language.world import World
from icalgebra.model.checkpoints import by_step, find_checkpoint, is_shipped, read_checkpoint
from icalgebra.model.inputs import trained_world
from icalgebra.model.predict import passes
from icalgebra.model.transformer import Transformer
from icalgebra.train.metrics import read_metrics

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Known:
    """A model with its name and world; n_facts: of its training sequences."""

    name: str
    model: Transformer
    world: World
    n_facts: int

    def prompt(self, text: str) -> np.ndarray:
        """A text that ends in '=' as tokens [1, 5k−1]; InputError says what is wrong with it."""
        prompts = read_prompt(text, 1, self.world.vocabulary)
        n_facts = (prompts.shape[1] + 1) // FACT_LENGTH
        if n_facts > MAX_FACTS:
            raise InputError(f"the explorer takes at most {MAX_FACTS} facts, the query included, not {n_facts}")
        return prompts

    @property
    def info(self) -> ModelInfo:
        config = self.model.config
        names = tuple(structure.name for structure in self.world.pool)
        return ModelInfo(
            self.name, self.world.vocabulary.variables, config.n_layers, config.n_heads, self.n_facts, names
        )


@dataclass(frozen=True)
class MeanOutputs:
    """What replaces an ablated part: its mean at '=' over other sequences of the same world and length."""

    z: Float[Tensor, "n_layers n_heads d_head"]
    mlp_out: Float[Tensor, "n_layers d_model"]


@dataclass(frozen=True)
class Run:
    """A run folder: log-spaced checkpoints by step, and the evaluations of its metrics.jsonl."""

    checkpoints: dict[int, Path]
    evaluations: list[dict[str, Any]]


class Library:
    """The models by name: one given or shipped, and the newest checkpoint of every run."""

    def __init__(self, model: str = "small", runs: Sequence[str] = ()) -> None:
        sources = {_name(source): source for source in (model, *runs)}
        if len(sources) < len({model, *runs}):
            raise InputError("two of the given models or runs have the same name; rename one of the folders")
        self.models = {name: _known(name, source) for name, source in sources.items()}
        self.runs = {_name(run): Run(_log_spaced(Path(run)), _evaluations(Path(run))) for run in runs}
        self._lock = Lock()
        self._means = lru_cache(maxsize=64)(self._measure_means)

    def known(self, name: str) -> Known:
        if name not in self.models:
            raise unknown("model", name, self.models)
        return self.models[name]

    @contextmanager
    def use(self) -> Iterator[None]:
        """While inside, no other request runs a model."""
        with self._lock:
            yield

    def mean_outputs(self, name: str, n_facts: int) -> MeanOutputs:
        return self._means(name, n_facts)

    def _measure_means(self, name: str, n_facts: int) -> MeanOutputs:
        """Over the sequences that `explain` uses."""
        known = self.known(name)
        usual = sample("train", REFERENCES, n_facts, 0, known.world, stream="explain")
        runs = []
        for rows in passes(known.model, usual.prompts):
            with self.use():
                runs.append(cache_last_token_batched(known.model, usual.prompts[rows]))
        return MeanOutputs(torch.cat([run.z for run in runs]).mean(0), torch.cat([run.mlp_out for run in runs]).mean(0))

    def run(self, name: str) -> Run:
        if name not in self.runs:
            known = ", ".join(self.runs) or "none; start the explorer with --run FOLDER"
            raise InputError(f"unknown run {name!r}; known: {known}")
        return self.runs[name]


def _name(source: str) -> str:
    return source if is_shipped(source) else Path(source).resolve().name


def _known(name: str, source: str) -> Known:
    found = find_checkpoint(source)
    model = found.model()
    return Known(name, model, trained_world(model), int(found.config.get("n_facts", 200)))


def _log_spaced(run: Path) -> dict[int, Path]:
    """At most MAX_CHECKPOINTS of a run's checkpoints, log-spaced by step, the first and the last among them."""
    found = by_step(run / "checkpoints")
    if not found:
        raise InputError(f"{run} holds no checkpoints; train with --log-checkpoints 12 to have some along the way")
    steps = np.array(list(found))
    wanted = np.geomspace(max(1, steps[0]), max(1, steps[-1]), MAX_CHECKPOINTS)
    chosen = {int(steps[np.abs(np.log(np.maximum(steps, 1)) - np.log(step)).argmin()]) for step in wanted}
    return {step: found[step] for step in sorted(chosen)}


def _evaluations(run: Path) -> list[dict[str, Any]]:
    """None for an imported run, which has no metrics."""
    path = run / "metrics.jsonl"
    return [record for record in read_metrics(path) if record["kind"] == "evaluation"] if path.is_file() else []


@lru_cache(maxsize=MAX_CHECKPOINTS)
def checkpoint_model(folder: Path) -> Transformer:
    return read_checkpoint(folder, to_train=False).model()
