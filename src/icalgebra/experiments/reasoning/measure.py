"""Queries by the lowest rung of the ladder that decides them, and the model's accuracy by rung and by depth.

Right answers can be guesses. The floor of a query is how often the same model is right on queries that are not
entailed, with as many candidates left (closure set − cancellation set): there nobody can do more than guess. If a model
reasons on a share r of queries and guesses on the others, it is right in r + (1 − r)·floor; `reasoned` is that r.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.experiments.shared.loaded_model import LoadedModel, result_about
from icalgebra.experiments.shared.predictor_comparison import compare_predictors
from icalgebra.experiments.shared.rungs import BEYOND, FIVE, GUESS, LABELS, QueryRungs, prefix_prompt, query_rungs
from icalgebra.language.sequences import Sequences
from icalgebra.results import Curve, Result
from icalgebra.solvers import MECHANISMS, Queries, candidate_sets
from icalgebra.solvers.coverage import coverage
from icalgebra.solvers.ladder import RUNGS, Proof, prove
from icalgebra.statistics import Estimate, auc, mean, proportion, share_among

KINDS: dict[str, Queries] = {"train": "every", "holdout": "last"}
DEPTHS = (1, 2, 3, 4, 5)  # the last stands for itself and all above
MOST_CANDIDATES = 8  # and more
RESAMPLES = 1000


def run(tier: str, seed: int, loaded: LoadedModel, n: int, n_facts: int, n_proofs: int) -> Result:
    n_facts = loaded.facts(n_facts)
    values: dict[str, Estimate] = {}
    curves: dict[str, Curve] = {}
    details: dict[str, Any] = {}
    for kind, asked in KINDS.items():
        sequences = sample(kind, n, n_facts, seed, loaded.world, stream=f"reasoning/{kind}")
        answers = compare_predictors(loaded, sequences, range(2, n_facts + 1))
        found = query_rungs(sequences, answers.solvers, answers.kinds)
        floors = guess_floors(answers.model, found, sequences, asked)
        measured = accuracy_by(answers.model, found, floors)
        values |= {f"{kind}.{key}": estimate for key, estimate in measured.items()}
        curves |= {f"{kind}.{key}": curve for key, curve in rung_curves(sequences, asked, found).items()}
        curves[f"{kind}.model"] = Curve.from_hits(answers.model, range(1, n_facts))
        curves[f"{kind}.ceiling"] = Curve.from_hits(answers.ceiling, range(1, n_facts))
        if kind == "holdout":
            proofs = some_proofs(sequences, found, n_proofs)
            values |= proof_sizes(proofs)
            details["examples"] = examples(sequences, found, answers.model)
    config = {"n": n, "n_facts": n_facts, "n_proofs": n_proofs}
    return result_about(loaded, "reasoning", tier, seed, config, values, curves, details)


def guess_floors(hits: np.ndarray, found: QueryRungs, sequences: Sequences, asked: Queries) -> np.ndarray:
    """For every query the model's accuracy on guesses with as many candidates."""
    sets = candidate_sets(sequences.tokens, asked, sequences.world.n_variables)[:, 1:]
    n_candidates = np.minimum(np.bitwise_count(sets), MOST_CANDIDATES).astype(int)
    guesses = found.labels == GUESS
    floors = np.zeros(hits.shape)
    for m in range(MOST_CANDIDATES + 1):
        alike = guesses & (n_candidates == m)
        floors[n_candidates == m] = hits[alike].mean() if alike.any() else hits[guesses].mean()
    return floors


def accuracy_by(hits: np.ndarray, found: QueryRungs, floors: np.ndarray) -> dict[str, Estimate]:
    """By rung: share of queries, accuracy, floor, share reasoned. By depth the same, beyond the five mechanisms."""
    values: dict[str, Estimate] = {}
    entailed = found.labels != GUESS
    beyond = entailed & (found.labels != FIVE)
    for label in LABELS:
        values[f"{label}.share"] = auc(found.at(label))
        values |= _scores(label, hits, floors, found.at(label))
    values |= _scores("beyond", hits, floors, beyond)
    decided_anyhow = (found.decided >= 0) | found.at("catalogue")
    for place, rung in enumerate(RUNGS):
        # Of split only what the five leave was asked, so the share is among those queries.
        within = (found.decided >= 0) & (found.decided <= place)
        values[f"decides.{rung}"] = share_among(within & beyond, decided_anyhow & beyond)
    for depth in DEPTHS:
        deep = found.depths >= depth if depth == DEPTHS[-1] else found.depths == depth
        values |= _scores(f"depth.{depth}", hits, floors, beyond & deep)
    values["beyond.right_reasoned"] = reasoned_share(hits, floors, found)
    values["beyond.right"] = auc(hits & (found.labels != FIVE))
    return values


def _scores(name: str, hits: np.ndarray, floors: np.ndarray, among: np.ndarray) -> dict[str, Estimate]:
    if not among.any():
        return {}
    return {
        f"{name}.accuracy": share_among(hits, among),
        f"{name}.floor": proportion(float(floors[among].sum()), int(among.sum())),
        f"{name}.reasoned": _resampled(_reasoned, [hits, floors, np.ones(hits.shape)], among),
    }


