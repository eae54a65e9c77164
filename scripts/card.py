# ruff: noqa: E501 (the card is prose; its lines are as long as they are after the numbers are filled in)
"""Write the model card of a shipped model from its own files: python scripts/card.py FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from icalgebra.atomic_files import write_text
from icalgebra.model.checkpoints import load_model


def main() -> None:
    folder = Path(sys.argv[1])
    config = json.loads((folder / "config.json").read_text())
    measured = json.loads((folder / "evaluation.json").read_text())
    n_parameters = sum(parameter.numel() for parameter in load_model(folder).parameters())
    rows = []
    for name in dict.fromkeys(key.split("/")[0] for key in measured["accuracy"]):
        cells = [measured["accuracy"].get(f"{name}/{k}") for k in (50, 200)]
        shown = [f"{100 * c['value']:.2f} [{100 * c['low']:.2f}, {100 * c['high']:.2f}]" if c else "" for c in cells]
        rows.append(f"| {name} | {shown[0]} | {shown[1]} |")
    table = "\n".join(rows)
    card = f"""# {folder.name}

A decoder-only transformer for in-context algebra: {config["n_layers"]} layers, {config["n_heads"]} heads, d_model
{config["d_model"]}, {n_parameters:,} parameters, shipped in 16 bits. `icalgebra.load_model("{folder.name}")`.

**Data.** Training sequences of {config["n_facts"]} facts from {", ".join(config["structures"])} with {config["n_variables"]}
variables, p_mix {config["p_mix"]}; the variable `{config["reserved"]}` is never an identity. {measured["steps"]} steps of
{config["batch_size"]} sequences, each seen once.

**Recipe.** The preset `{folder.name}`: Muon ({config["muon_lr"]}) on the blocks' matrices, AdamW ({config["lr"]}) on the rest,
{config["schedule"]} decay, warm-up {config["warmup"]}, bf16 autocast, seed {config["seed"]}. {measured["training_seconds"]} s of
training on one {measured["device"]}. Made by `python scripts/ship.py {folder.name} OUT`.

**Accuracy** (%, 95 % interval, {measured["n"]} fresh sequences each, measured on the rounded weights in fp32):

| distribution | 50 facts | 200 facts |
|---|---|---|
{table}

**Limits.** The model has learned that `{config["reserved"]}` is never an identity and makes more errors where that does not hold
(`holdout_reserved_identity`, `holdout_unshuffled`). With fewer than 100 facts its accuracy is well below the ceiling.

config.json has all settings, metrics.jsonl the evaluations during training, evaluation.json the table above.
"""
    write_text(folder / "README.md", card)


if __name__ == "__main__":
    main()
