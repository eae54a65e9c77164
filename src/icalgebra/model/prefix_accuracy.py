"""A model's accuracy by number of facts, all numbers in one forward pass.

The last query is evaluated after every prefix at once. Each k gets a branch, ",xy=", that attends to the first k−1
facts and itself, at the positions it would have after them. For k = 2 … 200 this costs 1/34 of separate passes:

    trunk   ,ab=c,de=f,gh=i,…            the context facts, causal, run once
    k=2     ,ab=c          ,xy=          a branch at positions 5…8
    k=3     ,ab=c,de=f     ,xy=          a branch at positions 10…13
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from icalgebra.errors import InputError
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import EQUALS, FACT_LENGTH
from icalgebra.model.accuracy import strictly_best
from icalgebra.model.partial_pass import Branches
from icalgebra.model.predict import variable_logits
from icalgebra.model.transformer import Transformer
from icalgebra.records import argument

BRANCH = FACT_LENGTH - 1  # a query's tokens up to its '='


def hits_by_facts(model: Transformer, sequences: Sequences, facts: Iterable[int]) -> np.ndarray:
    """Which queries the model answers correctly at each number of facts, bool [n, len(facts)]; k counts the query."""
    facts = _numbers_of_facts(facts, sequences.n_facts)
    if asks_every(sequences):
        logits = logits_at_every_fact(model, sequences.tokens)[:, np.array(facts) - 1]
        truth = sequences.facts[:, np.array(facts) - 1, 2]
    else:
        logits = logits_after_prefixes(model, sequences.prompts, facts)
        truth = np.repeat(sequences.answers[:, None], len(facts), axis=1)
    return strictly_best(logits.reshape(truth.size, -1), truth.ravel()).reshape(truth.shape)


def _numbers_of_facts(facts: Iterable[int], most: int) -> list[int]:
    """As whole numbers; InputError for one that the sequences do not have, which an index from the end would hide."""
    numbers = [argument(int, int(k) if isinstance(k, np.integer) else k, "a number of facts") for k in facts]
    if not numbers or not 1 <= min(numbers) <= max(numbers) <= most:
        raise InputError(f"numbers of facts are 1 to {most}, the query included, and not {numbers}")
    return numbers


def asks_every(sequences: Sequences) -> bool:
    """In training sequences every fact is a query about those before it; in all others only the last fact is."""
    return sequences.distribution == "train"


def logits_after_prefixes(model: Transformer, prompts: np.ndarray, facts: Sequence[int]) -> np.ndarray:
    """Logits of the variables for the last query as the k-th fact, [n, len(facts), N]; prompts [n, 5K−1], k <= K."""
    n_trunk = (max(facts) - 1) * FACT_LENGTH
    positions, branches = _layout(n_trunk, facts)
    query = prompts[:, -BRANCH:]
    tokens = np.concatenate([prompts[:, :n_trunk], np.tile(query, (1, len(facts)))], axis=1)
    return variable_logits(model, tokens, slice(n_trunk + EQUALS, None, BRANCH), positions, branches)


def logits_at_every_fact(model: Transformer, tokens: np.ndarray, slot: int = EQUALS) -> np.ndarray:
    """Logits of the variables at one slot of every fact, by default its '=', [n, k, N]: an ordinary pass."""
    return variable_logits(model, tokens[:, :-1], slice(slot, None, FACT_LENGTH))


def logits_at_positions(model: Transformer, prompts: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Logits of the variables for the last query, with the tokens at the given positions, [n, N]."""
    return variable_logits(model, prompts, slice(-1, None), torch.from_numpy(positions))[:, 0]


def _layout(n_trunk: int, facts: Sequence[int]) -> tuple[Tensor, Branches]:
    """Positions [T] of a trunk followed by one branch for each number of facts, and what the branches attend to."""
    starts = (torch.tensor(facts) - 1).repeat_interleave(BRANCH) * FACT_LENGTH
    trunk = torch.arange(n_trunk)
    branch = torch.arange(len(facts)).repeat_interleave(BRANCH)
    within = torch.arange(BRANCH).repeat(len(facts))
    own = (branch == branch[:, None]) & (within <= within[:, None])
    mask = torch.cat([trunk < starts[:, None], own], dim=1)
    return torch.cat([trunk, starts + within]), Branches(n_trunk, mask)
