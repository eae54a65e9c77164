"""The five mechanisms: worked examples, slow against fast, and proofs that suffice on their own."""

import numpy as np
import pytest

from icalgebra import World, sample
from icalgebra.data.distributions import DISTRIBUTIONS
from icalgebra.errors import InputError
from icalgebra.language.vocabulary import Vocabulary
from icalgebra.solvers import MECHANISMS, answer_sets, solver
from icalgebra.solvers.reference import SOLVERS, cancellation_set, closure_set, proof, read

FIGURE_15 = (
    ",hp=e,il=i,li=i,nc=c,bi=l,ne=e,fe=h,pp=f,ba=i,pc=h,eh=n,la=a,pp=f,pf=n,fe=h,fh=c,il=i,ef=h,hh=f,cp=h,pc=h,hh=f"
    ",cn=c,bi=l"
)
# name, text, the answer of each mechanism that has one
WORKED = [
    (
        "equations 2 and 3",
        ",kb=i,dc=c,cl=p,jp=l,dp=p,en=e,bb=n,pj=l,dp=",
        {"copy": "p", "identity": "p", "associate": "p"},
    ),
    ("equation 3 without the copy", ",kb=i,dc=c,cl=p,jp=l,en=e,bb=n,pj=l,dp=", {"identity": "p", "associate": "p"}),
    ("equation 6", ",pf=p,ee=n,pf=p,pf=p,ae=f,pp=e,pf=p,pn=f,pp=e,pe=", {"cancel": "a"}),
    ("figure 15, left query", FIGURE_15 + ",hc=", {}),
    ("figure 15, right query", FIGURE_15 + ",bi=", {"copy": "l"}),
    ("the listings' docstring", ",fk=i,kn=g,cd=d,kh=c,in=c,nf=h,cg=g,if=n,gf=c,id=h,cg=g,df=g", {}),
    ("commutative copy", ",ab=c,de=f,ba=", {"commute": "c"}),
    ("identity on the left of its fact", ",eg=g,xe=", {"identity": "x"}),
    ("identity on the right of its fact", ",ge=g,ex=", {"identity": "x"}),
    ("identity times itself", ",ee=e,eb=", {"identity": "b"}),
    ("both operands look neutral", ",ab=b,ca=c,de=d,ae=", {"identity": "ae"}),
    ("first associative form", ",xg=f,gd=y,fd=z,xy=", {"associate": "z"}),
    ("second associative form", ",dy=f,gd=x,gf=z,xy=", {"associate": "z"}),
    ("a corrupted duplicate is a tie", ",ab=c,ab=d,ab=", {"copy": "cd"}),
]


@pytest.mark.parametrize("name, text, expected", WORKED, ids=[case[0] for case in WORKED])
def test_worked_sequences(name: str, text: str, expected: dict[str, str]) -> None:
    found = {mechanism: "".join(sorted(proof(mechanism, text))) for mechanism in MECHANISMS}
    assert {mechanism: answers for mechanism, answers in found.items() if answers} == expected


def test_closure_and_cancellation_of_the_paper() -> None:
    context, query, _ = read(",pf=p,ee=n,pf=p,pf=p,ae=f,pp=e,pf=p,pn=f,pp=e,pe=")
    assert closure_set(context, query) == set("pefan")
    assert cancellation_set(context, query) == set("pnfe")
    context, _, _ = read(FIGURE_15 + ",hc=")
    assert closure_set(context, "hh") == set("cefhnp")
    assert closure_set(context, "bb") == set("abil")


def slow_sets(text: str, n_variables: int) -> list[list[int]]:
    """For every fact of a text, the answer sets of the reference solvers given the facts before it."""
    letters = Vocabulary(n_variables).variables
    facts = [fact.replace("=", "") for fact in text[1:].split(",")]
    return [
        [sum(1 << letters.index(answer) for answer in SOLVERS[name](facts[:j], fact[:2])) for name in MECHANISMS]
        for j, fact in enumerate(facts)
    ]


