"""The evaluations of a model during training: each name in metrics.jsonl is one of these.

holdout, holdout_reserved_identity, holdout_unshuffled, copy, commute, identity, cancel, associate
                    accuracy on that distribution at the run's number of facts
holdout/25          hold-out accuracy at 25 facts
closure_top_k, _1   at the query's left slot: whether the K highest logits are the K members seen so far of the
                    left variable's structure; whether the highest is one of them. ',' and '=' compete too
structural          accuracy of ',' and '=' on training sequences
loss/left …         loss per slot, in nats
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F

from icalgebra.data.distributions import check_memory, sample
from icalgebra.errors import InputError
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import COMMA, EQUALS, FACT_LENGTH, LEFT, MECHANISMS, SLOTS
from icalgebra.language.world import World
from icalgebra.model.accuracy import accuracy_estimate, evaluation_stream, hits
from icalgebra.model.closure import seen_members, top_1, top_k
from icalgebra.model.predict import as_predictor, on_device, passes
from icalgebra.model.transformer import Transformer
from icalgebra.statistics import Estimate, mean

HOLDOUTS = ("holdout", "holdout_reserved_identity", "holdout_unshuffled")
CLOSURES = ("closure_top_k", "closure_top_1")


def is_accuracy(name: str) -> bool:
    """Whether a name is a fraction of sequences (and not a mean), so that its value and n give its interval."""
    return name.partition("/")[0] in (*HOLDOUTS, *MECHANISMS, *CLOSURES)


class Evaluations:
    """The evaluation sequences, sampled once; calling it with a model returns every evaluation."""

    def __init__(self, world: World, n_facts: int, n: int, facts: tuple[int, ...] = (), seed: int = 0) -> None:
        if min(n_facts, n) < 2:
            raise InputError(f"evaluations need at least 2 facts and 2 sequences, not {n_facts} and {n}")
        check_memory(n, (len(HOLDOUTS) + len(MECHANISMS) + 1) * n_facts + sum(facts), " in all evaluations")
        self.world, self.n_facts, self.n, self.facts, self.seed = world, n_facts, n, facts, seed

    def __call__(self, model: Transformer, watched: Callable[[list[str]], Iterable[str]] = iter) -> dict[str, Estimate]:
        """watched: wraps the list of evaluation names, for instance in a progress bar."""
        was_training = model.training
        model.eval()
        predictor = as_predictor(model)
        measured = {
            name: accuracy_estimate(hits(predictor, self.query_sets[name])) for name in watched(list(self.query_sets))
        }
        measured |= measure_training_tokens(model, self.training_sequences)
        model.train(was_training)
        return measured

    @cached_property
    def query_sets(self) -> dict[str, Sequences]:
        """The sequences of each accuracy. Those that this world cannot have are skipped: too few facts, for instance,
        or no reserved variable."""
        wanted = [(name, name, self.n_facts) for name in (*HOLDOUTS, *MECHANISMS)]
        wanted += [(f"holdout/{k}", "holdout", k) for k in self.facts]
        found = {}
        for label, name, n_facts in wanted:
            with suppress(InputError):
                found[label] = self._sample(name, n_facts)
        return found

    @cached_property
    def training_sequences(self) -> Sequences:
        return self._sample("train", self.n_facts)

    def _sample(self, name: str, n_facts: int) -> Sequences:
        return sample(name, self.n, n_facts, self.seed, self.world, stream=evaluation_stream(name))


@torch.inference_mode()
def measure_training_tokens(model: Transformer, sequences: Sequences) -> dict[str, Estimate]:
    """Structural accuracy, loss by slot and closure, from one pass over training sequences."""
    parts = [_measure_batch(model, sequences[rows]) for rows in passes(model, sequences.tokens)]
    losses, structural, exact, highest = (np.concatenate(values) for values in zip(*parts))
    measured = {
        "structural": mean(structural.mean(axis=1)),
        "closure_top_k": accuracy_estimate(exact),
        "closure_top_1": accuracy_estimate(highest),
    }
    return measured | {f"loss/{slot}": mean(losses[:, i]) for i, slot in enumerate(SLOTS)}


def _measure_batch(model: Transformer, sequences: Sequences) -> tuple[np.ndarray, ...]:
    """Mean loss of each slot [n, 5], structural hits [n, …], closure hits top-k [n] and top-1 [n]."""
    tokens = on_device(model, sequences.tokens)
    logits = model(tokens[:, :-1]).float()
    losses = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none").view(len(tokens), -1)
    right = (logits.argmax(-1) == tokens[:, 1:]).cpu().numpy()
    slots = np.arange(1, tokens.shape[1]) % FACT_LENGTH
    by_slot = np.stack([losses[:, slots == slot].mean(1).cpu().numpy() for slot in range(FACT_LENGTH)], axis=1)
    structural = right[:, (slots == COMMA) | (slots == EQUALS)]
    # The query's left slot, counted from the end; the logits stop one short of the tokens, before the answer.
    at_left, seen = logits[:, LEFT - FACT_LENGTH + 1].cpu().numpy(), seen_members(sequences)[:, -1]
    return by_slot, structural, top_k(at_left, seen), top_1(at_left, seen)
