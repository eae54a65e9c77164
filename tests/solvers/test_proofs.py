"""Proofs: worked cases, the independent checker, mutations, and what a proof must not do without."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from icalgebra import World, prove, sample
from icalgebra.solvers import ladder
from icalgebra.solvers.ladder import Proof, check_proof, decide_queries
from icalgebra.solvers.ladder.proofs import Statement, Step
from proof_mutations import mutate

WIDE = World(("C5", "D5", "C26"), 26)
TWO_CASES = ",lj=d,lj=d,ep=k,ej=n,hk=h,kn=n,kn=n,le=j,hj=p,hp=d,nj=f,he="
# text, world, rung, answer, depth, rule of the last step, premises
WORKED = [
    (",ab=c,ab=", WIDE, "chain", "c", 0, "copy", (0,)),
    (",cl=p,dc=c,dp=", WIDE, "chain", "p", 1, "identity", (1,)),
    (",ed=d,xd=e,dx=", WIDE, "chain", "e", 1, "inverse", (0, 1)),
    (",xg=f,aa=b,gd=y,fd=z,xy=", WIDE, "chain", "z", 1, "associate", (0, 2, 3)),
    (",ab=c,aa=b,ac=", World(("C3",), 3), "chain", "a", 1, "cancel", (0, 1)),
    (",xy=f,fd=h,xg=h,yd=", WIDE, "associative", "g", 1, "associate", (0, 1, 2)),
    (TWO_CASES, World(), "split", "f", 7, "cancel", (0, 2, 3, 4, 5, 7, 8, 9, 10)),
]


@pytest.mark.parametrize("text, world, rung, answer, depth, rule, premises", WORKED, ids=[case[0] for case in WORKED])
def test_worked_proofs(text, world, rung, answer, depth, rule, premises):
    proof = prove(text, world)
    assert (proof.rung, proof.answer, proof.depth, proof.steps[-1].rule) == (rung, answer, depth, rule)
    assert proof.premises == premises
    assert check_proof(proof, text, world) is None
    assert Proof.from_dict(json.loads(json.dumps(proof.to_dict()))) == proof


def test_proofs_in_words():
    text = ",cl=p,dc=c,dp="
    assert prove(text, WIDE).words(text[1:].split(",")) == [
        "1. d is the identity: it leaves another unchanged: dc=c",
        "2. d and p belong to one structure: the query asks for their product",
        "3. dp=p: the identity changes nothing: (1) d is the identity; (2) d and p belong to one structure",
    ]


@pytest.fixture(scope="module")
def proofs() -> list[tuple[str, World, Proof]]:
    """Proofs on all rungs but split, from several worlds and sizes."""
    found = []
    for world in (World(), World(("C3", "C4", "C5", "C6", "C7")), World(("C2", "C3", "C4", "D2"), 7)):
        for size in (5, 10, 16, 30):
            sequences = sample("holdout", 40, size, seed=8, world=world)
            rows = np.flatnonzero(decide_queries(sequences.prompts, world).rungs >= 0)[:8]
            found += [(sequences.texts()[i][:-1], world, prove(sequences.prompts[i], world)) for i in rows]
    return [*found, (TWO_CASES, World(), prove(TWO_CASES))]


def test_the_checker_accepts_every_proof_and_the_depth_is_the_kernels(proofs):
    assert len(proofs) > 70
    assert {proof.rung for _, _, proof in proofs} >= {"chain", "associative", "split"}
    for text, world, proof in proofs:
        assert check_proof(proof, text, world) is None, text
        depth = decide_queries(world.vocabulary.encode(text)[None], world).depths[0]
        assert proof.rung == "split" or proof.depth == depth


def test_no_premise_can_be_spared(proofs):
    """Without a fact that a proof cites, every step that cites it fails."""
    for text, world, proof in proofs:
        for premise in proof.premises:
            steps = tuple(replace(s, facts=tuple(i for i in s.facts if i != premise)) for s in proof.steps)
            poorer = replace(proof, steps=steps, premises=tuple(i for i in proof.premises if i != premise))
            assert check_proof(poorer, text, world) is not None, (text, premise)


def test_mutated_proofs_are_refused_unless_they_only_cite_other_evidence(proofs):
    random, n, accepted = np.random.default_rng(1), 0, 0
    for text, world, proof in proofs:
        facts = text[1:].split(",")[:-1]
        for _ in range(12):
            found = mutate(proof, facts, world.vocabulary.variables, random)
            if found is None:
                continue
            n += 1
            if check_proof(found[1], text, world) is None:
                accepted += 1
                assert [s.conclusion for s in found[1].steps] == [s.conclusion for s in proof.steps]
                assert found[0].endswith("exchanged")
    assert n > 500
    assert accepted <= 0.02 * n


NOT_PROOFS = {
    "an assumption is not discharged": [Step("assume", Statement("product", "abc"))],
    "commuting without a reason": [Step("inverse", Statement("product", "abc"), (1,))],
    "a fact that is not there": [Step("copy", Statement("product", "abc"), (7,))],
    "another fact": [Step("copy", Statement("product", "abc"), (0,))],
    "a step that comes later": [Step("associate", Statement("product", "abc"), (), (1,))],
    "an unknown rule": [Step("obviously", Statement("product", "abc"), (0,))],
    "no steps": [],
}


@pytest.mark.parametrize("steps", NOT_PROOFS.values(), ids=NOT_PROOFS)
def test_what_is_not_a_proof(steps):
    premises = tuple(sorted({i for step in steps for i in step.facts}))
    for rung in ("chain", "split"):
        wrong = Proof("ab", "c", rung, 1, premises, tuple(steps))
        assert check_proof(wrong, ",dd=e,ba=c,ab=", World()) is not None


def test_the_checker_shares_no_code_with_the_prover():
    source = (Path(ladder.__file__).parent / "checker.py").read_text()
    imported = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name.startswith("icalgebra")} == {
        "icalgebra.language.world",
        "icalgebra.solvers.ladder.proofs",
    }
