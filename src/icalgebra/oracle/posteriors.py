"""Posteriors, classifications and ceilings for batches of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from icalgebra.data.distributions import holds_out
from icalgebra.errors import InputError, unknown
from icalgebra.language.parsing import as_prompts
from icalgebra.language.sequences import Sequences
from icalgebra.language.vocabulary import Vocabulary, facts_of
from icalgebra.language.world import World, check_world
from icalgebra.markup import bars, join, paragraph, table
from icalgebra.oracle.arrays import oracle_arrays
from icalgebra.oracle.budget import MAX_ENTRIES, MAX_STEPS
from icalgebra.oracle.rows import (
    OVER_BUDGET,
    TOO_MANY_COMPONENTS,
    every_query_posteriors,
    last_query_posteriors,
    query_posteriors,
)
from icalgebra.oracle.threads import parallel_rows
from icalgebra.records import argument
from icalgebra.solvers import Queries

if TYPE_CHECKING:
    from jaxtyping import Float64

Query = Literal["holdout", "train"]
QUERIES: tuple[Query, ...] = ("train", "holdout")  # in the order of the kernels' modes
KINDS = np.array(["impossible", "guess", "entailed"])  # in the order of the kernels' kinds


@dataclass(frozen=True)
class Posterior:
    """The answer to one query: its kind, and the variables that are possible, likeliest first."""

    kind: str
    probabilities: dict[str, float]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {p:.3g}" for name, p in list(self.probabilities.items())[:4])
        more = len(self.probabilities) - 4
        return f"Posterior({self.kind}: {shown}{f' and {more} more' if more > 0 else ''})"

    def _repr_html_(self) -> str:
        return join([paragraph(self.kind), bars(self.probabilities)])


@dataclass(frozen=True, eq=False, repr=False)
class ClassifiedQueries:
    """Posteriors [..., N] and kinds [...]: entailed (one answer has probability 1), guess, or impossible (a zero row).

    log_weights [n]: log of the joint probability of context and query pair; only where each row has one query.
    found[0] is one query's Posterior.
    """

    probabilities: np.ndarray
    kinds: np.ndarray
    log_weights: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, rows: int | slice) -> Posterior | ClassifiedQueries:
        kinds, probabilities = self.kinds[rows], self.probabilities[rows]
        if np.ndim(kinds):
            return ClassifiedQueries(probabilities, kinds, None if self.log_weights is None else self.log_weights[rows])
        return Posterior(str(kinds), ranked(probabilities))

    def __iter__(self) -> Iterator[Posterior | ClassifiedQueries]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        counts = ", ".join(f"{(self.kinds == kind).sum():,} {kind}" for kind in reversed(KINDS))
        return f"ClassifiedQueries({counts})"

    def _repr_html_(self) -> str:
        rows = [(i, item.kind, bars(dict(list(item.probabilities.items())[:3])))
                for i, item in enumerate(islice(self, 8)) if isinstance(item, Posterior)]  # fmt: skip
        return join([paragraph(repr(self)), table(("row", "kind", "likeliest answers"), rows) if rows else ""])


def ranked(probabilities: np.ndarray, digits: int = 30) -> dict[str, float]:
    """The variables with a probability above 0, likeliest first."""
    letters, order = Vocabulary(len(probabilities)).variables, np.argsort(-probabilities, kind="stable")
    return {letters[i]: round(float(probabilities[i]), digits) for i in order if probabilities[i] > 0}


def posterior(tokens: Any, world: World, query: Query = "holdout") -> Float64[np.ndarray, "n N"]:
    """The posterior over the answer, [n, N]; zeros: impossible. Tokens [n, 5k−1], text or sequences end in its '='."""
    return classify_queries(tokens, world, query).probabilities


def classify_queries(tokens: Any, world: World, query: Query = "holdout") -> ClassifiedQueries:
    """The posterior of every query, and whether its answer is entailed, a guess or impossible."""
    facts, queries = split_query(tokens, world)
    n = len(facts)
    probabilities, log_weights = np.zeros((n, world.n_variables)), np.empty(n)
    kinds = np.empty(n, dtype=np.int64)
    arrays, mode = oracle_arrays(world), query_mode(query)
    parallel_rows(query_posteriors, kinds, arrays, facts, queries, mode, probabilities, kinds, log_weights)
    return ClassifiedQueries(probabilities, kind_names(kinds), log_weights)


def classify_by_facts(
    tokens: np.ndarray, world: World, query: Query = "holdout", ask: Queries | None = None
) -> ClassifiedQueries:
    """The same after every prefix of the context, [n, k, N] and [n, k]: index j has j facts of context.

    ask "last": the last query after each prefix (default for holdout). "every": every fact as the query to the facts
    before it (default for train). "last" with query "train": a predictor that does not know what is held out.
    """
    facts, queries = split_query(tokens, world)
    n, k = len(facts), facts.shape[1] + 1
    probabilities, kinds = np.zeros((n, k, world.n_variables)), np.empty((n, k), dtype=np.int64)
    arrays, mode = oracle_arrays(world), query_mode(query)
    if asks_every(query, ask):
        last = np.pad(queries, ((0, 0), (0, 1)))[:, None]  # the query as a last fact, whose answer is not read
        every_fact = np.concatenate([facts, last], axis=1)
        parallel_rows(every_query_posteriors, kinds, arrays, every_fact, mode, probabilities, kinds)
    else:
        parallel_rows(last_query_posteriors, kinds, arrays, facts, queries, mode, probabilities, kinds)
    return ClassifiedQueries(probabilities, kind_names(kinds))


def posterior_by_facts(
    tokens: np.ndarray, world: World, query: Query = "holdout", ask: Queries | None = None
) -> Float64[np.ndarray, "n k N"]:
    """The posterior after every prefix of 0 … k−1 context facts, [n, k, N]; see classify_by_facts."""
    return classify_by_facts(tokens, world, query, ask).probabilities


def oracle_predictor(world: World, query: Query = "holdout") -> Callable[[np.ndarray], np.ndarray]:
    """The oracle as a Predictor: tokens [n, 5k−1] -> probabilities [n, N]."""
    oracle_arrays(argument(World, world, "world"))  # raise here rather than at the first call
    query_mode(query)
    return lambda tokens: posterior(tokens, world, query)


def catalogue_predictor(world: World, query: Query = "holdout") -> Callable[[np.ndarray], np.ndarray]:
    """The ladder's top rung as a Predictor: the entailed answer, or a zero row where none is."""

    def predict(tokens: np.ndarray) -> np.ndarray:
        classified = classify_queries(tokens, world, query)
        return np.where((classified.kinds == "entailed")[:, None], classified.probabilities, 0.0)

    return predict


