"""The model and nothing else: a decoder-only transformer with named hook points.

Pre-norm LayerNorm, biases, exact GELU, half-split RoPE, tied embeddings. n sequences, T tokens, H heads:

    hook_embed                      [n, T, d_model]
    blocks.{l}.hook_resid_pre       [n, T, d_model]     blocks.{l}.ln1.hook_scale         [n, T, 1]
    blocks.{l}.attn.hook_q k v      [n, T, H, d_head]   blocks.{l}.ln1.hook_normalized    [n, T, d_model]
    blocks.{l}.attn.hook_rot_q k    [n, T, H, d_head]   (after RoPE)
    blocks.{l}.attn.hook_attn_scores, hook_pattern      [n, H, T, T]
    blocks.{l}.attn.hook_z          [n, T, H, d_head]
    blocks.{l}.attn.hook_result     [n, T, H, d_model]  (what each head adds, without the bias)
    blocks.{l}.hook_attn_out        [n, T, d_model]
    blocks.{l}.hook_resid_mid       [n, T, d_model]     blocks.{l}.ln2.hook_scale, hook_normalized
    blocks.{l}.mlp.hook_pre, post   [n, T, d_mlp]
    blocks.{l}.hook_mlp_out         [n, T, d_model]
    blocks.{l}.hook_resid_post      [n, T, d_model]
    ln_final.hook_scale             [n, T, 1]           ln_final.hook_normalized          [n, T, d_model]

hook_normalized is the value before the norm's w and b, as in TransformerLens 3 and 4 (in 2 it was after them).

Read or replace a point with torch's own forward hooks:

    handle = model.hook_points()["blocks.3.attn.hook_z"].register_forward_hook(lambda point, args, value: …)

or read them all at once, as in TransformerLens: logits, cache = model.run_with_cache(tokens).

With n_loops above 1 the first n_layers / n_loops blocks run again with the same weights. Every pass has hook points of
its own: 12 layers with n_loops = 3 are blocks.0 to blocks.11, and blocks.4 is the second pass of blocks.0 (looped.py).

A hook that returns a tensor replaces the value. Scores, pattern, per-head results, norm scales and normalized values
are computed only while a hook is registered; otherwise the fused kernels run. A compiled model always runs them: hook
the plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icalgebra.errors import InputError
from icalgebra.model.inputs import Tokens, as_tokens, unknown_token
from icalgebra.model.looped import run_again

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    from icalgebra.model.activations import Activations

TABLE_LENGTH = 1024  # positions with precomputed rotations; longer sequences compute theirs


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model."""

    n_layers: int = 4
    n_heads: int = 8
    d_model: int = 1024
    d_mlp: int = 0  # 0: four times d_model
    n_variables: int = 16
    rope_base: float = 1e4
    n_loops: int = 1  # passes over the same weights: n_layers / n_loops blocks have weights of their own

    def __post_init__(self) -> None:
        if min(self.n_layers, self.n_heads, self.d_model, self.n_variables) < 1 or self.d_mlp < 0:
            raise InputError("n_layers, n_heads, d_model and n_variables must be at least 1, and d_mlp at least 0")
        if not self.rope_base > 0:
            raise InputError(f"rope_base must be above 0, not {self.rope_base}")
        if self.d_model % (2 * self.n_heads):
            raise InputError(
                "d_model must give an even number of dimensions per head: "
                f"{self.d_model} over {self.n_heads} heads does not"
            )
        if self.n_loops < 1 or self.n_layers % self.n_loops:
            raise InputError(f"n_layers must be a multiple of n_loops: {self.n_layers} layers, {self.n_loops} loops")
        object.__setattr__(self, "d_mlp", self.d_mlp or 4 * self.d_model)

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def d_vocab(self) -> int:
        return self.n_variables + 2

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class HookPoint(nn.Module):
    """The identity: a named place for forward hooks."""

    def forward(self, value: Tensor) -> Tensor:
        return value

    watched = False  # True: computed in any case, for a tool that reads modules without torch's forward hooks

    @property
    def is_hooked(self) -> bool:
        return not torch.compiler.is_compiling() and (self.watched or len(self._forward_hooks) > 0)


class LayerNorm(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))
        self.hook_scale = HookPoint()
        self.hook_normalized = HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        if not (self.hook_scale.is_hooked or self.hook_normalized.is_hooked):
            return F.layer_norm(x, self.w.shape, self.w, self.b)
        x = x - x.mean(-1, keepdim=True)
        scale = self.hook_scale((x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt())
        return self.hook_normalized(x / scale) * self.w + self.b


def rotation(positions: Tensor, d_head: int, base: float) -> tuple[Tensor, Tensor]:
    """Cosine and sine of RoPE's angles, [..., T, 1, d_head / 2]; dimension i is paired with i + d_head / 2."""
    # Not base ** −(2i / d_head), which rounds differently: with Hugging Face's formula exported models have the same
    # logits to the last bit, with the other they differed by 5e-5 at 1000 tokens.
    exponents = torch.arange(0, d_head, 2, device=positions.device, dtype=torch.float32) / d_head
    frequencies = 1.0 / base**exponents
    angles = (positions[..., None].float() * frequencies)[..., None, :]
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)


