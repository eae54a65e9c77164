"""Running a model: rows per forward pass, the logits of the variables, and the answers they give.

All code that runs a model on many rows takes its batch size from `rows_per_pass`. It counts tokens, because the memory
and time of a pass depend on its tokens, not on how many sequences they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from icalgebra.errors import InputError, unknown
from icalgebra.language.parsing import as_prompts
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.model.partial_pass import Branches, can_be_partial, partial_logits
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Float, Int, Integer

# Tokens per pass, by device; other devices use the CPU's. On one CPU core the shipped model took 9 s for 64 sequences
# of 200 facts in passes of 8, and 10.6 s and 0.8 GB more in a single pass; a GPU needs many sequences to be busy.
# The batch size does not change a forward pass: with 5 to 20 facts its logits were the same bits in batches of 1 to 96.
# Runs cached at their last position are the same from 8 rows on and differ by 1e-5 in batches of 1 to 3.
FORWARD = {"cpu": 8_192, "cuda": 131_072}
# Positions per pass of runs that are resumed at their last position (interp/last_token_cache.py). Subspaces are fitted
# on them, one gradient per pass: small passes fit into a CPU's cache, and another size would sum the gradients in
# another order, which changes the last digits of the fit.
RESUMED = {"cpu": 256, "cuda": 32_768}

# fp32 is the default everywhere. bf16: products and attention in 16 bits, logits in fp32. On CPUs with instructions for
# it, it is faster, but guesses between close candidates may come out differently (`icalgebra bench --only forward`).
Precision = Literal["fp32", "bf16"]


def rows_per_pass(model: Transformer, tokens_per_row: int, budget: Mapping[str, int] = FORWARD) -> int:
    """Rows per pass on the model's device, at least 1; a row has `tokens_per_row` tokens (or resumed positions)."""
    tokens = budget.get(model.unembedding.device.type, budget["cpu"])
    return max(1, tokens // max(1, tokens_per_row))


def chunks(n: int, size: int) -> Iterator[slice]:
    """Rows 0 … n−1 in batches of `size`; the last may be smaller."""
    return (slice(begin, min(n, begin + size)) for begin in range(0, n, size))


def passes(model: Transformer, tokens: Integer[np.ndarray, "n T"]) -> Iterator[slice]:
    """The rows of every forward pass over these tokens."""
    return chunks(len(tokens), rows_per_pass(model, tokens.shape[1]))


def on_device(model: Transformer, tokens: np.ndarray) -> Int[Tensor, ...]:
    """Tokens (or other integers) as model inputs: int64, on the model's device."""
    return torch.as_tensor(np.ascontiguousarray(tokens), device=model.unembedding.device).long()


@torch.inference_mode()
def variable_logits(
    model: Transformer,
    tokens: Integer[np.ndarray, "n T"],
    places: slice = slice(-1, None),
    positions: Int[Tensor, " T"] | None = None,
    branches: Branches | None = None,
    batch_size: int | None = None,
    precision: Precision = "fp32",
) -> Float[np.ndarray, "n places N"]:
    """Logits of the variables, in fp32, at some places of every row; by default the last one.

    positions: as in the model's forward, for all rows. branches: tokens behind a causal trunk, with a mask of their
    own. batch_size: rows per pass; by default what suits the device.
    """
    n, length = tokens.shape
    n_variables, device = model.config.n_variables, model.unembedding.device
    partial = can_be_partial(model)
    positions = None if positions is None else positions.to(device)
    mask = None if branches is None or partial else branches.full_mask().to(device)
    logits = np.empty((n, len(range(length)[places]), n_variables), dtype=np.float32)
    for rows in chunks(n, batch_size or rows_per_pass(model, length)):
        inputs = on_device(model, tokens[rows])
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            if partial:
                found = partial_logits(model, inputs, places, positions, branches)
            else:
                found = model(inputs, positions=positions, mask=mask)[:, places]
        logits[rows] = found[..., :n_variables].float().cpu().numpy()
    return logits


def as_predictor(
    model: Transformer, batch_size: int | None = None, precision: Precision = "fp32"
) -> Callable[[np.ndarray], np.ndarray]:
    """The model as a predictor: tokens [n, 5k−1] to probabilities over the variables, [n, N].

    batch_size: sequences per pass; by default what suits the device. precision: "bf16" is faster and less exact.
    """
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"as_predictor takes a model, such as icalgebra.load_model('small'), not {model!r}")
    if batch_size is not None and batch_size < 1:
        raise InputError(f"a batch has at least 1 sequence, not {batch_size}")
    if precision not in get_args(Precision):
        raise unknown("precision", str(precision), get_args(Precision))
    vocabulary = Vocabulary(model.config.n_variables)

    def predict(rows: ArrayLike) -> np.ndarray:
        logits = variable_logits(model, as_prompts(rows, vocabulary), batch_size=batch_size, precision=precision)[:, 0]
        return torch.from_numpy(logits).softmax(-1).numpy()

    return predict


def top_variable(logits: Float[Tensor, "... N"]) -> Int[np.ndarray, ...]:
    """The variable with the highest logit; −1 where two share it, since a tie is not an answer."""
    highest = logits == logits.max(-1, keepdim=True).values
    return torch.where(highest.sum(-1) == 1, logits.argmax(-1), -1).cpu().numpy()
