"""Models as folders that Hugging Face's transformers loads, and back.

    to_huggingface("small", "exported")                    # or a run folder, or a model in memory
    AutoModelForCausalLM.from_pretrained("exported")       # Starcoder2, or GPT-NeoX on request
    model = from_huggingface("exported")                   # the same weights, bit for bit

The files are written here rather than by transformers, so that they do not depend on its version, and the export loads
them with transformers and compares logits before the folder appears under its name.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from icalgebra.atomic_files import read_json, sync_folder, write_json, write_text
from icalgebra.bridges.layouts import BY_MODEL_TYPE, LAYOUTS, Layout, mismatch
from icalgebra.bridges.model_card import CARD, TOKENIZER, measured_accuracies, model_card, tokenizer_files
from icalgebra.errors import InputError, RunError, unknown
from icalgebra.language.vocabulary import COMMA, EQUALS, FACT_LENGTH, Vocabulary
from icalgebra.model.checkpoints import WEIGHTS as SHIPPED
from icalgebra.model.checkpoints import find_checkpoint
from icalgebra.model.looped import rolled_weights, unrolled
from icalgebra.model.transformer import TABLE_LENGTH, Transformer
from icalgebra.records import argument
from icalgebra.train.config import TrainConfig

CONFIG, WEIGHTS = "config.json", "model.safetensors"
OURS = "icalgebra"  # the key of config.json that holds the run's config; transformers keeps keys it does not know
TOLERANCE = 1e-4  # largest difference of a logit; measured: 0 on a CPU
CHECKED_FACTS = 200  # 1000 tokens, the length of the paper's sequences


def to_huggingface(
    model: Transformer | str | Path, folder: str | Path, architecture: str = "starcoder2", name: str = ""
) -> float:
    """Write the model as a folder for transformers, and return the largest difference of a logit at 1000 tokens.

    model: one in memory, a shipped model's name, a run folder, a checkpoint or a file. architecture: starcoder2 or
    gpt-neox. name: the title of the model card; by default the source's name.
    """
    require_transformers()
    if architecture not in LAYOUTS:
        raise unknown("architecture", architecture, LAYOUTS)
    folder = Path(folder)
    if folder.exists():
        raise InputError(f"{folder} already exists; choose a new folder")
    loaded, run, accuracies, title = _described(model)
    temporary = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        layout, card_of = LAYOUTS[architecture], (loaded.config, run, accuracies)
        _write(temporary, loaded, layout, run, model_card(name or title, layout.architecture, *card_of))
        difference = _check(temporary, loaded)
        sync_folder(temporary)
        os.rename(temporary, folder)
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return difference


def from_huggingface(folder: str | Path) -> Transformer:
    """The model of a folder that to_huggingface or transformers' save_pretrained wrote. transformers is not needed."""
    folder = Path(folder)
    stated = read_json(folder / CONFIG)
    kind = stated.get("model_type") if isinstance(stated, dict) else None
    if kind not in BY_MODEL_TYPE:
        raise InputError(f"{folder} holds a {kind!r} model; {' and '.join(BY_MODEL_TYPE)} have the architecture here")
    if not (folder / WEIGHTS).is_file():
        raise InputError(f"{folder} has no {WEIGHTS}; only weights in a single safetensors file are read")
    layout = BY_MODEL_TYPE[kind]
    try:
        shape = layout.our_config(stated)
        _check_vocabulary(folder, shape.n_variables)
        weights = layout.our_weights(load_file(folder / WEIGHTS), shape)
        run = argument(dict[str, Any], stated.get(OURS, {}), OURS)
        looped = replace(shape, n_loops=argument(int, run.get("n_loops", 1), "n_loops"))
        rolled = rolled_weights(weights, looped)  # None: a looped model whose passes were trained on their own
        model = Transformer.with_weights(shape, weights) if rolled is None else Transformer.with_weights(looped, rolled)
    except InputError as error:
        raise InputError(f"{folder} cannot be read: {error}") from error
    except (KeyError, RuntimeError) as error:
        raise InputError(f"{folder} holds weights that do not match its {CONFIG}: {mismatch(error)}") from error
    model.run_config = {**run, "n_loops": model.config.n_loops} if run else {}
    return model.eval()


def require_transformers() -> Any:
    """The module; InputError if it is not installed."""
    try:
        import transformers
    except ImportError as error:
        raise InputError("transformers is not installed: pip install 'icalgebra[huggingface]'") from error
    return transformers