class Attention(nn.Module):
    """Weights act as x @ W.T + b, as in nn.Linear; heads are consecutive slices of d_head."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d = config.d_model
        self.n_heads, self.d_head = config.n_heads, config.d_head
        self.q, self.k, self.v, self.o = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_rot_q, self.hook_rot_k = HookPoint(), HookPoint()
        self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint()
        self.hook_z, self.hook_result = HookPoint(), HookPoint()

    @property
    def W_O(self) -> Float[Tensor, "n_heads d_head d_model"]:
        """What each head writes: result[h] = z[h] @ W_O[h]."""
        return self.o.weight.T.reshape(self.n_heads, self.d_head, -1)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = self.queries_keys_values(x)
        q, k = self.hook_rot_q(rotate(q, cos, sin)), self.hook_rot_k(rotate(k, cos, sin))
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        if self.hook_attn_scores.is_hooked or self.hook_pattern.is_hooked:
            z = self._explicit(q, k, v, mask)
        else:
            z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        z = self.hook_z(z.transpose(1, 2))
        if self.hook_result.is_hooked:
            return self.hook_result(torch.einsum("nthe,hed->nthd", z, self.W_O)).sum(2) + self.o.bias
        return self.o(z.flatten(2))

    def queries_keys_values(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One matrix product instead of three; the parameters stay separate, so that Muon sees three matrices."""
        parts = (self.q, self.k, self.v)
        together = F.linear(x, torch.cat([p.weight for p in parts]), torch.cat([p.bias for p in parts]))
        q, k, v = together.unflatten(-1, (3, self.n_heads, self.d_head)).unbind(-3)
        return self.hook_q(q), self.hook_k(k), self.hook_v(v)

    def _explicit(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril()
        scores = (q @ k.transpose(2, 3)) * self.d_head**-0.5
        scores = self.hook_attn_scores(scores.masked_fill(~mask, float("-inf")))
        return self.hook_pattern(scores.softmax(-1)).to(v.dtype) @ v


class QuickGelu(torch.autograd.Function):
    """x·Φ(x) with Φ from a short formula that is accurate to 1e-7 (Abramowitz and Stegun 7.1.26).

    Its one exponential also serves the derivative. With the library's erf the kernels ran at half the memory bandwidth.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (x * normal_cdf(x.float())[0]).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        below, bell = normal_cdf(x.float())
        return (gradient * (below + x * bell * (2 * torch.pi) ** -0.5)).to(x.dtype)


def normal_cdf(x: Tensor) -> tuple[Tensor, Tensor]:
    """Φ(x), and exp(−x²/2), which its computation gives as well."""
    bell = torch.exp(-0.5 * x * x)
    t = 1 / (1 + 0.3275911 * 0.5**0.5 * x.abs())
    tail = 1.061405429
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail = tail * t + coefficient
    above = 0.5 * tail * t * bell
    return torch.where(x < 0, above, 1 - above), bell


def gelu(x: Tensor) -> Tensor:
    """The exact GELU; compiled bf16 code uses the quick formula, whose error is far below bf16's rounding."""
    quick = x.dtype == torch.bfloat16 and torch.compiler.is_compiling()
    return QuickGelu.apply(x) if quick else F.gelu(x)  # type: ignore[no-untyped-call]


class MLP(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(config.d_model, config.d_mlp), nn.Linear(config.d_mlp, config.d_model)
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.hook_post(gelu(self.hook_pre(self.up(x)))))


class Block(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.ln1, self.attn = LayerNorm(config.d_model), Attention(config)
        self.ln2, self.mlp = LayerNorm(config.d_model), MLP(config)
        self.hook_resid_pre, self.hook_resid_mid, self.hook_resid_post = HookPoint(), HookPoint(), HookPoint()
        self.hook_attn_out, self.hook_mlp_out = HookPoint(), HookPoint()

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None) -> Tensor:
        x = self.hook_resid_pre(x)
        x = self.hook_resid_mid(x + self.hook_attn_out(self.attn(self.ln1(x), cos, sin, mask)))
        return self.hook_resid_post(x + self.hook_mlp_out(self.mlp(self.ln2(x))))


class Transformer(nn.Module):
    """Tokens [n, T] to logits [n, T, N + 2]. hook_points lists every activation that can be read or replaced.

    Tokens may be text, a list of texts, or integers of any type in numpy or torch.
    """

    cos: Tensor
    sin: Tensor
    run_config: dict[str, Any]  # of the run that trained it; empty for a new model

    def __init__(self, config: ModelConfig, seed: int = 0) -> None:
        super().__init__()
        self.config, self.run_config = config, {}
        self.embed = nn.Embedding(config.d_vocab, config.d_model)
        own = [Block(config) for _ in range(config.n_layers // config.n_loops)]
        self.blocks = nn.ModuleList(own + [run_again(block) for _ in range(config.n_loops - 1) for block in own])
        self.ln_final = LayerNorm(config.d_model)
        self.hook_embed = HookPoint()
        self.residual_dtype = torch.float32  # of the residual stream under autocast
        # A table: without it compiled kernels recomputed the angles for every element (22 of 105 ms per step).
        cos, sin = rotation(torch.arange(TABLE_LENGTH), config.d_head, config.rope_base)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self._initialise(torch.Generator().manual_seed(seed))

    @classmethod
    def with_weights(cls, config: ModelConfig, weights: Mapping[str, Tensor]) -> Transformer:
        """A model with these weights; RuntimeError where they are not of this config. Their sizes are compared before
        anything is made: a damaged config may ask for more memory than there is."""
        last = config.n_layers // config.n_loops - 1
        wanted = {
            "embed.weight": (config.d_vocab, config.d_model),
            f"blocks.{last}.mlp.up.weight": (config.d_mlp, config.d_model),
        }
        for name, shape in wanted.items():
            found = tuple(weights[name].shape) if name in weights else None
            if found != shape:
                raise RuntimeError(f"{name} is {'missing' if found is None else found}; its config asks for {shape}")
        model = cls(config)
        model.load_state_dict(weights)
        return model

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator) -> None:
        """GPT-2's scheme: std .02 at d_model = 1024, ∝ d_model^−½ at other widths, and smaller by √(2 n_layers) for the
        matrices that write to the residual stream."""
        std = 0.64 * self.config.d_model**-0.5
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                writes = name.endswith(("attn.o.weight", "mlp.down.weight"))
                shrink = (2 * self.config.n_layers) ** -0.5 if writes else 1.0
                parameter.normal_(0.0, std * shrink, generator=generator)
            elif name.endswith("bias"):
                parameter.zero_()

    @property
    def unembedding(self) -> Float[Tensor, "d_vocab d_model"]:
        return self.embed.weight

    def hook_points(self) -> dict[str, HookPoint]:
        return {name: module for name, module in self.named_modules() if isinstance(module, HookPoint)}

    def angles(self, length: int, positions: Tensor | None) -> tuple[Tensor, Tensor]:
        if positions is None and length <= TABLE_LENGTH:
            return self.cos[:length], self.sin[:length]
        if positions is None:
            positions = torch.arange(length, device=self.cos.device)
        return rotation(positions, self.config.d_head, self.config.rope_base)

    def embedded(self, tokens: Tensor) -> Tensor:
        """Under autocast as a one-hot product, whose gradient is a product too.

        A lookup's gradient adds those of all tokens to N + 2 rows, and these additions contend.
        """
        if not torch.is_autocast_enabled(tokens.device.type):
            return self._looked_up(tokens)
        dtype = torch.get_autocast_dtype(tokens.device.type)
        product = F.one_hot(tokens, self.config.d_vocab).to(dtype) @ self.embed.weight.to(dtype)
        return product.to(self.residual_dtype)

    def _looked_up(self, tokens: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            return self.embed(tokens)
        try:
            return self.embed(tokens)
        except IndexError:
            raise unknown_token(self.config.n_variables) from None

    def forward(
        self,
        tokens: Tokens,
        *,
        positions: Int[Tensor, "... T"] | None = None,
        mask: Bool[Tensor, "... T T"] | None = None,
    ) -> Float[Tensor, "n T d_vocab"]:
        """Logits of the next token. mask: True where a token may attend, broadcast to [n, H, T, T]; causal if None."""
        if not torch.compiler.is_compiling():
            tokens = as_tokens(tokens, self.config.n_variables, self.unembedding.device)
        cos, sin = self.angles(tokens.shape[-1], positions)
        x = self.hook_embed(self.embedded(tokens))
        for block in self.blocks:
            x = block(x, cos, sin, mask)
        return self.read_out(x)

    def run_with_cache(
        self, tokens: Tokens, names_filter: str | Sequence[str] | Callable[[str], bool] | None = None, **options: Any
    ) -> tuple[Tensor, Activations]:
        """Logits, and the activations by hook name, as in TransformerLens; see activations.py."""
        from icalgebra.model.activations import run_with_cache

        return run_with_cache(self, tokens, names_filter, **options)

    def read_out(self, x: Tensor) -> Tensor:
        """Logits. Outside training never in 16 bits: there the best two are often equal, and a tie counts as wrong."""
        x = self.ln_final(x)
        if self.training:
            return F.linear(x, self.unembedding)
        with torch.autocast(x.device.type, enabled=False):
            return F.linear(x.to(self.unembedding.dtype), self.unembedding)
