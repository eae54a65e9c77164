"""Posteriors, kinds and ceilings of batches of queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from icalgebra.errors import InputError, unknown
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import facts_of
from icalgebra.language.world import World
from icalgebra.oracle.arrays import oracle_arrays
from icalgebra.oracle.rows import TOO_MANY_BLOCKS, weigh_each, weigh_last_after_prefixes, weigh_rows
from icalgebra.oracle.threads import parallel_rows

if TYPE_CHECKING:
    from jaxtyping import Float64

Query = Literal["holdout", "train"]
Ask = Literal["last", "each"]
QUERIES: tuple[Query, ...] = ("train", "holdout")  # in the order of the kernels' modes
KINDS = np.array(["impossible", "guess", "entailed"])


@dataclass(frozen=True, eq=False)
class Judgement:
    """Posteriors [..., N] and kinds [...]: entailed (one answer has probability 1), guess, or impossible (a zero row).

    log_weights [n]: log of the joint probability of context and query pair, where one query a row was asked.
    """

    probabilities: np.ndarray
    kinds: np.ndarray
    log_weights: np.ndarray | None = None


def posterior(tokens: ArrayLike, world: World, query: Query = "holdout") -> Float64[np.ndarray, "n N"]:
    """The exact posterior over the answer, [n, N]; tokens [n, 5k−1] end in the query's '='. A zero row: impossible."""
    return judge(tokens, world, query).probabilities


def judge(tokens: ArrayLike, world: World, query: Query = "holdout") -> Judgement:
    """The posterior of every query and its kind."""
    facts, queries = split_query(tokens, world)
    n = len(facts)
    probabilities, log_weights = np.zeros((n, world.n_variables)), np.empty(n)
    kinds = np.empty(n, dtype=np.int64)
    parallel_rows(
        weigh_rows, n, oracle_arrays(world), facts, queries, mode_of(query), probabilities, kinds, log_weights
    )
    return Judgement(probabilities, named(kinds), log_weights)


def judge_by_facts(tokens: np.ndarray, world: World, query: Query = "holdout", ask: Ask | None = None) -> Judgement:
    """Judgements after every prefix, [n, k, N] and [n, k]: place j has j facts of context.

    ask "last": the last query after each prefix (the rule for holdout); "each": every fact as the query to the facts
    before it (the rule for train). "last" with query "train" is the view of one who does not know what is held out.
    """
    facts, queries = split_query(tokens, world)
    n, k = len(facts), facts.shape[1] + 1
    probabilities, kinds = np.zeros((n, k, world.n_variables)), np.empty((n, k), dtype=np.int64)
    arrays, mode = oracle_arrays(world), mode_of(query)
    if asks_each(query, ask):
        parallel_rows(weigh_each, n, arrays, with_queries(facts, queries), mode, probabilities, kinds)
    else:
        parallel_rows(weigh_last_after_prefixes, n, arrays, facts, queries, mode, probabilities, kinds)
    return Judgement(probabilities, named(kinds))


def posterior_by_facts(
    tokens: np.ndarray, world: World, query: Query = "holdout", ask: Ask | None = None
) -> Float64[np.ndarray, "n k N"]:
    """The posterior after every prefix of 0 … k−1 context facts, [n, k, N]; see judge_by_facts."""
    return judge_by_facts(tokens, world, query, ask).probabilities


def oracle_predictor(world: World, query: Query = "holdout") -> Callable[[np.ndarray], np.ndarray]:
    """The oracle as a Predictor: tokens [n, 5k−1] -> probabilities [n, N]."""
    oracle_arrays(world)  # refuse now rather than at the first call
    mode_of(query)
    return lambda tokens: posterior(tokens, world, query)


@dataclass(frozen=True, eq=False)
class Ceiling:
    """Per sequence and context size 1 … k−1: expected accuracy (max p), the credit won, and each query's kind."""

    expected: np.ndarray
    hits: np.ndarray
    kinds: np.ndarray

    @property
    def entailed(self) -> np.ndarray:
        return self.kinds == "entailed"


def ceiling_hits(
    sequences: Sequences, query: Query = "holdout", ask: Ask | None = None, world: World | None = None
) -> Ceiling:
    """The best possible accuracy by context size; equally likely best answers share the credit.

    world: what the guesser believes in, where that is not the sequences' own. What it holds impossible earns nothing.
    """
    judged = judge_by_facts(sequences.prompts, world or sequences.world, query, ask)
    p = judged.probabilities[:, 1:]
    every = sequences.facts[:, 1:, 2]
    truth = every if asks_each(query, ask) else np.broadcast_to(every[:, -1:], every.shape)
    return Ceiling(p.max(axis=-1), credit(p, truth), judged.kinds[:, 1:])


def credit(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """What naming the likeliest answer wins, [...]: 1 or 0, or a share of 1 where several answers are likeliest."""
    best = probabilities.max(axis=-1, keepdims=True)
    tied = (probabilities >= best * (1 - 1e-9)) & (best > 0)
    won = np.take_along_axis(tied, truth[..., None].astype(np.int64), axis=-1)[..., 0]
    return won / np.maximum(tied.sum(axis=-1), 1)


def asks_each(query: Query, ask: Ask | None) -> bool:
    """Whether every fact is a query, not only the last: what `ask` says, or else what the kind of query suggests."""
    if ask not in (None, "last", "each"):
        raise unknown("ask", str(ask), ("last", "each"))
    return (ask or ("each" if query == "train" else "last")) == "each"


def split_query(rows: ArrayLike, world: World) -> tuple[np.ndarray, np.ndarray]:
    """Tokens [n, 5k−1] to context facts [n, k−1, 3] and queries [n, 2]; malformed tokens raise InputError."""
    tokens = world.vocabulary.prompts(rows)
    facts = facts_of(np.pad(tokens, ((0, 0), (0, 1)))).astype(np.int64)
    return np.ascontiguousarray(facts[:, :-1]), np.ascontiguousarray(facts[:, -1, :2])


def with_queries(facts: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The context facts [n, k−1, 3] and the query as a last fact whose answer is not read."""
    last = np.concatenate([queries, np.zeros_like(queries[:, :1])], axis=1)
    return np.concatenate([facts, last[:, None]], axis=1)


def mode_of(query: str) -> int:
    if query not in QUERIES:
        raise unknown("query", query, QUERIES)
    return QUERIES.index(query)


def named(kinds: np.ndarray) -> np.ndarray:
    """Kinds as words; a context in too many unconnected parts is refused."""
    if (kinds == TOO_MANY_BLOCKS).any():
        raise InputError(
            "a context falls into too many unconnected parts to be counted exactly; "
            "give facts that share more variables, or take a world of fewer structures"
        )
    return KINDS[kinds]
