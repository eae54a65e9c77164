"""The ladder's rungs: slow against compiled, soundness against the exact oracle, and laws."""

from itertools import pairwise

import numpy as np
import pytest

from icalgebra import World, prove, sample, solver
from icalgebra.errors import InputError
from icalgebra.oracle import catalogue_predictor, classify_queries, posterior
from icalgebra.solvers.ladder import RUNGS, decide_by_facts, decide_queries
from icalgebra.solvers.ladder.deductions import ASSOCIATIVE, Deductions
from icalgebra.solvers.ladder.membership import members_of
from icalgebra.solvers.ladder.rules import run

WORLDS = {
    "paper": World(),
    "cyclic": World(("C3", "C4", "C5", "C6", "C7")),
    "with D2": World(d2=True, p_mix=0.5),
    "large groups": World(("C12", "D6", "C14")),
    "few variables": World(("C2", "C3", "C4", "D2"), 7),
    "one structure": World(p_mix=0.0),
    "30 variables, none reserved": World(("C5", "D5", "Q8"), 30, reserved=None),
}
SIZES = (3, 6, 10, 15, 21, 40)
RULES = RUNGS[: ASSOCIATIVE + 1]


@pytest.fixture(scope="module", params=WORLDS)
def world(request) -> World:
    return WORLDS[request.param]


def slow(prompt: np.ndarray, world: World) -> tuple[int, int]:
    """The lowest rung without case distinction that decides a query, and its answer, by the slow rules."""
    text = world.vocabulary.decode(prompt)[0]
    *facts, query = [tuple(map(world.vocabulary.variables.index, f.replace("=", ""))) for f in text[1:].split(",")]
    for rung in range(len(RULES)):
        known = Deductions(facts, query, world, rung)
        run(known, query)
        if query in known.products:
            return rung, known.products[query].variables[2]
    return -1, -1


def test_compiled_equals_slow(world):
    for size in SIZES[:5]:
        prompts = sample("holdout", 6, size, seed=size, world=world).prompts
        found = decide_queries(prompts, world)
        assert [slow(prompt, world) for prompt in prompts] == list(zip(found.rungs, found.answers, strict=True))


def test_rungs_without_case_distinction_never_contradict_the_oracle(world):
    for kind in ("holdout", "train"):
        for size in SIZES:
            prompts = sample(kind, 40, size, seed=1, world=world).prompts
            found, oracle = decide_queries(prompts, world), classify_queries(prompts, world, kind)
            decided = found.rungs >= 0
            assert (oracle.kinds[decided] == "entailed").all()
            assert (oracle.probabilities.argmax(1) == found.answers)[decided].all()


def test_case_distinction_never_contradicts_the_oracle_and_decides_most():
    n_entailed = n_decided = 0
    for size in (8, 12, 16, 22):
        prompts = sample("holdout", 30, size, seed=2).prompts
        found, oracle = decide_queries(prompts, World(), "split"), classify_queries(prompts, World())
        decided, entailed = found.rungs >= 0, oracle.kinds == "entailed"
        assert (oracle.kinds[decided] == "entailed").all()
        assert (oracle.probabilities.argmax(1) == found.answers)[decided].all()
        n_entailed, n_decided = n_entailed + entailed.sum(), n_decided + decided.sum()
    assert n_decided > 0.9 * n_entailed


def test_each_rung_decides_what_the_one_below_does(world):
    prompts = sample("holdout", 60, 12, seed=3, world=world).prompts
    answers = [decide_queries(prompts, world, rung, rung).answers for rung in RULES]
    for below, above in pairwise(answers):
        assert (above[below >= 0] == below[below >= 0]).all()


def test_rungs_are_predictors_and_the_catalogue_is_above_them():
    sequences = sample("holdout", 80, 14, seed=4)
    top = catalogue_predictor(World())(sequences.prompts)
    for rung in RULES:
        found = solver(rung)(sequences.prompts)
        assert set(found.sum(1)) <= {0.0, 1.0}
        assert (top >= found).all()
        assert (found.argmax(1) == sequences.answers)[found.any(1)].all()
    with pytest.raises(InputError, match="did you mean 'chain'"):
        solver("chian")
    with pytest.raises(InputError, match=r"Magma.* is a magma"):
        solver("chain", world=World(("Magma(4,0)",)))


