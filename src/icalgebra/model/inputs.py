"""What people have as what a model needs: tokens from text or arrays, and the world it was trained in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from icalgebra.errors import InputError
from icalgebra.language.parsing import as_prompts, integer_rows, is_text, one_length
from icalgebra.language.sequences import Sequence, Sequences
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.language.world import WORLD_FIELDS, World, current_names

if TYPE_CHECKING:
    from icalgebra.model.transformer import Transformer

Tokens = Any  # a text, a list of texts, or integers [n, T] or [T] in numpy, torch or lists


def as_tokens(given: Tokens, n_variables: int, device: torch.device) -> Tensor:
    """Token ids, int64 [n, T] on the device; anything else than text or token ids raises InputError.

    What a training loop gives passes at once. Its ids are not read, which would wait for a GPU.
    """
    if isinstance(given, Tensor) and given.dtype == torch.int64 and given.ndim == 2:
        return given if given.device == device else given.to(device)
    if isinstance(given, Sequences | Sequence):
        raise InputError(
            "give the model the sequences' .prompts (up to the query's '=') or .tokens (with the answer), not both"
        )
    rows = _rows_of_text(given, n_variables) if is_text(given) else integer_rows(given)
    if rows.size and not 0 <= int(rows.min()) <= int(rows.max()) < n_variables + 2:
        raise unknown_token(n_variables, int(rows.min() if rows.min() < 0 else rows.max()))
    return torch.as_tensor(rows.astype(np.int64), device=device)


def unknown_token(n_variables: int, token: int | None = None) -> InputError:
    """The error for a token outside the model's alphabet."""
    letters = Vocabulary(n_variables).variables
    found = "a token" if token is None else f"token {token}"
    return InputError(
        f"{found} is outside 0 to {n_variables + 1}: this model knows the variables {letters[0]} to {letters[-1]} "
        f"(0 to {n_variables - 1}), '=' ({n_variables}) and ',' ({n_variables + 1})"
    )


def _rows_of_text(given: str | list[str], n_variables: int) -> np.ndarray:
    texts = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(text, str) for text in texts):
        raise InputError("a list of texts may hold nothing but texts")
    encode = Vocabulary(n_variables).encode
    return one_length([encode(text.rstrip().removesuffix("?"), line=i + 1) for i, text in enumerate(texts)])


def model_prompts(model: Transformer, given: Tokens | Sequences | Sequence) -> np.ndarray:
    """Prompts [n, 5k−1] of the model's alphabet, from sequences, text or token rows."""
    return as_prompts(given, Vocabulary(model.config.n_variables))


def one_prompt(model: Transformer, given: Tokens | Sequences | Sequence, who: str) -> np.ndarray:
    """The same for what takes a single prompt, [1, 5k−1]; `who` begins the complaint about several."""
    prompts = model_prompts(model, given)
    if len(prompts) != 1:
        raise InputError(f"{who}, not {len(prompts)}; give one row, such as sequences[0]")
    return prompts


def trained_world(model: Transformer, world: World | None = None) -> World:
    """The given world, or the one that the model was trained in."""
    if world is None:
        if not model.run_config and model.config.n_variables != World().n_variables:
            raise InputError("this model does not say which world it was trained in; give world=World(…)")
        stated = current_names(model.run_config)
        world = World.from_dict({name: value for name, value in stated.items() if name in WORLD_FIELDS})
    if world.n_variables != model.config.n_variables:
        raise InputError(
            f"the world has {world.n_variables} variables and the model {model.config.n_variables}; they must agree"
        )
    return world
