"""The model inside TransformerLens 4.

    bridge = to_transformer_lens(model)
    logits, cache = bridge.run_with_cache(",pf=p,ee=n,ae=f,pp=e,pn=f,pe=")
    cache["blocks.2.attn.hook_pattern"]

TransformerLens 4 has no HookedTransformer any more; its TransformerBridge wraps a model of transformers, here the
Starcoder2 export. Every hook point of ours exists there under the same name, with the same shape and meaning; only
scores at masked positions are −inf here and the lowest finite number there.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch

from icalgebra.bridges.huggingface import (
    TOLERANCE,
    arbitrary_facts,
    load_exported,
    on_cpu,
    require_transformers,
    write_layout,
)
from icalgebra.bridges.layouts import STARCODER2
from icalgebra.errors import InputError, RunError
from icalgebra.model.checkpoints import as_model
from icalgebra.model.transformer import Transformer


def to_transformer_lens(model: Transformer | str | Path) -> Any:
    """A TransformerBridge with a copy of the weights, on the model's device, checked by its logits.

    model: one in memory, a shipped model's name, a run folder or a file.
    """
    try:
        from transformer_lens.model_bridge import TransformerBridge
    except ImportError as error:
        raise InputError(
            "TransformerLens 4 or later is not installed: pip install 'icalgebra[transformer-lens]'"
        ) from error
    transformers, model = require_transformers(), as_model(model)
    with tempfile.TemporaryDirectory() as folder:
        write_layout(Path(folder), model, STARCODER2, {})
        # Eager attention: fused kernels have no scores and no pattern to hook.
        exported = load_exported(Path(folder), attn_implementation="eager")
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        bridge = TransformerBridge.boot_transformers(folder, hf_model=exported, tokenizer=tokenizer)
    bridge.set_use_attn_result(True)  # without it hook_result has no value; set it to False to save memory
    _check(bridge, model)
    device = model.unembedding.device
    return bridge if device.type == "cpu" else bridge.to(device)


@torch.inference_mode()
def _check(bridge: Any, model: Transformer) -> None:
    tokens = arbitrary_facts(model.config.n_variables, n_facts=20)
    difference = float((bridge(tokens) - on_cpu(model)(tokens)).abs().max())
    if not difference <= TOLERANCE:
        raise RunError(f"TransformerLens's logits differ by {difference:.1e}, more than {TOLERANCE:.0e}")
