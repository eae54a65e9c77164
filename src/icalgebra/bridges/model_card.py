"""What stands beside exported weights: a tokenizer that knows `,ab=c`, and a model card with what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from icalgebra import __version__
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.model.transformer import ModelConfig
from icalgebra.statistics import Estimate, proportion
from icalgebra.train.config import TrainConfig
from icalgebra.train.evaluation import is_accuracy

TOKENIZER, TOKENIZER_CONFIG, CARD = "tokenizer.json", "tokenizer_config.json", "README.md"


def tokenizer_files(n_variables: int) -> dict[str, Any]:
    """tokenizer.json and tokenizer_config.json: one token per character, no special tokens, nothing added.

    There is no token for an unknown character: the tokenizer raises an error instead of dropping it.
    """
    vocabulary = {character: i for i, character in enumerate(Vocabulary(n_variables).characters)}
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False},
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unknown>"},
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    return {TOKENIZER: tokenizer, TOKENIZER_CONFIG: config}


def measured_accuracies(checkpoint: Path, run: TrainConfig) -> dict[str, dict[int, Estimate]]:
    """Distribution -> facts -> accuracy, as measured for this checkpoint; empty where nothing was.

    A shipped model has evaluation.json beside its weights, a run the records of its metrics.jsonl.
    """
    found: dict[str, dict[int, Estimate]] = {}
    shipped = checkpoint / "evaluation.json"
    if shipped.is_file():
        for label, value in json.loads(shipped.read_text(encoding="utf-8"))["accuracy"].items():
            name, _, facts = label.partition("/")
            found.setdefault(name, {})[int(facts)] = Estimate(**value)
        return found
    for label, value in _evaluation_of(checkpoint).items():
        if is_accuracy(label):
            name, _, facts = label.partition("/")
            found.setdefault(name, {})[int(facts or run.n_facts)] = proportion(value * run.eval_n, run.eval_n)
    return found


def _evaluation_of(checkpoint: Path) -> dict[str, Any]:
    """The evaluation of a run at the checkpoint's own step (checkpoints/step_000200 in the run folder)."""
    metrics, step = checkpoint.parent.parent / "metrics.jsonl", checkpoint.name.removeprefix("step_")
    if checkpoint.parent.name != "checkpoints" or not step.isdigit() or not metrics.is_file():
        return {}
    records = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    return next((r for r in records if r["kind"] == "evaluation" and r["step"] == int(step)), {})


def model_card(
    name: str,
    architecture: str,
    model: ModelConfig,
    run: TrainConfig | None,
    accuracies: dict[str, dict[int, Estimate]],
) -> str:
    """The model card (README.md), with the front matter that the Hub reads."""
    vocabulary = Vocabulary(model.n_variables)
    a, b, c, d = list(vocabulary.variables * 4)[:4]
    shape = f"{model.n_layers} layers, {model.n_heads} heads, d_model {model.d_model}, RoPE base {model.rope_base:g}"
    shape += f", {model.n_loops} passes over the same weights, written out here" if model.n_loops > 1 else ""
    return f"""---
library_name: transformers
pipeline_tag: text-generation
tags: [in-context-algebra, icalgebra, interpretability]
---
# {name}

A decoder-only transformer for in-context algebra ({shape}), exported by icalgebra {__version__} as {architecture}.
It reads facts about hidden finite {_kinds(run)}, `,{a}{b}={c}`, and predicts the answer of the last one.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model, tokenizer = AutoModelForCausalLM.from_pretrained("FOLDER"), AutoTokenizer.from_pretrained("FOLDER")
tokens = tokenizer(",{a}{b}={c},{b}{a}={c},{c}{b}={d},{a}{b}=", return_tensors="pt")
print(tokenizer.decode(model(**tokens).logits[0, -1].argmax()))
```

**Tokens.** One per character: `{vocabulary.variables}` are 0 to {vocabulary.n_variables - 1}, `=` is
{vocabulary.equals}, `,` is {vocabulary.comma}. There is no token for padding, beginning or end;
other characters are an error. The answer is predicted at the last `=`.

{_data(run)}
{_table(accuracies)}
Reading it back: `icalgebra.from_huggingface("FOLDER")`, exact.
"""


def _kinds(run: TrainConfig | None) -> str:
    groups = run is None or all(structure.kind == "group" for structure in run.world.pool)
    return "groups" if groups else "structures"


def _data(run: TrainConfig | None) -> str:
    if run is None:
        return "**Data.** Not stated by the exported model.\n"
    world, rows = run.world, sorted({run.rows_of(facts) for facts, _ in run.lengths} or {run.batch_size})
    names = [*run.structures, *(s.name for s in world.pool[len(run.structures) :])]  # D2 comes with an option
    mixture = "each once a sequence" if world.mixture_rule == "all" else f"p_mix {world.p_mix}"
    mixture += ", mixture rule stop" if world.mixture_rule == "stop" else ""
    reserved = "" if world.reserved is None else f"; the variable `{world.reserved}` is never an identity"
    return (
        f"**Data.** Training sequences of {_lengths(run)} from {', '.join(names)} with {run.n_variables} "
        f"variables, {mixture}{reserved}. {run.steps} steps of {' or '.join(map(str, rows))} sequences, each seen "
        "once.\n"
    )


def _lengths(run: TrainConfig) -> str:
    if run.lengths:
        return f"{', '.join(f'{facts} ({p:.0%} of the steps)' for facts, p in run.lengths)} facts"
    short = f"{run.short_facts} facts in the first {run.short_steps} steps, then " if run.short_steps else ""
    return f"{short}{run.n_facts} facts"


def _table(accuracies: dict[str, dict[int, Estimate]]) -> str:
    if not accuracies:
        return "**Accuracy.** Not measured yet; `icalgebra eval` measures it.\n"
    facts = sorted({k for by_facts in accuracies.values() for k in by_facts})
    sizes = sorted({e.n for by_facts in accuracies.values() for e in by_facts.values()})
    head = f"| distribution | {' | '.join(f'{k} facts' for k in facts)} |\n|{'---|' * (len(facts) + 1)}\n"
    rows = [f"| {name} | {' | '.join(_cell(e.get(k)) for k in facts)} |\n" for name, e in accuracies.items()]
    measured = f"{' or '.join(map(str, sizes))} fresh sequences each"
    return f"**Accuracy** (%, 95 % interval, {measured}):\n\n{head}{''.join(rows)}"


def _cell(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    return f"{100 * estimate.value:.2f} [{100 * estimate.low:.2f}, {100 * estimate.high:.2f}]"
