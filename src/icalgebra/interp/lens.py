"""Direct logit attribution at the last position.

The unembedding reads the residual stream through the final norm, which is not linear, so there are three forms of the
direct logits of a vector r that a component adds:

    plain    U r                           the paper's U(a): without the norm
    normed   U LN(r)                       the norm applied to r alone
    frozen   U (w · (r − mean r) / scale)  the norm with the scale of the whole residual stream

Only the frozen form is additive: all components and U b (the norm's bias) sum to the model's logits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from icalgebra.errors import unknown
from icalgebra.interp.head_names import HeadLike, as_head
from icalgebra.interp.last_token_cache import LastTokenCache, as_run, blocks
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Float

Form = Literal["plain", "normed", "frozen"]


def head_results(model: Transformer, run: LastTokenCache) -> Float[Tensor, "n n_layers n_heads d_model"]:
    """What every head writes into the residual stream, without the output bias."""
    weights = torch.stack([block.attn.W_O for block in blocks(model)])
    return torch.einsum("nlhe,lhed->nlhd", run.z, weights)


def read_logits(
    model: Transformer, run: LastTokenCache, vectors: Float[Tensor, "n ... d_model"], form: Form = "frozen"
) -> Float[Tensor, "n ... d_vocab"]:
    """Direct logits of residual stream vectors, in one of the three forms."""
    if form not in get_args(Form):
        raise unknown("form of direct logits", str(form), get_args(Form))
    if form == "normed":
        vectors = model.ln_final(vectors)
    elif form == "frozen":
        scale = final_scale(run).view(-1, *[1] * (vectors.ndim - 1))
        vectors = (vectors - vectors.mean(-1, keepdim=True)) / scale * model.ln_final.w
    return F.linear(vectors, model.unembedding)


@torch.no_grad()
def direct_logits(
    model: Transformer, run: Any, form: Form = "frozen", head: HeadLike | None = None
) -> Float[Tensor, "n ... n_variables"]:
    """Every head's direct logits over the variables, [n, n_layers, n_heads, N], or one head's, [n, N].

    run: a cached run; or sequences, text or token rows that end in the query's '='.
    """
    run = as_run(model, run)
    direct = read_logits(model, run, head_results(model, run), form)[..., : model.config.n_variables]
    return direct if head is None else direct[:, *as_head(model, head)]


@torch.no_grad()
def logit_lens(model: Transformer, run: Any) -> Float[Tensor, "n depth d_vocab"]:
    """The logits that the residual stream at the query's '=' would give after 0, 1, … n_layers layers.

    Index 0 is the embedding, the last one the model's own logits. run: as for direct_logits.
    """
    run = as_run(model, run)
    return model.read_out(torch.cat([run.resid_pre, run.resid_final[:, None]], dim=1))


def final_scale(run: LastTokenCache) -> Float[Tensor, " n"]:
    """What the final norm divides by."""
    return (run.resid_final.var(-1, unbiased=False) + 1e-5).sqrt()


def components(model: Transformer, run: LastTokenCache) -> dict[str, Float[Tensor, "n d_model"]]:
    """All summands of the final residual stream: embedding, heads ('3.6'), output biases, MLPs."""
    results, mlp_out = head_results(model, run), run.mlp_out
    parts = {"embed": run.resid_pre[:, 0]}
    for layer, block in enumerate(blocks(model)):
        parts |= {f"{layer}.{head}": results[:, layer, head] for head in range(results.shape[2])}
        parts[f"bias {layer}"] = block.attn.o.bias.expand(len(run), -1)
        parts[f"mlp {layer}"] = mlp_out[:, layer]
    return parts


@torch.no_grad()
def path_to_logits(
    model: Transformer, source: LastTokenCache, base: LastTokenCache
) -> Float[Tensor, "n n_layers n_heads d_vocab"]:
    """Path patching: the base run's logits with the direct path from one head to the logits taken from the source.

    Later layers read the unchanged values; only the final norm and the unembedding see the change.
    """
    moved = head_results(model, source) - head_results(model, base)
    return model.read_out(base.resid_final[:, None, None] + moved)
