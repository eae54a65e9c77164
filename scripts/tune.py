"""Train variants of presets and record speed and accuracy: python scripts/tune.py OUT.json [NAME …].

Each variant is a line of the table below. Results are saved after each, so an interrupted call keeps the finished ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from icalgebra.atomic_files import write_json
from icalgebra.train import preset
from icalgebra.train.loop import train
from icalgebra.train.speedrun import flops_before, fresh_accuracy, matrix_rate, quality_of, warm_up

QUIET = {"eval_every": 0, "eval_n": 64, "eval_facts": (), "log_every": 10}
WATCH = {"eval_every": 400, "eval_n": 256, "eval_facts": (50,), "log_every": 50}
AS_SPRINT = {"rope_base": 1e6, "answer_weight": 8.0, "batch_size": 64}
MIXED = {"lengths": ((50, 0.5), (200, 0.5))}  # as many tokens per step: more sequences of 50 facts, so more worlds
# name -> preset, changes
VARIANTS = {
    "fast_time": ("fast", {**QUIET, "steps": 40}),
    "fast_time_fp32": ("fast", {**QUIET, "steps": 40, "residual": "fp32", "float8": False}),
    "small_time": ("small", {**QUIET, "steps": 200}),
    "small_2000": ("small", {**WATCH, "steps": 2000}),
    "small_short60": ("small", {**WATCH, "steps": 2000, "short_facts": 60, "short_steps": 500}),
    "sprint_time": ("sprint", {**QUIET, "steps": 200}),
    "sprint_time_float8": ("sprint", {**QUIET, "steps": 200, "float8": True}),
    # Fewer, wider heads: the backward kernel works on 64 dimensions where a head of `sprint` has 32.
    "sprint_heads4_time": ("sprint", {**QUIET, "steps": 200, "n_heads": 4}),
    "sprint_heads4_3000": ("sprint", {**WATCH, "steps": 3000, "n_heads": 4}),
    "sprint_heads4_2600": ("sprint", {**WATCH, "steps": 2600, "n_heads": 4}),
    "sprint_heads4_2600_muon03": ("sprint", {**WATCH, "steps": 2600, "n_heads": 4, "muon_lr": 0.03}),
    "sprint_heads4_2600_mixed": ("sprint", {**WATCH, **MIXED, "steps": 2600, "n_heads": 4}),
    "sprint_heads4_3200_short": (
        "sprint",
        {**WATCH, "steps": 3200, "n_heads": 4, "short_facts": 60, "short_steps": 1000},
    ),
    "sprint_3000": ("sprint", {**WATCH, "steps": 3000}),
    # What made `sprint` fast, for `fast`.
    "fast_b64_time": ("fast", {**QUIET, "steps": 60, "batch_size": 64}),
    "fast_b64_1300": ("fast", {**WATCH, **AS_SPRINT, "steps": 1300}),
    "fast_b64_1300_muon015": ("fast", {**WATCH, **AS_SPRINT, "steps": 1300, "muon_lr": 0.015}),
    "fast_b64_1300_mixed": ("fast", {**WATCH, **AS_SPRINT, **MIXED, "steps": 1300}),
    "fast_b64_1500_short": ("fast", {**WATCH, **AS_SPRINT, "steps": 1500, "short_facts": 60, "short_steps": 500}),
    "fast_b64_1100": ("fast", {**WATCH, **AS_SPRINT, "steps": 1100}),
    # The optimiser's control: the rate is chosen on hold-out accuracy alone, on a seed that is not used afterwards.
    **{f"adamw256_{lr}": ("adamw256", {**WATCH, "lr": lr, "seed": 100}) for lr in (5e-4, 1e-3, 2e-3, 4e-3)},
    "sprint_base1e4": ("sprint", {**WATCH, "rope_base": 1e4}),
    "sprint_base1e5": ("sprint", {**WATCH, "rope_base": 1e5}),
    "sprint_plain_loss": ("sprint", {**WATCH, "answer_weight": 1.0}),
    "small_base1e6": ("small", {**WATCH, "rope_base": 1e6}),
    "fast_base1e6": ("fast", {**WATCH, "rope_base": 1e6}),
    "small_b256": ("small", {**WATCH, "steps": 1500, "batch_size": 256}),
}


def run(name: str) -> dict:
    base, changes = VARIANTS[name]
    config = preset(base).with_changes(**changes)
    warm = warm_up(config, None)
    curve: list[dict] = []
    result = train(config, callback=lambda record, model: curve.append(record))
    evaluations = [r for r in curve if r["kind"] == "evaluation"]
    flops = flops_before(config, result.step)
    return {
        "warm_up": warm.seconds,
        "to_first_step": warm.to_first_step,
        "ms_a_step": 1000 * result.training_seconds / result.step,
        "tflops": flops / result.training_seconds / 1e12,
        "curve": [
            {
                k: r.get(k)
                for k in ("step", "holdout", "holdout/50", "copy", "commute", "identity", "cancel", "associate")
            }
            | {"s": r["clock"]["training_seconds"]}
            for r in evaluations
        ],
        "loss": [r["loss"] for r in curve if r["kind"] == "train"][-1],
        "holdout_on_5000": fresh_accuracy(result.model, config, 5000).to_dict(),
        **{name: found.to_dict() for name, found in quality_of(result.model, config, 500).items()},
    }


def main() -> None:
    out = Path(sys.argv[1])
    results = {"matrix_tflops": matrix_rate(torch.device("cuda")) / 1e12 if torch.cuda.is_available() else 0}
    for name in sys.argv[2:] or VARIANTS:
        try:
            results[name] = run(name)
        except Exception as error:  # a variant that fails is a finding; the others still run
            results[name] = {"error": f"{type(error).__name__}: {error}"[:500]}
        brief = {k: v for k, v in results[name].items() if k != "curve"}
        print(
            name,
            brief,
            [(p["step"], p["holdout"], round(p["s"], 1)) for p in results[name].get("curve", [])],
            flush=True,
        )
        write_json(out, results)


if __name__ == "__main__":
    main()
