"""All evaluations of a model in training: each name in metrics.jsonl is one of these.

holdout, holdout_reserved_identity, holdout_unshuffled, copy, commute, identity, cancel, associate
                    accuracy on that distribution at the run's number of facts
holdout/25          hold-out accuracy at 25 facts
closure_top_k, _1   at the query's left slot: are the K highest logits the K members seen so far of the left
                    variable's structure; is the highest one of them. All tokens compete, ',' and '=' too
structural          accuracy of ',' and '=' on training sequences
loss/left …         loss of the tokens of each slot, in nats
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import COMMA, EQUALS, FACT_LENGTH, LEFT, MECHANISMS, SLOTS
from icalgebra.language.world import World
from icalgebra.model.accuracy import accuracy_estimate, evaluation_stream, hits
from icalgebra.model.closure import seen_members, top_1, top_k
from icalgebra.model.predict import as_predictor, chunks, on_device, rows_per_pass
from icalgebra.model.transformer import Transformer
from icalgebra.statistics import Estimate, mean

HOLDOUTS = ("holdout", "holdout_reserved_identity", "holdout_unshuffled")
CLOSURES = ("closure_top_k", "closure_top_1")


def is_share(name: str) -> bool:
    """Whether an evaluation counts hits among its sequences: its value and n then give its interval."""
    return name.partition("/")[0] in (*HOLDOUTS, *MECHANISMS, *CLOSURES)


class Evaluations:
    """The evaluation sequences, sampled once; calling it with a model measures everything."""

    def __init__(self, world: World, n_facts: int, n: int, facts: tuple[int, ...] = (), seed: int = 0) -> None:
        if min(n_facts, n) < 2:
            raise InputError(f"evaluations need at least 2 facts and 2 sequences, not {n_facts} and {n}")
        self.world, self.n_facts, self.n, self.facts, self.seed = world, n_facts, n, facts, seed

    def __call__(self, model: Transformer, watched: Callable[[list[str]], Iterable[str]] = iter) -> dict[str, Estimate]:
        """watched: goes through the names of the questions, so that a bar can show how far it is."""
        was_training = model.training
        model.eval()
        predictor = as_predictor(model)
        measured = {
            name: accuracy_estimate(hits(predictor, self.questions[name])) for name in watched(list(self.questions))
        }
        measured |= measure_training_tokens(model, self.training_sequences)
        model.train(was_training)
        return measured

    @cached_property
    def questions(self) -> dict[str, Sequences]:
        wanted = [(name, name, self.n_facts) for name in (*HOLDOUTS, *MECHANISMS)]
        wanted += [(f"holdout/{k}", "holdout", k) for k in self.facts]
        made = {label: self._sample(name, n_facts) for label, name, n_facts in wanted}
        return {label: sequences for label, sequences in made.items() if sequences is not None}

    @cached_property
    def training_sequences(self) -> Sequences:
        return sample("train", self.n, self.n_facts, self.seed, self.world, stream=evaluation_stream("train"))

    def _sample(self, name: str, n_facts: int) -> Sequences | None:
        """None where this world cannot ask the question: too few facts, say, or no reserved variable."""
        try:
            return sample(name, self.n, n_facts, self.seed, self.world, stream=evaluation_stream(name))
        except InputError:
            return None


@torch.inference_mode()
def measure_training_tokens(model: Transformer, sequences: Sequences) -> dict[str, Estimate]:
    """Structural accuracy, loss by slot and closure, from one pass over training sequences."""
    size = rows_per_pass(model, sequences.tokens.shape[1])
    parts = [_measure_batch(model, sequences[rows]) for rows in chunks(len(sequences), size)]
    losses, structural, exact, highest = (np.concatenate(values) for values in zip(*parts))
    measured = {
        "structural": mean(structural.mean(axis=1)),
        "closure_top_k": accuracy_estimate(exact),
        "closure_top_1": accuracy_estimate(highest),
    }
    return measured | {f"loss/{slot}": mean(losses[:, i]) for i, slot in enumerate(SLOTS)}


def _measure_batch(model: Transformer, sequences: Sequences) -> tuple[np.ndarray, ...]:
    """Mean loss of each slot [n, 5], structural hits [n, …], closure hits [n] and [n]."""
    tokens = on_device(model, sequences.tokens)
    logits = model(tokens[:, :-1]).float()
    losses = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none").view(len(tokens), -1)
    right = (logits.argmax(-1) == tokens[:, 1:]).cpu().numpy()
    slots = np.arange(1, tokens.shape[1]) % FACT_LENGTH
    by_slot = np.stack([losses[:, slots == slot].mean(1).cpu().numpy() for slot in range(FACT_LENGTH)], axis=1)
    structural = right[:, (slots == COMMA) | (slots == EQUALS)]
    # The query's left slot; its answer, the last token, has no logits behind it.
    at_left, seen = logits[:, LEFT - FACT_LENGTH + 1].cpu().numpy(), seen_members(sequences)[:, -1]
    return by_slot, structural, top_k(at_left, seen), top_1(at_left, seen)