def write_layout(folder: Path, model: Transformer, layout: Layout, extra: dict[str, Any]) -> None:
    """Weights, config.json (with the extra keys) and tokenizer."""
    n_positions = max(TABLE_LENGTH, FACT_LENGTH * extra.get(OURS, {}).get("n_facts", 0))
    # transformers knows no loops: every pass gets a copy of its weights.
    content = save(layout.weights(unrolled(model).state_dict(), model.config), {"format": "pt"})
    (folder / WEIGHTS).write_bytes(content)  # save_file would make it readable for its owner alone
    write_json(folder / CONFIG, {**layout.config(model.config, n_positions), **extra})
    for file, content in tokenizer_files(model.config.n_variables).items():
        write_json(folder / file, content)


def _described(model: Transformer | str | Path) -> tuple[Transformer, TrainConfig | None, dict[str, Any], str]:
    """The model, the config of its run, its measured accuracies, and a name."""
    if isinstance(model, Transformer) and not (shipped := _shipped_as(model)):
        stated = model.run_config
        return model, TrainConfig.from_dict(stated) if stated else None, {}, "An in-context-algebra model"
    if isinstance(model, Transformer):
        model = shipped
    checkpoint = find_checkpoint(model)
    run = TrainConfig.from_dict(checkpoint.config)
    return checkpoint.model(), run, measured_accuracies(checkpoint.path, run), Path(model).stem


def _shipped_as(model: Transformer) -> str:
    """The name of the shipped model with exactly these weights, or ''; its accuracies are then this model's."""
    ours = model.state_dict()
    for folder in SHIPPED.glob("*/"):
        theirs = find_checkpoint(folder.name).weights
        if theirs.keys() == ours.keys() and all(
            torch.equal(ours[k].cpu().float(), w.float()) for k, w in theirs.items()
        ):
            return folder.name
    return ""


def _write(folder: Path, model: Transformer, layout: Layout, run: TrainConfig | None, card: str) -> None:
    write_layout(folder, model, layout, {} if run is None else {OURS: run.to_dict()})
    write_text(folder / CARD, card)


@torch.inference_mode()
def _check(folder: Path, model: Transformer) -> float:
    """The largest difference of a logit between the model and the folder as transformers loads it."""
    transformers = require_transformers()
    tokens = arbitrary_facts(model.config.n_variables, CHECKED_FACTS)
    text = Vocabulary(model.config.n_variables).decode(tokens.numpy())[0]
    read = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)(text)["input_ids"]
    if read != tokens[0].tolist():
        raise RunError(f"not exported: the tokenizer of transformers {transformers.__version__} reads other tokens")
    exported = load_exported(folder)
    ours = on_cpu(model)(tokens)
    difference = float((exported(tokens).logits - ours).abs().max())
    if not difference <= TOLERANCE:
        raise RunError(
            f"not exported: logits at {tokens.shape[1]} tokens differ by {difference:.1e}, more than {TOLERANCE:.0e}, "
            f"in transformers {transformers.__version__}"
        )
    return difference


def on_cpu(model: Transformer) -> Transformer:
    """A copy in fp32 on the CPU, where the two computations are the same to the last bit."""
    copied = Transformer(model.config)
    copied.load_state_dict(model.state_dict())
    return copied.eval()


def load_exported(folder: Path, **options: Any) -> Any:
    """The folder as transformers loads it, without its progress bar."""
    transformers = require_transformers()
    was_shown = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, **options)
        return loaded.float().eval()
    finally:
        if was_shown:
            transformers.utils.logging.enable_progress_bar()


def arbitrary_facts(n_variables: int, n_facts: int) -> Tensor:
    """One sequence of facts that mean nothing, [1, 5k]."""
    vocabulary = Vocabulary(n_variables)
    facts = torch.randint(n_variables, (n_facts, FACT_LENGTH), generator=torch.Generator().manual_seed(0))
    facts[:, COMMA], facts[:, EQUALS] = vocabulary.comma, vocabulary.equals
    return facts.reshape(1, -1)


def _check_vocabulary(folder: Path, n_variables: int) -> None:
    """A tokenizer, where there is one, must number the characters as we do."""
    if (folder / TOKENIZER).is_file():
        vocabulary = read_json(folder / TOKENIZER)["model"]["vocab"]
        if vocabulary != tokenizer_files(n_variables)[TOKENIZER]["model"]["vocab"]:
            raise InputError(f"its tokenizer has other tokens than {Vocabulary(n_variables).characters}")