@dataclass(frozen=True, eq=False)
class Ceiling:
    """Per sequence and context size 1 … k−1: expected accuracy (max p), credit won, and kind of query."""

    expected: np.ndarray
    hits: np.ndarray
    kinds: np.ndarray

    @property
    def entailed(self) -> np.ndarray:
        return self.kinds == "entailed"


def ceiling_hits(
    sequences: Sequences, query: Query | None = None, ask: Queries | None = None, world: World | None = None
) -> Ceiling:
    """The best possible accuracy by context size; equally likely best answers share the credit.

    query: by default holdout where the distribution holds the query and its reverse out, else train; ask then "every"
    for train and "last" for all others, as in hits_by_facts. world: the world that the predictor believes in, if not
    the sequences' own. Impossible queries earn no credit.
    """
    if query is None:
        ask = ask or ("every" if sequences.distribution == "train" else "last")
        query = "holdout" if holds_out(sequences.distribution) else "train"
    classified = classify_by_facts(sequences.prompts, world or sequences.world, query, ask)
    p = classified.probabilities[:, 1:]
    answers = sequences.facts[:, 1:, 2]
    truth = answers if asks_every(query, ask) else np.broadcast_to(answers[:, -1:], answers.shape)
    return Ceiling(p.max(axis=-1), credit(p, truth), classified.kinds[:, 1:])


def credit(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The credit for answering with the likeliest variable, [...]: 1 or 0, or 1/m where m variables are likeliest."""
    best = probabilities.max(axis=-1, keepdims=True)
    tied = (probabilities >= best * (1 - 1e-9)) & (best > 0)
    won = np.take_along_axis(tied, truth[..., None].astype(np.int64), axis=-1)[..., 0]
    return won / np.maximum(tied.sum(axis=-1), 1)


def asks_every(query: Query, ask: Queries | None) -> bool:
    """Whether every fact is a query, or only the last; by default, every one for train and the last for holdout."""
    if ask not in (None, *get_args(Queries)):
        raise unknown("ask", str(ask), get_args(Queries))
    return query == "train" if ask is None else ask == "every"


def split_query(rows: Any, world: World) -> tuple[np.ndarray, np.ndarray]:
    """Tokens [n, 5k−1] to context facts [n, k−1, 3] and queries [n, 2]; malformed tokens raise InputError."""
    check_world(world)
    tokens = as_prompts(rows, world.vocabulary)
    facts = facts_of(np.pad(tokens, ((0, 0), (0, 1)))).astype(np.int64)
    return np.ascontiguousarray(facts[:, :-1]), np.ascontiguousarray(facts[:, -1, :2])


def query_mode(query: str) -> int:
    """The kernels' number for a kind of query."""
    if argument(str, query, "query") not in QUERIES:
        raise unknown("query", query, QUERIES)
    return QUERIES.index(query)


def kind_names(kinds: np.ndarray) -> np.ndarray:
    """The kernels' kinds as words; InputError for a context that is too expensive to count exactly."""
    if (kinds == OVER_BUDGET).any():
        raise InputError(
            f"a context has too many solutions to be counted exactly: more than {MAX_STEPS:,} steps or "
            f"{MAX_ENTRIES:,} entries; give facts that share more variables, or use fewer or smaller structures"
        )
    if (kinds == TOO_MANY_COMPONENTS).any():
        raise InputError(
            "a context has too many unconnected components to be counted exactly; "
            "give facts that share more variables, or use a world of fewer structures"
        )
    return KINDS[kinds]