def _reasoned(right: np.ndarray, guessed: np.ndarray, n: np.ndarray) -> np.ndarray:
    return (right - guessed) / np.maximum(n - guessed, 1e-9)


def _resampled(ratio: Any, parts: list[np.ndarray], among: np.ndarray) -> Estimate:
    """A function of sums over the selected queries, with its interval from resampling sequences."""
    sums = np.stack([np.where(among, part, 0).sum(axis=1) for part in parts]).astype(float)
    draws = np.random.default_rng(0).integers(0, sums.shape[1], size=(RESAMPLES, sums.shape[1]))
    resampled = sums[:, draws].sum(axis=2)
    usable = resampled[-1] > 0
    low, high = np.quantile(ratio(*resampled[:, usable]), [0.025, 0.975])
    return Estimate(float(ratio(*sums.sum(axis=1, keepdims=True))[0]), float(low), float(high), int(among.sum()))


def reasoned_share(hits: np.ndarray, floors: np.ndarray, found: QueryRungs) -> Estimate:
    """Of the right answers that no mechanism has: the share that is reasoning. The others are guesses, all of those on
    queries that are not entailed among them.

    Each rung has its own share of reasoning, and n is the number of right answers.
    """
    right = hits & (found.labels != FIVE)
    if not right.any():
        return proportion(0, 0)
    parts = [
        np.where(found.at(label), part, 0).sum(axis=1)
        for label in BEYOND
        for part in (hits, floors, np.ones(hits.shape))
    ]
    sums = np.stack([*parts, right.sum(axis=1)]).astype(float)
    draws = np.random.default_rng(0).integers(0, sums.shape[1], size=(RESAMPLES, sums.shape[1]))

    def share(totals: np.ndarray) -> np.ndarray:
        rungs = totals[:-1].reshape(len(BEYOND), 3, -1)
        shares = np.clip(_reasoned(rungs[:, 0], rungs[:, 1], rungs[:, 2]), 0, 1)
        return (shares * rungs[:, 2]).sum(axis=0) / np.maximum(totals[-1], 1)

    low, high = np.quantile(share(sums[:, draws].sum(axis=2)), [0.025, 0.975])
    return Estimate(float(share(sums.sum(axis=1, keepdims=True))[0]), float(low), float(high), int(right.sum()))


def rung_curves(sequences: Sequences, asked: Queries, found: QueryRungs) -> dict[str, Curve]:
    """The share of queries at each label, by facts of context; the five mechanisms one by one."""
    sizes = range(1, sequences.facts.shape[1])
    covered = coverage(sequences.tokens, asked, sequences.world.n_variables)
    by_mechanism = {name: Curve.from_hits(covered.hits(name), sizes) for name in MECHANISMS}
    return by_mechanism | {label: Curve.from_hits(found.at(label), sizes) for label in LABELS[1:]}


def some_proofs(sequences: Sequences, found: QueryRungs, n_proofs: int) -> list[Proof]:
    """Proofs of queries beyond the five mechanisms, at most one per sequence and rung."""
    proofs: list[Proof] = []
    for rung in RUNGS:
        places = [(row, int(np.flatnonzero(cells)[0])) for row, cells in enumerate(found.at(rung)) if cells.any()]
        for row, column in places[: n_proofs // len(RUNGS)]:
            proof = prove(prefix_prompt(sequences, row, column + 1), sequences.world)
            proofs += [proof] if proof is not None else []
    return proofs


def proof_sizes(proofs: list[Proof]) -> dict[str, Estimate]:
    values = {}
    for rung in RUNGS:
        own = [proof for proof in proofs if proof.rung == rung]
        if len(own) > 1:
            values[f"proof.{rung}.premises"] = mean(np.array([len(proof.premises) for proof in own]))
            values[f"proof.{rung}.steps"] = mean(np.array([len(proof.steps) for proof in own]))
            values[f"proof.{rung}.depth"] = mean(np.array([proof.depth for proof in own]))
    return values


def examples(sequences: Sequences, found: QueryRungs, hits: np.ndarray) -> list[dict[str, Any]]:
    """For each rung the query with the shortest context that the model answers, with its proof in words; and an
    entailed query that no rung below the catalogue decides."""
    chosen = []
    for label in ("chain", "associative", "catalogue"):
        cells = np.argwhere(found.at(label) & (hits | (label == "catalogue")))
        if not len(cells):
            continue
        row, column = cells[cells[:, 1].argmin()]
        prompt = prefix_prompt(sequences, int(row), int(column) + 1)
        text = sequences.world.vocabulary.decode(prompt)[0]
        proof = None if label == "catalogue" else prove(prompt, sequences.world)
        words = [] if proof is None else proof.words(text[1:].split(",")[:-1])
        answer = sequences.facts[row, -1, 2]
        chosen.append(
            {
                "rung": label,
                "text": text,
                "answer": sequences.world.vocabulary.variables[answer],
                "structures": sequences.structure_names(int(row)),
                "proof": words,
            }
        )
    return chosen
