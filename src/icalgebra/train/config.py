"""TrainConfig: everything that determines a run, as one frozen value. An unknown key is an error."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, get_type_hints

import numpy as np

from icalgebra.algebra.structures import Structure
from icalgebra.atomic_files import read_json
from icalgebra.errors import InputError, shortened, unknown
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.language.world import RENAMED as RENAMED_IN_WORLD
from icalgebra.language.world import WORLD_FIELDS, MixtureRule, World, current_names, option
from icalgebra.model.transformer import ModelConfig
from icalgebra.randomness import row_uniforms, stream_key
from icalgebra.records import argument

# Former name -> field: run folders, checkpoints and sweeps of earlier versions still have the former names.
RENAMED = {**RENAMED_IN_WORLD, "ladder": "log_checkpoints", "keep": "keep_checkpoints"}
# The smallest value of a field -> the fields.
MINIMUM = {
    1: "batch_size micro_batches steps log_every keep_checkpoints",
    2: "n_facts eval_n",
    0: "eval_every eval_points checkpoint_every log_checkpoints warmup short_steps schedule_steps "
    "clip lr muon_lr weight_decay answer_weight once_share",
}
LENGTHS_STREAM = "train/lengths"  # row t decides the length of step t


def world_option(name: str) -> Any:
    """A field of the world, with its default and help there."""
    return option(WORLD_FIELDS[name].default, WORLD_FIELDS[name].metadata["help"])


@dataclass(frozen=True)
class TrainConfig:
    """World, model, data, optimisation and measurement of one run; fields are the options of `icalgebra train`."""

    # the world
    structures: tuple[str, ...] = world_option("structures")  # a Structure is kept as its name with the table
    n_variables: int = world_option("n_variables")
    p_mix: float = world_option("p_mix")
    d2: bool = world_option("d2")
    reserved: str = world_option("reserved")
    mixture_rule: MixtureRule = world_option("mixture_rule")  # noqa: RUF009 (the name stands for a Literal)
    # the model
    n_layers: int = option(4, "number of layers")
    n_loops: int = option(1, "passes over the same weights: n_layers / n_loops blocks have weights of their own")
    n_heads: int = option(8, "heads per layer")
    d_model: int = option(1024, "width of the residual stream")
    d_mlp: int = option(0, "width of the MLPs' hidden layer; 0: four times d_model")
    rope_base: float = option(1e4, "RoPE base frequency")
    # the data
    n_facts: int = option(200, "facts per sequence, the query included")
    short_facts: int = option(0, "facts per sequence in the first short_steps steps, which makes them cheaper")
    short_steps: int = option(0, "number of first steps on short sequences")
    lengths: tuple[tuple[int, float], ...] = option(
        (),
        "mixed lengths: facts and probability of each, for instance 50 .7 200 .3; a step has one of them, and "
        "batch_size * n_facts / facts sequences, so that all steps have the same number of tokens",
    )
    once_share: float = option(0.0, "probability that a row shows every fact once before any again")
    batch_size: int = option(128, "sequences per step (of n_facts facts), over all ranks and micro-batches")
    micro_batches: int = option(1, "gradient accumulation: micro-batches per step on each rank")
    seed: int = option(0, "seed of the data and the initial weights")
    # optimisation
    optimiser: Literal["adamw", "muon"] = option("muon", "muon: Muon for the blocks' matrices, AdamW for the rest")
    lr: float = option(1e-3, "AdamW's peak learning rate")
    muon_lr: float = option(0.02, "Muon's peak learning rate")
    weight_decay: float = option(0.01, "weight decay of every parameter")
    answer_weight: float = option(1.0, "loss weight of answers; all other tokens have weight 1")
    clip: float = option(1.0, "gradient clipping: the largest norm; 0: no clipping")
    steps: int = option(4000, "length of the run")
    schedule_steps: int = option(0, "length of the learning-rate schedule, if longer than the run; 0: as the run")
    schedule: Literal["constant", "linear", "cosine"] = option(
        "linear", "learning rate after the warm-up: constant, or down to zero"
    )
    warmup: int = option(200, "steps of linear warm-up")
    warmup_from: float = option(0.01, "learning rate at the start of the warm-up, as a fraction of the peak")
    # speed, on CUDA only (a CPU trains in eager fp32)
    precision: Literal["fp32", "bf16"] = option("bf16", "bf16: autocast")
    residual: Literal["fp32", "bf16"] = option("fp32", "precision of the residual stream under autocast")
    float8: bool = option(False, "two of the MLPs' three matrix products in 8 bits (Hopper GPUs and later)")
    matmul: Literal["highest", "high", "medium"] = option("high", "precision of fp32 matrix products (high: TF32)")
    compile: Literal["none", "default", "reduce-overhead", "max-autotune"] = option("default", "torch.compile's mode")
    cuda_graphs: bool = option(True, "capture a step as a CUDA graph and replay it (one GPU)")
    # measurement
    log_every: int = option(20, "steps between two logged losses")
    eval_every: int = option(100, "steps between two evaluations; 0: only the last step")
    eval_points: int = option(0, "additional evaluations, log-spaced over the run")
    eval_n: int = option(512, "sequences per evaluation")
    eval_facts: tuple[int, ...] = option((10, 25, 50, 100), "additional numbers of facts for hold-out accuracy")
    checkpoint_every: int = option(500, "steps between two checkpoints; 0: only the last step")
    keep_checkpoints: int = option(2, "how many of the newest checkpoints are kept, besides the best")
    log_checkpoints: int = option(0, "how many log-spaced checkpoints are written and kept")
    tracker: Literal["none", "wandb", "trackio", "tensorboard"] = option(
        "none", "where metrics go besides metrics.jsonl"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "structures", _written_out(self.structures))
        for name, kind in _field_types().items():
            object.__setattr__(self, name, argument(kind, getattr(self, name), name))
        for least, names in MINIMUM.items():
            for name in names.split():
                if getattr(self, name) < least:
                    raise InputError(f"{name} is too small: {getattr(self, name)}; it must be at least {least}")
        if self.short_steps and not 1 <= self.short_facts <= self.n_facts:
            raise InputError(f"short_facts must be between 1 and n_facts ({self.n_facts}), not {self.short_facts}")
        if 0 < self.schedule_steps < self.steps:
            raise InputError(
                f"schedule_steps must be 0 or at least steps ({self.steps}), not {self.schedule_steps}: "
                "the run would go on after its learning rate has ended"
            )
        self._check_lengths()
        for rows in {self.batch_size, *(self.rows_of(facts) for facts, _ in self.lengths)}:
            if rows % self.micro_batches:
                raise InputError(f"a batch of {rows} sequences cannot be split into {self.micro_batches} micro-batches")
        if not -(2**63) <= self.seed < 2**64:
            raise InputError(f"seed must fit into 64 bits: {self.seed}")
        self.model, self.world  # noqa: B018 (building them checks their fields)

    def _check_lengths(self) -> None:
        if self.once_share > 1:
            raise InputError(f"once_share is a probability, between 0 and 1, and not {self.once_share}")
        if self.lengths and self.short_steps:
            raise InputError("give lengths or short_steps, not both: each says how long the sequences of a step are")
        for facts, probability in self.lengths:
            if not 1 <= facts <= self.batch_size * self.n_facts or not 0 < probability <= 1:
                raise InputError(
                    f"lengths are pairs of facts (1 to {self.batch_size * self.n_facts}, one step's) and probability "
                    f"(above 0, up to 1), not {facts} and {probability}"
                )
        total = sum(probability for _, probability in self.lengths)
        if self.lengths and abs(total - 1) > 1e-6:
            raise InputError(f"the probabilities of lengths must add up to 1, not to {total:g}")
        if len(dict(self.lengths)) < len(self.lengths):
            raise InputError("each number of facts may occur only once in lengths")

    @cached_property
    def model(self) -> ModelConfig:
        shape = (self.n_layers, self.n_heads, self.d_model, self.d_mlp, self.n_variables, self.rope_base)
        return ModelConfig(*shape, n_loops=self.n_loops)

    @cached_property
    def world(self) -> World:
        return World(**{name: getattr(self, name) for name in WORLD_FIELDS})

    @cached_property
    def log_checkpoint_steps(self) -> frozenset[int]:
        """The steps whose checkpoints are never removed."""
        return frozenset(log_spaced(self.steps, self.log_checkpoints))

    @cached_property
    def evaluation_steps(self) -> frozenset[int]:
        """The log-spaced evaluations; those of eval_every come in addition."""
        return frozenset(log_spaced(self.steps, self.eval_points))

    @cached_property
    def _mixed_lengths(self) -> np.ndarray:
        """Facts per sequence at each step. Each is a pure function of the seed and its step, whatever `steps` is."""
        facts, probabilities = zip(*self.lengths)
        drawn = row_uniforms(stream_key(self.seed, LENGTHS_STREAM), 0, self.steps)
        # The last bound is left out: rounding may leave the sum just below 1.
        return np.array(facts)[np.searchsorted(np.cumsum(probabilities)[:-1], drawn, side="right")]

    def facts_at(self, step: int) -> int:
        """Facts per sequence at a step; steps count from 0."""
        if self.lengths:
            return int(self._mixed_lengths[step])
        return self.short_facts if step < self.short_steps else self.n_facts

    def rows_of(self, facts: int) -> int:
        """Sequences per step at a number of facts: with mixed lengths as many as make the same number of tokens."""
        return self.batch_size * self.n_facts // facts if self.lengths else self.batch_size

    def work_before(self, step: int) -> list[tuple[int, int, int]]:
        """What the steps before this one did: steps, sequences per step and facts per sequence, for each length."""
        if self.lengths:
            steps = Counter(self._mixed_lengths[:step].tolist())
            return [(steps[facts], self.rows_of(facts), facts) for facts, _ in self.lengths]
        short = min(step, self.short_steps)
        return [(short, self.batch_size, self.short_facts), (step - short, self.batch_size, self.n_facts)]

    def tokens_before(self, step: int) -> int:
        """Tokens trained on before this step."""
        return sum(steps * rows * facts * FACT_LENGTH for steps, rows, facts in self.work_before(step))

    def with_changes(self, /, **changes: Any) -> TrainConfig:
        return TrainConfig.from_dict({**self.to_dict(), **current_names(changes, RENAMED)})

    def to_dict(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in asdict(self).items()}

    @staticmethod
    def from_dict(values: Any) -> TrainConfig:
        """From plain values that this version or an earlier one saved; missing fields take their defaults."""
        if not isinstance(values, dict):
            raise InputError(f"a config must be an object of fields, not {shortened(values)}")
        known, values = [item.name for item in fields(TrainConfig)], current_names(values, RENAMED)
        for name in values:
            if name not in known:
                raise unknown("config field", name, known)
        return replace(TrainConfig(), **values)

    def matches(self, values: Any) -> bool:
        """Whether plain values describe this config; fields added since they were saved take their defaults."""
        try:
            return TrainConfig.from_dict(values) == self
        except InputError:
            return False

    @staticmethod
    def load(path: Path) -> TrainConfig:
        """From a JSON file of fields; missing fields take their defaults."""
        plain = read_json(path)
        try:
            return TrainConfig.from_dict(plain)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


def _plain(value: Any) -> Any:
    """As JSON reads it back: lists instead of tuples."""
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _written_out(structures: Any) -> Any:
    """Names stay; a Structure becomes the name that contains its table, which config.json can hold."""
    items = (structures,) if isinstance(structures, str | Structure) else structures
    if not isinstance(items, list | tuple):
        return items
    return tuple(item.written_out if isinstance(item, Structure) else item for item in items)


def log_spaced(last: int, n: int) -> list[int]:
    """n distinct steps from 1 to last, as evenly spaced on a log axis as integers allow."""
    found = [1] if n else []
    while 0 < len(found) < min(n, last):
        ratio = (last / found[-1]) ** (1 / (n - len(found)))
        found.append(max(found[-1] + 1, round(found[-1] * ratio)))
    return found


@lru_cache(maxsize=1)
def _field_types() -> dict[str, Any]:
    hints = get_type_hints(TrainConfig)
    return {item.name: hints[item.name] for item in fields(TrainConfig)}
