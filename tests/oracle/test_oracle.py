"""The oracle against brute force, against laws that it must obey, and against the true answers of sampled sequences."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import icalgebra
from brute_force import brute_force_posterior, evidence, joint_weights, lists_of_structures
from helpers import exit_code
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.language.world import World
from icalgebra.oracle import (
    Query,
    ceiling_hits,
    classify_by_facts,
    classify_queries,
    explain_entailed,
    explain_impossible,
    oracle_predictor,
    posterior,
    posterior_by_facts,
    remaining_mixtures,
    slot_floors,
    threads,
)
from icalgebra.oracle.arrays import multisets
from icalgebra.solvers import Queries

TINY = {
    "abelian": World(("C3", "C4", "D2"), 6),
    "abelian, none reserved": World(("C3", "C4", "D2"), 6, 0.5, reserved=None),
    "abelian, 7 variables": World(("C3", "C4", "D2"), 7),
    "order 6": World(("C3", "D3", "C6"), 6),
    "order 6, none reserved": World(("C3", "D3", "C6"), 6, 0.5, reserved=None),
    "stop": World(("C2", "C3", "C4"), 6, mixture_rule="stop"),
    "all": World(("C2", "D2"), 6, mixture_rule="all"),
    "semigroups": World(("Semigroup(3,0)", "Semigroup(4,1)", "C3"), 6),
    "magmas": World(("Magma(2,0)", "Magma(4,1)"), 6, 0.5),
    "monoid, quasigroup": World(("Monoid(3,0)", "Quasigroup(4,0)", "C1"), 5, reserved=None),
}
PAPER = World()


def text_of(facts: np.ndarray, x: int, y: int, world: World) -> str:
    v = world.vocabulary.variables
    return "".join(f",{v[a]}{v[b]}={v[c]}" for a, b, c in facts) + f",{v[x]}{v[y]}="


def prompt_of(facts: np.ndarray, x: int, y: int, world: World) -> np.ndarray:
    return world.vocabulary.encode(text_of(facts, x, y, world))[None]


def contexts(world: World, query: str, n_context: int, seed: int) -> Iterator[tuple[np.ndarray, int, int]]:
    """A sampled context and query, the same context with a random query, and the same with one corrupted fact."""
    random = np.random.default_rng(seed)
    facts = sample(query, 1, n_context + 1, seed, world).facts[0].astype(np.int64)
    yield facts[:-1], *facts[-1, :2]
    yield facts[:-1], *random.integers(world.n_variables, size=2)
    if n_context:
        facts[random.integers(n_context), random.integers(3)] = random.integers(world.n_variables)
        yield facts[:-1], *facts[-1, :2]


@pytest.mark.parametrize("query", ["holdout", "train"])
@pytest.mark.parametrize("name", TINY)
def test_equals_brute_force_in_exact_fractions(name: str, query: str) -> None:
    world = TINY[name]
    for n_context in range(10):
        for facts, x, y in contexts(world, query, n_context, seed=n_context):
            exact = brute_force_posterior(facts, x, y, world, query)
            judged = classify_queries(prompt_of(facts, x, y, world), world, query)
            np.testing.assert_allclose(judged.probabilities[0], np.array(exact, dtype=float), rtol=1e-10)
            n_possible = sum(p > 0 for p in exact)
            assert judged.kinds[0] == ("impossible" if n_possible == 0 else "entailed" if n_possible == 1 else "guess")


@pytest.mark.parametrize("name", ["abelian", "order 6, none reserved", "semigroups", "magmas"])
def test_floors_equal_brute_force_and_telescope(name: str) -> None:
    world = TINY[name]
    sequences = sample("train", 3, 5, seed=1, world=world)
    floors = slot_floors(sequences.tokens, world)
    for row, facts in enumerate(sequences.facts.astype(int)):
        for n, (a, b, c) in enumerate(facts):
            left = sum(sum(joint_weights(facts[:n], a, y, world, "train")) for y in range(world.n_variables))
            pair = joint_weights(facts[:n], a, b, world, "train")
            exact = [left / evidence(facts[:n], world), sum(pair) / left, pair[c] / sum(pair)]
            np.testing.assert_allclose(np.exp(-floors[row, n]), np.array(exact, dtype=float), rtol=1e-9)
        np.testing.assert_allclose(np.exp(-floors[row].sum()), float(evidence(facts, world)), rtol=1e-9)


def test_floor_of_an_impossible_sequence_is_infinite_from_there_on() -> None:
    floors = slot_floors(PAPER.vocabulary.encode(",bc=d,bc=e,ff=g")[None], PAPER)[0]
    assert np.isfinite(floors[0]).all()
    assert floors[1, 2] == np.inf
    assert (floors[2] == np.inf).all()


@pytest.mark.parametrize("world", [*TINY.values(), World(d2=True)], ids=[*TINY, "D2"])
def test_multisets_are_the_merged_lists(world: World) -> None:
    merged: dict[tuple[int, ...], float] = {}
    for drawn, p in lists_of_structures(world):
        merged[tuple(sorted(drawn))] = merged.get(tuple(sorted(drawn)), 0.0) + float(p)
    found = {multiset: p for multiset, p in multisets(world).items() if p > 0}
    assert found.keys() == merged.keys()
    assert all(found[m] == pytest.approx(merged[m]) for m in merged)


def test_number_of_multisets() -> None:
    assert len(multisets(World())) == 126 + 1  # and the empty one
    assert len(multisets(World(d2=True))) == 187 + 1


# --- laws ------------------------------------------------------------------------------------------------------------

drawn = st.tuples(st.integers(0, 10_000), st.integers(0, 14), st.sampled_from(["holdout", "train"]))


def draw_case(case: tuple[int, int, str]) -> tuple[np.ndarray, int, int]:
    start, n_context, query = case
    facts = sample(query, 1, n_context + 1, seed=5, world=PAPER, start=start).facts[0].astype(np.int64)
    return facts[:-1], int(facts[-1, 0]), int(facts[-1, 1])


@settings(max_examples=40, deadline=None)
@given(drawn, st.permutations(range(1, 16)))
def test_relabelling_unreserved_variables_relabels_the_posterior(case: tuple, names: list[int]) -> None:
    facts, x, y = draw_case(case)
    renamed = np.array([0, *names])
    before = posterior(prompt_of(facts, x, y, PAPER), PAPER, case[2])[0]
    after = posterior(prompt_of(renamed[facts], renamed[x], renamed[y], PAPER), PAPER, case[2])[0]
    np.testing.assert_allclose(after[renamed], before, rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(drawn, st.randoms(use_true_random=False))
def test_only_distinct_facts_and_their_number_matter(case: tuple, random: st.DrawFn) -> None:
    facts, x, y = draw_case(case)
    distinct = np.unique(facts, axis=0)
    again = [*range(len(distinct)), *(random.randrange(len(distinct)) for _ in range(len(facts) - len(distinct)))]
    random.shuffle(again)
    before, after = (
        posterior(prompt_of(these, x, y, PAPER), PAPER, case[2])[0]
        for these in (facts, distinct[again] if again else facts)
    )
    np.testing.assert_allclose(after, before, rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(drawn)
def test_a_possible_answer_added_as_a_fact_is_entailed(case: tuple) -> None:
    """And the weight of pair and answer is the probability of the longer context, as the loss floors give it."""
    facts, x, y = draw_case(case)
    judged = classify_queries(prompt_of(facts, x, y, PAPER), PAPER, "train")
    for z in np.flatnonzero(judged.probabilities[0])[:4]:
        longer = np.concatenate([facts, [[x, y, z]]])
        after = classify_queries(prompt_of(longer, x, y, PAPER), PAPER, "train")
        assert after.kinds[0] == "entailed"
        assert after.probabilities[0, z] == 1.0
        floors = slot_floors(PAPER.vocabulary.encode(text_of(longer, x, y, PAPER)[: -len(",xy=")])[None], PAPER)
        expected = judged.log_weights[0] + np.log(judged.probabilities[0, z])
        assert -floors.sum() == pytest.approx(expected, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30))
def test_what_is_entailed_stays_entailed(start: int, n_facts: int) -> None:
    sequences = sample("holdout", 1, n_facts, seed=6, world=PAPER, start=start)
    kinds = classify_by_facts(sequences.prompts, PAPER).kinds[0]
    first = np.flatnonzero(kinds == "entailed")
    assert not len(first) or (kinds[first[0] :] == "entailed").all()


@pytest.mark.parametrize("query", ["holdout", "train"])
@pytest.mark.parametrize("world", [World(), World(d2=True, p_mix=0.5, reserved=None)])
def test_all_prefixes_equal_separate_queries(world: World, query: str) -> None:
    sequences = sample(query, 3, 40, seed=2, world=world)
    together = posterior_by_facts(sequences.prompts, world, query)
    for n in range(40):
        last = n if query == "train" else 39
        prefix = np.concatenate([sequences.tokens[:, : 5 * n], sequences.tokens[:, 5 * last : 5 * last + 4]], axis=1)
        np.testing.assert_allclose(together[:, n], posterior(prefix, world, query), rtol=1e-9)


# --- the true answers of sampled sequences ----------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["holdout", "train"])
@pytest.mark.parametrize("n_context", [1, 5, 10, 30])
def test_calibration(n_context: int, query: str) -> None:
    sequences = sample(query, 400, n_context + 1, seed=3, world=PAPER)
    p = posterior(sequences.prompts, PAPER, query)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    truth = p[np.arange(len(p)), sequences.answers]
    # The expected probability of the true answer is Σp²; the spread of the gap bounds the error of 400 sequences.
    gap = truth - (p**2).sum(axis=1)
    assert abs(gap.mean()) <= 4 * gap.std() / np.sqrt(len(gap)) + 1e-12


@pytest.mark.parametrize("world", [World(), World(d2=True, p_mix=0.5), World(("D4", "Q8", "A4"), p_mix=0.3)])
def test_every_entailed_answer_is_the_truth(world: World) -> None:
    for n_facts in (2, 6, 12, 25, 60):
        sequences = sample("holdout", 100, n_facts, seed=4, world=world)
        judged = classify_queries(sequences.prompts, world)
        entailed = judged.kinds == "entailed"
        assert (judged.probabilities.argmax(axis=1) == sequences.answers)[entailed].all()
        assert (judged.kinds != "impossible").all()


def test_ceiling_rises_to_one() -> None:
    ceiling = ceiling_hits(sample("holdout", 50, 60, seed=0))
    assert ceiling.expected.shape == ceiling.hits.shape == ceiling.entailed.shape == (50, 59)
    assert ceiling.expected[:, 0].mean() < 0.4
    assert ceiling.expected[:, -1].mean() > 0.97
    assert ceiling.hits.mean() == pytest.approx(ceiling.expected.mean(), abs=0.06)


@pytest.mark.parametrize(
    ("name", "query", "ask"),
    [
        ("holdout", "holdout", "last"),
        ("cancel", "holdout", "last"),
        ("train", "train", "every"),
        ("copy", "train", "last"),
        ("commute", "train", "last"),
    ],
)
def test_the_ceiling_takes_the_query_as_its_distribution_draws_it(name: str, query: Query, ask: Queries) -> None:
    sequences = sample(name, 20, 30, seed=0)
    found, stated = ceiling_hits(sequences), ceiling_hits(sequences, query, ask)
    np.testing.assert_array_equal(found.hits, stated.hits)
    assert found.hits[:, -1].mean() > 0.5  # not queries of another law, which would be impossible
    assert (found.kinds != "impossible").all()


def test_counterfactual_pairs_have_a_ceiling() -> None:
    assert ceiling_hits(icalgebra.counterfactual_pairs("closure", 8).base).hits[:, -1].all()


def test_train_view_of_a_held_out_query() -> None:
    sequences = sample("holdout", 5, 20, seed=0)
    view = posterior_by_facts(sequences.prompts, sequences.world, "train", ask="last")
    np.testing.assert_allclose(view[:, -1], posterior(sequences.prompts, sequences.world, "train"))


def test_the_earlier_name_still_works() -> None:
    assert icalgebra.judge is classify_queries


def test_long_contexts_do_not_underflow() -> None:
    sequences = sample("holdout", 2, 3000, seed=0)
    p = posterior(sequences.prompts, sequences.world)
    assert (p[[0, 1], sequences.answers] == 1).all()


# --- explanations, bad input, the command ----------------------------------------------------------------------------


def test_forcing_facts_are_all_needed() -> None:
    prompt = PAPER.vocabulary.encode(",gn=n,bc=d,ee=f,eg=")
    found = explain_entailed(prompt, PAPER)
    assert found is not None
    assert (found.answer, found.forced_by) == ("e", [",gn=n"])
    assert sum(p for _, p in found.mixtures) == pytest.approx(1)
    assert explain_entailed(PAPER.vocabulary.encode(",bc=d,ef="), PAPER) is None


def test_a_mechanism_that_suffices_is_the_reason() -> None:
    """Dropped one by one from all facts, five others would be left."""
    text = (
        ",hg=d,md=h,fl=e,ac=a,bi=g,ib=g,nb=h,kk=f,ob=b,bj=d,dm=h,ij=o,kc=k,in=m,hi=j,fl=e,dh=n,nn=d,aa=c,ak=e,fk=c,bm=j"
        ",dh=n,db=o,ae=k,dg=i,ak=e,id=b,fe=a,db="
    )
    found = explain_entailed(PAPER.vocabulary.encode(text), PAPER, "train")
    assert found is not None
    assert found.forced_by == [",db=o"]


@pytest.mark.parametrize("distribution", ["train", "holdout"])
def test_forcing_facts_force_and_each_is_needed(distribution: Query) -> None:
    def kind(facts: list[str]) -> str:
        tokens = PAPER.vocabulary.encode("".join([*facts, text[-4:]]))
        return str(classify_queries(tokens[None], PAPER, distribution).kinds[0])

    explained = 0
    for prompt in sample(distribution, 12, 20, seed=4).prompts:
        text, found = PAPER.vocabulary.decode(prompt[None])[0], explain_entailed(prompt, PAPER, distribution)
        if found is not None:
            explained += 1
            assert kind(found.forced_by) == "entailed"
            for i in range(len(found.forced_by)):
                assert kind(found.forced_by[:i] + found.forced_by[i + 1 :]) != "entailed"
    assert explained >= 6


@pytest.mark.parametrize(
    "text, fact, words",
    [
        (",bc=d,ab=b,cd=", 2, "reserved none"),
        (",bc=d,ee=f,bc=e,dd=", 3, "another answer"),
        (",ee=f,bc=d,cb=", 2, "not held out"),
        (",bb=b,cc=c,bc=", None, "one structure"),
    ],
)
def test_impossible_says_which_fact_and_what_to_do(text: str, fact: int | None, words: str) -> None:
    prompt = PAPER.vocabulary.encode(text)
    assert not posterior(prompt[None], PAPER).any()
    found = explain_impossible(prompt, PAPER)
    assert found is not None
    assert found.fact == fact
    assert words in f"{found.reason} {found.advice}"
    assert remaining_mixtures(prompt, PAPER) == []


def test_rows_in_parallel_give_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    sequences = sample("train", 37, 12, 3, PAPER)
    alone = [posterior(row[None], PAPER)[0] for row in sequences.prompts]
    floors = [slot_floors(row[None], PAPER)[0] for row in sequences.tokens]
    monkeypatch.setattr(threads.config, "NUMBA_NUM_THREADS", 3)
    monkeypatch.setattr(threads, "MIN_PARALLEL_SECONDS", 0.0)
    assert np.array_equal(posterior(sequences.prompts, PAPER), np.stack(alone))
    assert np.array_equal(slot_floors(sequences.tokens, PAPER), np.stack(floors))


def test_the_oracle_leaves_torchs_threads_alone() -> None:
    """Starting numba's pool would set OpenMP's number of threads for the whole process, so this runs in a new one."""
    program = (
        "import torch; from icalgebra import posterior, sample\n"
        "rows = sample('train', 8, n_facts=12, seed=3); posterior(rows.prompts, rows.world)\n"
        "assert torch.get_num_threads() == 1, torch.get_num_threads()"
    )
    threads = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "3"}
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, **threads})


@pytest.mark.parametrize("world", [World(n_variables=52), World(("C20", "C3"), 20)])
def test_worlds_out_of_reach_are_refused(world: World) -> None:
    with pytest.raises(InputError, match="exact oracle"):
        oracle_predictor(world)


@pytest.mark.parametrize("tokens", [np.zeros((1, 5), int), np.array([[17, 0, 1, 3]]), np.array([[17, 0, 17, 16]])])
def test_malformed_tokens_are_refused(tokens: np.ndarray) -> None:
    with pytest.raises(InputError):
        posterior(tokens, PAPER)


def test_command_prints_posterior_and_reason(capsys: pytest.CaptureFixture) -> None:
    assert exit_code("oracle", ",gn=n,eg=") == 0
    printed = capsys.readouterr().out
    assert "entailed" in printed
    assert "forced by ,gn=n" in printed


def test_command_takes_a_query_for_what_its_context_says(capsys: pytest.CaptureFixture) -> None:
    """Where the reverse occurs nothing was held out, so `oracle` and `ask` agree."""
    assert exit_code("oracle", ",ab=c,ba=", "--json") == 0
    own = json.loads(capsys.readouterr().out)
    assert (own["query"], own["kind"]) == ("train", "guess")
    assert exit_code("ask", ",ab=c,ba=", "--json") == 0
    assert json.loads(capsys.readouterr().out)["oracle"]["kind"] == "guess"


def test_command_reads_standard_input_and_writes_json(capsys: pytest.CaptureFixture, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(",bc=d,bd=\n\n,ab=b,cd=\n"))
    assert exit_code("oracle", "--json") == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["kind"] == "guess"
    assert sum(first["posterior"].values()) == pytest.approx(1)
    assert second["impossible"]["fact"] == 1


@pytest.mark.parametrize("text, words", [(",ab=c,de=f", "lack its answer"), (",ab=c,d?=", "line 1, column 8")])
def test_command_refuses_in_one_line(text: str, words: str, capsys: pytest.CaptureFixture) -> None:
    assert exit_code("oracle", text) == 2
    assert words in capsys.readouterr().err
