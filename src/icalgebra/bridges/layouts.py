"""The same weights and settings as Hugging Face's Starcoder2 and GPT-NeoX store them.

Both compute what our transformer computes: pre-norm LayerNorm, biases, exact GELU, half-split RoPE on whole heads, tied
embeddings. Starcoder2 only has other names. GPT-NeoX stores q, k and v as one matrix, head by head, and needs
use_parallel_residual=False; with parallel residual streams the logits are wrong by 15 to 20.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from icalgebra.errors import InputError
from icalgebra.language.vocabulary import MAX_VARIABLES
from icalgebra.model.transformer import ModelConfig

Weights = dict[str, Tensor]
NORM_EPSILON = 1e-5
QKV = ("q", "k", "v")


@dataclass(frozen=True)
class Layout:
    """One architecture of transformers.

    names: our parameter -> theirs, inside a block without the block's prefix.
    fixed: settings that must have these values for the logits to be ours.
    fused: the name of the one matrix for q, k and v, where there is one.
    """

    architecture: str
    model_type: str
    embedding: str
    block: str
    final_norm: str
    names: dict[str, str]
    fixed: dict[str, Any]
    rope_keys: Callable[[float], dict[str, Any]]
    fused: str | None = None

    def config(self, model: ModelConfig, n_positions: int) -> dict[str, Any]:
        """The contents of config.json, readable by transformers 4 and 5."""
        return {
            "architectures": [self.architecture],
            "model_type": self.model_type,
            "vocab_size": model.d_vocab,
            "hidden_size": model.d_model,
            "intermediate_size": model.d_mlp,
            "num_hidden_layers": model.n_layers,
            "num_attention_heads": model.n_heads,
            **self.fixed,
            **({} if self.fused else {"num_key_value_heads": model.n_heads}),
            **self.rope_keys(model.rope_base),
            "max_position_embeddings": n_positions,
            # Their defaults are tokens of other vocabularies; a sequence here has neither a first nor a last token.
            "bos_token_id": None,
            "eos_token_id": None,
            "pad_token_id": None,
            "torch_dtype": "float32",
        }

    def weights(self, ours: Mapping[str, Tensor], model: ModelConfig) -> Weights:
        """Our state dict under their names."""
        theirs = {self.embedding: ours["embed.weight"]}
        theirs |= {f"{self.final_norm}.{their}": ours[f"ln_final.{our}"] for our, their in _NORM.items()}
        for layer in range(model.n_layers):
            prefix = self.block.format(layer)
            for our, their in self.names.items():
                theirs[f"{prefix}.{their}"] = ours[f"blocks.{layer}.{our}"]
            if self.fused:
                for part in ("weight", "bias"):
                    parts = [ours[f"blocks.{layer}.attn.{name}.{part}"] for name in QKV]
                    theirs[f"{prefix}.{self.fused}.{part}"] = fuse_heads(parts, model.n_heads)
        return {name: tensor.detach().cpu().float().contiguous() for name, tensor in theirs.items()}

    def our_weights(self, theirs: Mapping[str, Tensor], model: ModelConfig) -> Weights:
        """The inverse of `weights`; KeyError if one is missing."""
        ours = {"embed.weight": theirs[self.embedding]}
        ours |= {f"ln_final.{our}": theirs[f"{self.final_norm}.{their}"] for our, their in _NORM.items()}
        for layer in range(model.n_layers):
            prefix = self.block.format(layer)
            for our, their in self.names.items():
                ours[f"blocks.{layer}.{our}"] = theirs[f"{prefix}.{their}"]
            if self.fused:
                for part in ("weight", "bias"):
                    parts = split_heads(theirs[f"{prefix}.{self.fused}.{part}"], model.n_heads)
                    ours |= {f"blocks.{layer}.attn.{name}.{part}": value for name, value in zip(QKV, parts)}
        return {name: tensor.float() for name, tensor in ours.items()}

    def our_config(self, theirs: Mapping[str, Any]) -> ModelConfig:
        """The shape of a config.json of transformers 4 or 5; InputError names the setting that has no counterpart."""
        rope = theirs.get("rope_parameters") or theirs.get("rope_scaling") or {}
        stated = {**theirs, "rope_type": rope.get("rope_type", "default")}
        if self.fused:
            stated["rotary_pct"] = rope.get("partial_rotary_factor", theirs.get("rotary_pct"))
        else:
            stated.setdefault("num_key_value_heads", theirs["num_attention_heads"])
        wanted = {**self.fixed, "rope_type": "default"}
        wanted |= {} if self.fused else {"num_key_value_heads": theirs["num_attention_heads"]}
        for key, value in wanted.items():
            if stated.get(key, value) != value:
                raise InputError(f"{key} is {stated[key]!r}, but the transformer here has {value!r}")
        n_variables = theirs["vocab_size"] - 2
        if not 1 <= n_variables <= MAX_VARIABLES:
            raise InputError(f"vocab_size is {theirs['vocab_size']}; variables, '=' and ',' are 3 to 54 tokens")
        base = rope.get("rope_theta", theirs.get("rope_theta", theirs.get("rotary_emb_base", 1e4)))
        return ModelConfig(
            n_layers=theirs["num_hidden_layers"],
            n_heads=theirs["num_attention_heads"],
            d_model=theirs["hidden_size"],
            d_mlp=theirs["intermediate_size"],
            n_variables=n_variables,
            rope_base=float(base),
        )


def fuse_heads(parts: list[Tensor], n_heads: int) -> Tensor:
    """q, k and v of each head one after the other: [3 · H · d_head, …]."""
    return torch.stack([part.unflatten(0, (n_heads, -1)) for part in parts], dim=1).flatten(0, 2)


def split_heads(fused: Tensor, n_heads: int) -> list[Tensor]:
    """The inverse of fuse_heads."""
    return [part.flatten(0, 1) for part in fused.unflatten(0, (n_heads, 3, -1)).unbind(1)]


def _both(ours: str, theirs: str) -> dict[str, str]:
    return {f"{ours}.{part}": f"{theirs}.{part}" for part in ("weight", "bias")}


_NORM = {"w": "weight", "b": "bias"}
_DROPOUT_FREE = {"attention_dropout": 0.0, "tie_word_embeddings": True, "hidden_act": "gelu"}

STARCODER2 = Layout(
    architecture="Starcoder2ForCausalLM",
    model_type="starcoder2",
    embedding="model.embed_tokens.weight",
    block="model.layers.{}",
    final_norm="model.norm",
    names={
        **{f"ln1.{our}": f"input_layernorm.{their}" for our, their in _NORM.items()},
        **{f"ln2.{our}": f"post_attention_layernorm.{their}" for our, their in _NORM.items()},
        **_both("attn.q", "self_attn.q_proj"),
        **_both("attn.k", "self_attn.k_proj"),
        **_both("attn.v", "self_attn.v_proj"),
        **_both("attn.o", "self_attn.o_proj"),
        **_both("mlp.up", "mlp.c_fc"),
        **_both("mlp.down", "mlp.c_proj"),
    },
    fixed={
        **_DROPOUT_FREE,
        "norm_epsilon": NORM_EPSILON,
        "use_bias": True,
        "sliding_window": None,
        "residual_dropout": 0.0,
        "embedding_dropout": 0.0,
    },
    rope_keys=lambda base: {"rope_theta": base, "rope_parameters": {"rope_type": "default", "rope_theta": base}},
)

GPT_NEOX = Layout(
    architecture="GPTNeoXForCausalLM",
    model_type="gpt_neox",
    embedding="gpt_neox.embed_in.weight",
    block="gpt_neox.layers.{}",
    final_norm="gpt_neox.final_layer_norm",
    names={
        **{f"ln1.{our}": f"input_layernorm.{their}" for our, their in _NORM.items()},
        **{f"ln2.{our}": f"post_attention_layernorm.{their}" for our, their in _NORM.items()},
        **_both("attn.o", "attention.dense"),
        **_both("mlp.up", "mlp.dense_h_to_4h"),
        **_both("mlp.down", "mlp.dense_4h_to_h"),
    },
    fixed={
        **_DROPOUT_FREE,
        "layer_norm_eps": NORM_EPSILON,
        "use_parallel_residual": False,
        "attention_bias": True,
        "hidden_dropout": 0.0,
        "rotary_pct": 1.0,
    },
    rope_keys=lambda base: {
        "rotary_emb_base": base,
        "rope_parameters": {"rope_type": "default", "rope_theta": base, "partial_rotary_factor": 1.0},
    },
    fused="attention.query_key_value",
)

LAYOUTS = {"starcoder2": STARCODER2, "gpt-neox": GPT_NEOX}
BY_MODEL_TYPE = {layout.model_type: layout for layout in LAYOUTS.values()}


def mismatch(error: Exception) -> str:
    """What does not fit: of torch's many lines about a state dict, the first that names a tensor."""
    if isinstance(error, KeyError):
        return f"no {error.args[0]}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[1] if len(lines) > 1 else lines[0] if lines else type(error).__name__).partition(": copying")[0]
