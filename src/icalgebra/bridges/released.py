"""The checkpoints that the paper's authors released, as models of this package.

A run folder holds metadata.json and models/algebra_gpt_<step>.pt, each a plain state dict. What differs there:

- RoPE turns neighbouring dimensions 2i and 2i + 1 of a head; here dimension i is paired with i + d_head / 2. The rows
  of q and k are permuted accordingly, which leaves every dot product of a query and a key as it was.
- q, k and v are one matrix, one after the other.
- The tokens are `0123456789abcdef`, '=', '^' (padding), ',', and rows that are never used, up to a multiple of 32. Here
  those of '^' and the unused ones are dropped, which takes their probability out of the softmax; `dropped_mass` is it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icalgebra.atomic_files import read_json
from icalgebra.bridges.layouts import mismatch
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.language.vocabulary import EQUALS, FACT_LENGTH
from icalgebra.model.accuracy import accuracy_estimate, evaluation_stream, strictly_best
from icalgebra.model.predict import passes
from icalgebra.model.transformer import Transformer
from icalgebra.statistics import Estimate
from icalgebra.train.config import TrainConfig

PAPERS_FACTS = 200
CHECKED = {"n": 64, "n_facts": 50}  # hold-out sequences on which an import is measured
MASK = re.compile(r"transformer\.h\.\d+\.attn\.bias")  # a buffer
FILE = re.compile(r"algebra_gpt_(\w+)\.pt")


@dataclass(frozen=True)
class Released:
    """A released checkpoint as a model of this package, and what the import measured on it.

    accuracy: hold-out accuracy at 50 facts. A model that answers at chance is a sign of another layout.
    dropped_mass: the mean probability that the original gives to dropped tokens, at the predictive tokens.
    """

    model: Transformer
    config: TrainConfig
    step: int
    accuracy: Estimate
    dropped_mass: float


def from_released(source: str | Path, step: int | None = None) -> Transformer:
    """The model of a released run folder (its best checkpoint, or the one at `step`) or .pt file."""
    return read_released(Path(source), step).model


def read_released(source: Path, step: int | None = None) -> Released:
    """The model with its config, measured; InputError gives the reason where a checkpoint has no counterpart here."""
    path = _checkpoint_file(source, step)
    metadata = read_json(path.parent.parent / "metadata.json")
    try:
        config = _config(metadata, weights := _state_dict(path))
        model = Transformer.with_weights(config.model, _our_weights(weights, config))
        dropped = _dropped_rows(weights, config.n_variables)
    except InputError as error:
        raise InputError(f"{path} cannot be imported: {error}") from error
    except (KeyError, TypeError, IndexError, RuntimeError) as error:
        raise InputError(f"{path} does not have the released layout: {mismatch(error)}") from error
    model.run_config = config.to_dict()
    named = FILE.fullmatch(path.name)
    number = int(named[1]) if named and named[1].isdigit() else 0
    return Released(model.eval(), config, number, *_measured(model, config, dropped))


def _checkpoint_file(source: Path, step: int | None) -> Path:
    if source.is_file():
        return source
    wanted = source / "models" / f"algebra_gpt_{'best' if step is None else step}.pt"
    if not wanted.is_file():
        there = sorted(m[1] for path in source.glob("models/*.pt") if (m := FILE.fullmatch(path.name)))
        raise InputError(f"{source} has no {wanted.name}" + (f"; its steps are {', '.join(there)}" if there else ""))
    return wanted


def _state_dict(path: Path) -> dict[str, Tensor]:
    """weights_only: torch then reads tensors and plain containers and runs no code of the file."""
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for damaged and foreign files
        raise InputError("it is damaged, or holds more than tensors, which is not read") from error
    if not isinstance(weights, dict) or not all(isinstance(value, Tensor) for value in weights.values()):
        raise InputError("it is not a dict of tensors")
    for name in [name for name in weights if MASK.fullmatch(name)]:
        mask = weights.pop(name)
        if not torch.equal(mask, torch.ones_like(mask).tril()):
            raise InputError(f"{name} is not a causal mask")
    weights.pop("transformer.wpe.weight", None)  # learned positions, which a model with RoPE does not read
    if not all(bool(value.isfinite().all()) for value in weights.values()):
        raise InputError("its weights are not finite")
    return weights


def _config(metadata: Mapping[str, Any], weights: Mapping[str, Tensor]) -> TrainConfig:
    stated, task = metadata["model_params"], metadata["args"]["task_config"]
    if stated.get("positional_encoding", "rope") != "rope":
        raise InputError(f"its positional_encoding is {stated['positional_encoding']!r}; only 'rope' exists here")
    if stated.get("attention_type") == "hard":
        raise InputError("its attention_type is 'hard'; only softmax attention exists here")
    if not stated.get("bias", True):
        raise InputError("it has no biases; the transformer here has them")
    order = task["max_order"]
    return TrainConfig(
        structures=(*(f"C{n}" for n in range(3, order + 1)), *(f"D{n}" for n in range(3, order // 2 + 1))),
        n_variables=task["num_symbols"],
        p_mix=float(task["mix"]),
        reserved="a" if task["holdout_zero"] else "none",
        n_layers=stated["n_layer"],
        n_heads=stated["n_head"],
        d_model=stated["n_embd"],
        d_mlp=weights["transformer.h.0.mlp.c_fc.weight"].shape[0],
        n_facts=min(PAPERS_FACTS, stated["block_size"] // FACT_LENGTH),
        optimiser="adamw",
    )


def _our_weights(theirs: Mapping[str, Tensor], config: TrainConfig) -> dict[str, Tensor]:
    table = theirs["transformer.wte.weight"]
    if not torch.equal(table, theirs.get("lm_head.weight", table)):
        raise InputError("its lm_head and its embedding differ; here they are one matrix")
    ours = {"embed.weight": table[_kept_rows(config.n_variables)]}
    used = {"transformer.wte.weight", "lm_head.weight"}

    def take(their: str, our: str, parts: tuple[str, str] = ("weight", "bias")) -> None:
        for part, ours_called in zip(("weight", "bias"), parts):
            ours[f"{our}.{ours_called}"] = theirs[f"{their}.{part}"]
            used.add(f"{their}.{part}")

    for layer in range(config.n_layers):
        block, prefix = f"transformer.h.{layer}", f"blocks.{layer}"
        take(f"{block}.ln_1", f"{prefix}.ln1", ("w", "b"))
        take(f"{block}.ln_2", f"{prefix}.ln2", ("w", "b"))
        take(f"{block}.attn.c_proj", f"{prefix}.attn.o")
        take(f"{block}.mlp.c_fc", f"{prefix}.mlp.up")
        take(f"{block}.mlp.c_proj", f"{prefix}.mlp.down")
        for part in ("weight", "bias"):
            q, k, v = theirs[f"{block}.attn.c_attn.{part}"].chunk(3)
            halves = {"q": to_halves(q, config.n_heads), "k": to_halves(k, config.n_heads), "v": v}
            ours |= {f"{prefix}.attn.{name}.{part}": value for name, value in halves.items()}
            used.add(f"{block}.attn.c_attn.{part}")
    take("transformer.ln_f", "ln_final", ("w", "b"))
    unknown = [name for name in theirs if name not in used]
    if unknown:
        raise InputError(f"it has weights without a counterpart here: {', '.join(unknown[:3])}")
    return {name: value.float() for name, value in ours.items()}


def to_halves(rows: Tensor, n_heads: int) -> Tensor:
    """Rows of q or k from neighbouring pairs (2i, 2i + 1) to half-split ones (i, i + d_head / 2), head by head."""
    pairs = rows.unflatten(0, (n_heads, -1, 2))
    return pairs.transpose(1, 2).flatten(0, 2)


def _kept_rows(n_variables: int) -> list[int]:
    """Their rows in our order: the variables and '=' are where they are, ',' comes after '^'."""
    return [*range(n_variables + 1), n_variables + 2]


def _dropped_rows(theirs: Mapping[str, Tensor], n_variables: int) -> Tensor:
    table = theirs["transformer.wte.weight"]
    kept = set(_kept_rows(n_variables))
    return table[[row for row in range(len(table)) if row not in kept]].float()


@torch.inference_mode()
def _measured(model: Transformer, config: TrainConfig, dropped: Tensor) -> tuple[Estimate, float]:
    """Hold-out accuracy over the variables, and the probability of dropped tokens at every '='."""
    n_facts = min(CHECKED["n_facts"], config.n_facts)
    sequences = sample("holdout", CHECKED["n"], n_facts, 0, config.world, stream=evaluation_stream("import"))
    right, masses = [], []
    for rows in passes(model, sequences.prompts):
        stream = _final_stream(model, torch.as_tensor(sequences.prompts[rows].astype(np.int64)))
        kept, lost = stream @ model.unembedding.T, stream @ dropped.T
        share = torch.cat([kept, lost], -1).softmax(-1)[..., kept.shape[-1] :].sum(-1)
        masses.append(share[:, EQUALS::FACT_LENGTH])
        right.append(strictly_best(kept[:, -1, : config.n_variables].numpy(), sequences.answers[rows]))
    return accuracy_estimate(np.concatenate(right)), float(torch.cat(masses).mean())


def _final_stream(model: Transformer, tokens: Tensor) -> Tensor:
    """The residual stream after the last norm."""
    found: list[Tensor] = []
    handle = model.ln_final.register_forward_hook(lambda _norm, _args, value: found.append(value))
    try:
        model(tokens)
    finally:
        handle.remove()
    return found[0]