def test_relabelling_changes_nothing():
    random = np.random.default_rng(0)
    world = World(reserved=None)
    prompts = sample("holdout", 40, 14, seed=5, world=world).prompts
    renamed = np.concatenate([random.permutation(16), [16, 17]])
    before, after = decide_queries(prompts, world), decide_queries(renamed[prompts], world)
    assert (before.rungs == after.rungs).all()
    assert (before.depths == after.depths).all()
    assert (renamed[before.answers[before.rungs >= 0]] == after.answers[before.rungs >= 0]).all()


def test_more_facts_lose_no_answer_and_need_no_higher_rung(world):
    sequences = sample("holdout", 30, 30, seed=6, world=world)
    found = decide_by_facts(sequences.tokens, "last", world)
    height = np.where(found.rungs < 0, len(RUNGS), found.rungs)
    assert (np.diff(height, axis=1) <= 0).all()


def test_prefixes_are_the_single_queries():
    sequences = sample("train", 10, 15, seed=7)
    every, last = (decide_by_facts(sequences.tokens, ask) for ask in ("every", "last"))
    for n in range(1, 15):
        context = sequences.tokens[:, : 5 * n]
        asked = decide_queries(sequences.tokens[:, : 5 * n + 4], World())
        assert (every.rungs[:, n - 1] == asked.rungs).all()
        asked = decide_queries(np.concatenate([context, sequences.tokens[:, -5:-1]], axis=1), World())
        assert (last.rungs[:, n - 1] == asked.rungs).all()
        assert (last.depths[:, n - 1] == asked.depths).all()


# --- who belongs to the structure -----------------------------------------------------------------------------------

# facts, query, surely inside, possibly inside
MEMBERSHIP = [
    ("one group fills the alphabet", World(("C7",), 7), ["abc"], "ab", "abcdefg", "abcdefg"),
    ("nothing but the query", World(("C3", "C4"), 7), [], "ab", "ab", "abcdefg"),
    ("a full component", World(("C3",), 7), ["abc"], "ab", "abc", "abc"),
    ("two components of three in groups of three", World(("C3",), 7), ["abc", "def"], "ad", "", ""),
    ("a component that fits nowhere else", World(("C6",), 7), ["abc", "dde"], "ab", "abcde", "abcdefg"),
]


@pytest.mark.parametrize("name, world, facts, query, surely, possibly", MEMBERSHIP, ids=[c[0] for c in MEMBERSHIP])
def test_membership(name, world, facts, query, surely, possibly):
    number = world.vocabulary.variables.index
    found = members_of([tuple(map(number, fact)) for fact in facts], tuple(map(number, query)), world)
    if not surely:
        assert found is None
    else:
        assert found == (frozenset(map(number, surely)), frozenset(map(number, possibly)))


def test_a_contradictory_context_is_decided_by_no_rung():
    assert prove(",ab=c,ab=d,ab=") is None
    assert prove(",ab=c,ad=c,ba=") is None


def test_rungs_and_proofs_take_sequences_text_or_tokens_as_mechanisms_do():
    sequences = sample("holdout", 3, 10)
    for name in ("copy", "chain"):
        expected = solver(name)(sequences.prompts)
        np.testing.assert_array_equal(solver(name)(sequences), expected)
        np.testing.assert_array_equal(solver(name)([row.prompt for row in sequences]), expected)
        assert solver(name)(sequences[0:0]).shape == (0, 16)
    assert prove(sequences[0]) == prove(sequences[0].prompt) == prove(sequences.prompts[0]) is not None
    assert posterior(sequences[0:0], World()).shape == (0, 16)
    np.testing.assert_array_equal(posterior(sequences, World()), posterior(sequences.prompts, World()))
