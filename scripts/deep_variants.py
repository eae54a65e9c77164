"""The variants of the search for a model near the ceiling, each with its reason, and the plan of a search.

All have the same number of tokens per step and the same recipe but for what their reason names. The most informative
come first, since a search may be too short for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from icalgebra.model.flops import flops_a_sequence
from icalgebra.train import TrainConfig

# What was best before: RoPE base 1e6, weight 8 on answers, Muon .02, AdamW 1e-3, linear decay, bf16 residual stream,
# 12 layers of 384. New are the mixed lengths. 64 000 tokens per step.
BASE: dict[str, Any] = {
    "n_layers": 12, "n_heads": 6, "d_model": 384, "rope_base": 1e6, "n_facts": 200, "batch_size": 64,
    "lengths": ((50, 0.7), (200, 0.3)), "answer_weight": 8.0, "residual": "bf16",
    "optimiser": "muon", "muon_lr": 0.02, "lr": 1e-3, "schedule": "linear", "warmup": 200,
}  # fmt: skip
QUIET = {"eval_every": 0, "eval_n": 2, "eval_facts": (), "checkpoint_every": 0, "log_every": 10}


@dataclass(frozen=True)
class Variant:
    name: str
    why: str
    changes: dict[str, Any]

    @property
    def config(self) -> TrainConfig:
        return TrainConfig().with_changes(**{**BASE, **QUIET, **self.changes})


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("mixed", "The best known recipe with lengths mixed: does it keep 50 to 200 facts?", {}),
        Variant(
            "loop4x3", "Four blocks run three times: is depth what matters, or weights? It can be shipped.",
            {"n_loops": 3},
        ),
        Variant(
            "short", "Most of the distance to the ceiling is below 30 facts: train there more.",
            {"lengths": ((25, 0.4), (60, 0.3), (200, 0.3))},
        ),
        Variant("once", "Half of the rows show each fact once: better association and few facts?", {"once_share": 0.5}),
        Variant(
            "short_once", "Shorter lengths and facts shown once, together: do they add up?",
            {"lengths": ((25, 0.4), (60, 0.3), (200, 0.3)), "once_share": 0.5},
        ),
        Variant("half_batch", "Half the tokens per step, so almost twice the steps.", {"batch_size": 32}),
        Variant(
            "deep16", "Sixteen layers of 320: does still more depth help?",
            {"n_layers": 16, "d_model": 320, "n_heads": 5},
        ),
        Variant(
            "loop6x3", "Six narrower blocks run three times: 18 layers in weights that can be shipped.",
            {"n_layers": 18, "n_loops": 3, "d_model": 320, "n_heads": 5},
        ),
        Variant(
            "wide8", "Eight layers of 512: is width worth as much as depth?",
            {"n_layers": 8, "d_model": 512, "n_heads": 8},
        ),
        Variant("muon_low", "A lower rate for Muon: .02 was tuned on four layers.", {"muon_lr": 0.012}),
        Variant(
            "narrow10", "Ten layers of 256 without loops: the deepest that can be shipped so.",
            {"n_layers": 10, "d_model": 256, "n_heads": 4},
        ),
        Variant("layers8", "Eight layers of the same width: depth alone.", {"n_layers": 8}),
        Variant("once_most", "Nine in ten rows show each fact once: where does it begin to cost?", {"once_share": 0.9}),
        Variant("long_only", "Control: 200 facts only, as all presets.", {"lengths": ()}),
        Variant("layers4", "Four layers of the same width: the depth of all presets.", {"n_layers": 4}),
    )
}  # fmt: skip

# Equal training for the question how deep a model reasons: the same rows, the same tokens, another depth. 60 facts are
# the longest contexts of the experiment `reasoning`.
DEPTHS = {
    f"depth{layers}": Variant(
        f"depth{layers}", f"{layers} layers at equal tokens.",
        {"n_layers": layers, "n_facts": 60, "batch_size": 213, "lengths": ()},
    )
    for layers in (4, 8, 12)
}  # fmt: skip

CHIP, ASSUMED = 790e12, 0.45  # bf16 FLOP/s that an H200 was measured at, and the share of it that the plan assumes
MEASURED = {256: 0.23, 320: 0.28, 384: 0.32, 512: 0.34}  # the share by width that earlier runs had
BYTES_PER_LAYER = 32  # of activations per token and unit of width: 16 values in 16 bits
BYTES_PER_WEIGHT = 16  # weight, gradient and the optimiser's state in 32 bits


def parameters(config: TrainConfig) -> int:
    """Without making the model: matrices, biases and norms of a block, the embedding and the last norm."""
    model = config.model
    d, wide = model.d_model, model.d_mlp
    block = 4 * (d * d + d) + 2 * d * wide + wide + d + 4 * d
    return model.n_layers // model.n_loops * block + model.d_vocab * d + 2 * d


def flops_per_step(config: TrainConfig) -> float:
    """The mean over its lengths."""
    lengths = config.lengths or ((config.n_facts, 1.0),)
    return sum(p * config.rows_of(facts) * flops_a_sequence(config.model, facts) for facts, p in lengths)


def memory(config: TrainConfig) -> float:
    """An upper estimate in bytes: every length keeps its own CUDA graph with its own activations."""
    tokens = config.batch_size * config.n_facts * 5
    activations = tokens * config.n_layers * config.d_model * BYTES_PER_LAYER
    return activations * max(1, len(config.lengths)) + BYTES_PER_WEIGHT * parameters(config)


def plan(seconds: float) -> str:
    """One line per variant: parameters, FLOP per step, milliseconds, steps in the given time, memory."""
    lines = [
        "| variant | million parameters | TFLOP per step | ms at 45 % | steps | ms as measured | steps | GB | why |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for variant in VARIANTS.values():
        config = variant.config
        flops = flops_per_step(config)
        assumed, measured = flops / (CHIP * ASSUMED), flops / (CHIP * MEASURED[config.d_model])
        lines.append(
            f"| {variant.name} | {parameters(config) / 1e6:.1f} | {flops / 1e12:.1f} | {1000 * assumed:.0f} | "
            f"{seconds / assumed:.0f} | {1000 * measured:.0f} | {seconds / measured:.0f} | "
            f"{memory(config) / 1e9:.0f} | {variant.why} |"
        )
    return "\n".join(lines)