WORLDS = {
    "paper": World(),
    "quasigroups": World(structures=("Quasigroup(8,0)", "Quasigroup(5,1)")),
    "semigroups": World(structures=("Semigroup(8,0)", "Semigroup(5,3)")),
    "magmas": World(structures=("Magma(8,0)", "Magma(4,2)")),
    "52 variables": World(structures=("C26", "D5", "Q8"), n_variables=52),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_fast_equals_slow_on_every_distribution(distribution: str) -> None:
    sequences = sample(distribution, 60, 22, seed=3)
    fast = answer_sets(sequences.tokens, "every")
    assert fast.tolist() == [slow_sets(text, 16) for text in sequences.texts()]


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_fast_equals_slow_on_every_structure_class(world: World) -> None:
    sequences = sample("train", 120, 22, seed=5, world=world)
    fast = answer_sets(sequences.tokens, "every", world.n_variables)
    assert fast.tolist() == [slow_sets(text, world.n_variables) for text in sequences.texts()]


def test_fast_equals_slow_on_facts_without_structure() -> None:
    """Random facts contradict one another: ties and several triples must agree as well."""
    generator = np.random.default_rng(0)
    n, k, n_variables = 400, 16, 5
    tokens = np.full((n, k, 5), n_variables + 1, dtype=np.uint8)
    tokens[:, :, 3] = n_variables
    tokens[:, :, [1, 2, 4]] = generator.integers(0, n_variables, (n, k, 3))
    tokens = tokens.reshape(n, 5 * k)
    fast = answer_sets(tokens, "every", n_variables)
    assert fast.tolist() == [slow_sets(text, n_variables) for text in Vocabulary(n_variables).decode(tokens)]


def test_the_last_query_after_every_prefix() -> None:
    sequences = sample("holdout", 60, 20, seed=2)
    fast = answer_sets(sequences.tokens, "last")
    for row, text in enumerate(sequences.texts()):
        facts = text[1:].split(",")
        for j in range(20):
            asked = "," + ",".join([*facts[:j], facts[-1]])
            assert fast[row, j].tolist() == slow_sets(asked, 16)[-1]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_proof_alone_gives_the_answer(mechanism: str) -> None:
    distribution = {"copy": "copy", "commute": "commute"}.get(mechanism, f"{mechanism}_embedded")
    name = distribution if distribution in DISTRIBUTIONS else mechanism
    for text in sample(name, 100, 40, seed=1).texts():
        context, query, answer = read(text)
        facts = SOLVERS[mechanism](context, query)[answer]
        assert set(facts) <= set(context)
        assert answer in SOLVERS[mechanism](list(facts), query)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_on_its_own_distribution_a_solver_is_always_right(mechanism: str) -> None:
    sequences = sample(mechanism, 500, 50, seed=4)
    probabilities = solver(mechanism)(sequences.prompts)
    assert (probabilities.argmax(axis=1) == sequences.answers).all()
    assert (probabilities.max(axis=1) == 1.0).all()


def test_no_answer_is_a_zero_row_and_a_tie_gives_halves() -> None:
    vocabulary = Vocabulary(16)
    prompts = np.stack([vocabulary.encode(text) for text in (",ab=c,ab=d,ab=", ",ab=c,de=f,fa=")])
    copied = solver("copy")(prompts)
    assert copied[0, [2, 3]].tolist() == [0.5, 0.5]
    assert copied[1].sum() == 0


def test_unknown_mechanism_suggests() -> None:
    with pytest.raises(InputError, match="did you mean 'commute'"):
        solver("comute")


def test_tokens_of_another_alphabet_are_refused_before_compiled_code_indexes_with_them() -> None:
    tokens = sample("holdout", 3, 5, world=World(n_variables=26)).tokens
    for ask in (solver("copy"), solver("cancel", 30)):
        with pytest.raises(InputError, match="another alphabet"):
            ask(tokens[:, :-1])
    with pytest.raises(InputError, match="another alphabet: with 4 variables"):
        answer_sets(sample("train", 3, 20).tokens, "last", 4)
    with pytest.raises(InputError, match="between 1 and 52"):
        solver("copy", 100)
