"""The explorer's API: numbers equal those of ask, oracle, explain and interp; nothing that is sent makes it fail."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import exit_code
from icalgebra import World, explain, interp, load_model, posterior, prove, sample
from icalgebra.cli.explore import once
from icalgebra.explorer.access import refusal
from icalgebra.explorer.limits import MAX_BODY, MAX_FACTS
from icalgebra.explorer.models import Library
from icalgebra.explorer.pairs import MAX_TOKENS
from icalgebra.explorer.sequence import components
from icalgebra.interp.fact_reliance import reliance
from icalgebra.oracle import likely_query

VARIABLES = "abcdefghijklmnop"
TEXTS = [
    ",pf=p,ee=n,pf=p,ae=f,pp=e,pn=f,pe=",
    sample("holdout", 1, 12, 3)[0].prompt,
    sample("copy", 1, 10, 4)[0].prompt,
    sample("cancel", 1, 12, 5)[0].prompt,
    ",ab=c,ab=d,ba=",  # contradicts itself
]


def post(client, part, **request):
    answer = client.post(f"/api/{part}", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def listed(shares):
    return [shares.get(variable, 0.0) for variable in VARIABLES]


@pytest.mark.parametrize("text", TEXTS)
def test_answers_equal_those_of_ask_oracle_and_prove(client, library, text, capsys):
    found = post(client, "sequence", text=text)
    assert exit_code("ask", "small", text, "--json") == 0
    asked = json.loads(capsys.readouterr().out)
    assert found["model"] == pytest.approx(listed(asked["model"]), abs=2e-6)
    assert found["oracle"]["kind"] == asked["oracle"]["kind"]
    assert found["oracle"]["posterior"] == pytest.approx(listed(asked["oracle"]["posterior"]), abs=2e-6)
    facts = [fact["text"] for fact in found["facts"]]
    assert {m["name"]: {a: ["".join(facts[i].split("=")) for i in used] for a, used in m["answers"].items()}
            for m in found["mechanisms"]} == asked["mechanisms"]  # fmt: skip
    world = library.known("small").world
    tokens = world.vocabulary.encode(text)[None]
    assert found["oracle"]["posterior"] == pytest.approx(posterior(tokens, world, likely_query(text))[0], abs=1e-6)
    proof = prove(text, world)
    proved = [rung for rung in found["rungs"] if rung["proof"]]
    assert [(rung["name"], rung["answer"], rung["depth"]) for rung in proved] == (
        [(proof.rung, proof.answer, proof.depth)] if proof else []
    )
    if proof:
        assert tuple(proved[0]["proof"][-1]["facts"]) == proof.premises


@pytest.mark.parametrize("text", TEXTS)
def test_the_inside_equals_explain(client, text):
    expected = explain("small", text)
    found, ablation = post(client, "inside", text=text), post(client, "ablation", text=text)
    assert found["answer"] == expected.answer
    at = VARIABLES.index(expected.answer)
    parts = {part["name"]: part for part in found["parts"]}
    for part in (*expected.heads, *expected.mlps):
        assert parts[part.name]["direct"][at] == pytest.approx(part.direct, abs=2e-3)
        assert ablation["toggled"][part.name][at] == pytest.approx(part.without, abs=2e-4)
        for fact in part.facts:
            assert parts[part.name]["attention"][fact.number - 1] == pytest.approx(fact.attention, abs=2e-4)
    for shown, depth in zip(found["lens"], expected.depths, strict=True):
        assert {name: shown[VARIABLES.index(name)] for name in depth} == pytest.approx(depth, abs=2e-4)


def test_several_parts_are_ablated_at_once_as_hooks_do_it(client, library):
    known, text = library.known("small"), TEXTS[1]
    means = library.mean_outputs("small", 12)
    found = post(client, "ablation", text=text, ablated=["2.1", "0.3", "mlp 3"])
    changes = interp.ablate("2.1", "0.3", to=means.z)
    mlp = interp.replace(means.mlp_out[3], positions=-1)
    with interp.hooked(known.model, {**changes, "blocks.3.hook_mlp_out": mlp}):
        logits = known.model(text)[0, -1, :16]
    assert found["together"] == pytest.approx(logits.softmax(-1).tolist(), abs=1e-4)
    restored = post(client, "ablation", text=text, ablated=["2.1", "mlp 3"])["together"]
    assert found["toggled"]["0.3"] == pytest.approx(restored, abs=1e-4)


def test_reliance_comes_in_steps_and_equals_interp(client, library):
    known, text = library.known("small"), sample("holdout", 1, 24, 1)[0].prompt
    lines = client.post("/api/reliance", json={"text": text}).text.splitlines()
    steps = [json.loads(line) for line in lines]
    assert [step["done"] for step in steps] == [10, 20, 23]
    assert steps[0]["falls"][:13] == [None] * 13
    expected = reliance(known.model, known.prompt(text)[0])
    assert steps[-1]["falls"] == pytest.approx(list(expected), abs=1e-3)


def test_patches_equal_interp_and_a_whole_position_brings_the_answer_back(client, library):
    known = library.known("small")
    clean = sample("copy", 1, 12, 7)[0].prompt
    corrupt = clean[:4] + ("b" if clean[4] != "b" else "c") + clean[5:]
    found = post(client, "pair", clean=clean, corrupt=corrupt)
    assert found["differing"] == [0]
    assert 0 < sum(site.startswith("token") for site in found["effects"]) <= MAX_TOKENS * 4
    for sites in (["2.1"], ["mlp 3", "3.0"]):
        points = [site if "." in site else f"blocks.{site[4:]}.hook_mlp_out" for site in sites]
        expected = interp.patch(known.model, clean, corrupt, *points)[0, :16].softmax(-1)
        got = post(client, "patch", clean=clean, corrupt=corrupt, sites=sites)["probabilities"]
        assert got == pytest.approx(expected.tolist(), abs=1e-4)
    at = VARIABLES.index(found["clean_answer"])
    last = f"token {len(clean) - 1} after 3"
    patched = post(client, "patch", clean=clean, corrupt=corrupt, sites=[last])["probabilities"]
    assert patched == pytest.approx(found["clean"], abs=1e-4)
    assert found["effects"][last] == pytest.approx(found["clean"][at] - found["corrupt"][at], abs=1e-3)
    single = post(client, "patch", clean=clean, corrupt=corrupt, sites=["token 4 after 0"])["probabilities"]
    assert found["effects"]["token 4 after 0"] == pytest.approx(single[at] - found["corrupt"][at], abs=1e-3)


def test_training_asks_every_checkpoint(client, library, run_folder):
    found = post(client, "training", run="short", text=",ab=c,ab=")
    assert len(found["steps"]) == len(found["probabilities"]) > 1
    assert found["probabilities"][-1] == pytest.approx(
        interp.logit_lens(load_model(run_folder), ",ab=c,ab=")[0, -1, :6].softmax(-1).tolist(), abs=1e-3
    )


def test_sampled_sequences_know_their_truth(client):
    drawn = {"distribution": "holdout", "n_facts": 20, "seed": 5, "structures": "D4"}
    found = post(client, "sample", **drawn)
    text = found["text"]
    assert text + found["answer"] == sample("holdout", 1, 20, 5, World(("D4",)))[0].text
    shown = post(client, "sequence", text=text, drawn=drawn)
    assert shown["true_answer"] == found["answer"]
    assert all(fact["true"] for fact in shown["facts"][:-1])
    wrong = text[:4] + ("b" if text[4] != "b" else "c") + text[5:]
    shown = post(client, "sequence", text=wrong, drawn=drawn)
    assert [fact["true"] for fact in shown["facts"][:3]] == [False, True, True]


def test_components_are_what_facts_link():
    assert components(["ab=c", "de=e", "cf="]) == ["abcf", "de"]


# --- who may call it, and with what ---------------------------------------------------------------------------------


def test_only_its_own_page_may_call(client):
    body = {"text": TEXTS[0]}
    for headers in (
        {"host": "evil.example"}, {"host": "127.0.0.1.evil.example"}, {"origin": "http://evil.example"},
        {"origin": "null"}, {"origin": "http://127.0.0.1:1"}, {"sec-fetch-site": "cross-site"}, {"host": "[::1"},
    ):  # fmt: skip
        answer = client.post("/api/sequence", json=body, headers=headers)
        assert answer.status_code == 403, headers
        assert "explorer answers only" in answer.json()["error"]
    assert client.post("/api/sequence", json=body, headers={"origin": "http://127.0.0.1"}).status_code == 200
    assert refusal("/", "localhost:81", "", "cross-site") == ""  # a link from the report may open the page
    answer = client.get("/")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "access-control-allow-origin" not in answer.headers


def test_large_or_foreign_requests_are_refused_in_one_sentence(client):
    refused = {
        "413": ("sequence", {"text": "x" * MAX_BODY}),
        "long": ("sequence", {"text": ",ab=c" * 1000}),
        "facts": ("sequence", {"text": ",ab=c" * MAX_FACTS + ",ab="}),
        "model": ("sequence", {"text": TEXTS[0], "model": "../../etc/passwd"}),
        "run": ("training", {"text": TEXTS[0], "run": "/tmp"}),
        "structure": ("sample", {"structures": "C99999"}),
        "field": ("sequence", {"text": TEXTS[0], "file": "x"}),
        "site": ("patch", {"clean": TEXTS[0], "corrupt": TEXTS[0], "sites": ["token 999 after 0"]}),
        "lengths": ("pair", {"clean": TEXTS[0], "corrupt": TEXTS[1]}),
        "empty": ("reliance", {"text": ",ab="}),
    }
    for name, (part, request) in refused.items():
        answer = client.post(f"/api/{part}", json=request)
        assert answer.status_code == (413 if name == "413" else 422), (name, answer.text)
        assert "\n" not in answer.json()["error"]
        assert "Traceback" not in answer.text
    assert client.get("/static/..%2Fapp.py").status_code == 404
    assert client.get("/docs").status_code == client.get("/openapi.json").status_code == 404


letters = st.sampled_from("abcdefghp")
facts = st.tuples(letters, letters, letters).map(lambda x: f",{x[0]}{x[1]}={x[2]}")
texts = st.one_of(
    st.tuples(st.lists(facts, max_size=8), letters, letters).map(lambda x: "".join(x[0]) + f",{x[1]}{x[2]}="),
    st.text(max_size=20),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
drawn = st.fixed_dictionaries(
    {},
    optional={
        "seed": st.integers(),
        "n_facts": st.integers(-1, 9),
        "structures": st.sampled_from(["", "D4", "Q8,", "("]),
    },
)
requests = st.fixed_dictionaries(
    {"text": texts},
    optional={
        "query": st.sampled_from(["auto", "holdout", "train", "x"]),
        "model": st.sampled_from(["small", "short", ""]),
        "drawn": drawn,
    },
)


@settings(max_examples=25)
@given(part=st.sampled_from(["sequence", "inside", "reliance", "training", "pair", "sample"]), body=requests | anything)
def test_nothing_that_is_sent_makes_it_fail(client, part, body):
    # Written by json.dumps: unlike the client's own encoder it sends NaN and Infinity, which a client may do.
    answer = client.post(f"/api/{part}", content=json.dumps(body), headers={"content-type": "application/json"})
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 422:
        assert answer.json()["error"]


NO_REQUESTS = {
    '{"seed": NaN}': "seed: input should be a valid integer",
    '{"seed": -Infinity}': "seed: input should be a valid integer",
    '{"seed": 1e999}': "seed: input should be a valid integer",
    "NaN": "the request: input should be a valid dictionary",
    '{"seed": ': "the request is not JSON",
    '{"seed": 1}x': "the request is not JSON",
    '{"a\\nb": 1}': "a b: extra inputs are not permitted",
    f'{{"{"x" * 5000}": 1}}': "x: extra inputs are not permitted",
    f'{{"seed": {"9" * 5000}}}': "the request cannot be read",  # more digits than Python takes
    "[" * 5000: "the request cannot be read",
}


@pytest.mark.parametrize("body", NO_REQUESTS, ids=lambda body: body[:12])
def test_what_is_no_request_is_refused_in_one_sentence(client, body):
    answer = client.post("/api/sample", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert NO_REQUESTS[body] in answer.json()["error"]
    assert len(answer.json()["error"]) < 200
    assert "\n" not in answer.json()["error"]


def test_requests_at_once_do_not_mix(client):
    """Hooks are placed on the model while it runs: without the lock, one request would change another's answer."""
    alone = [post(client, "ablation", text=text, ablated=["2.1"])["together"] for text in TEXTS[1:3]]
    got: list = []

    def ask(i: int) -> None:
        got.append((i % 2, post(client, "ablation", text=TEXTS[1 + i % 2], ablated=["2.1"])["together"]))
        post(client, "patch", clean=TEXTS[1], corrupt=TEXTS[1], sites=["2.1", "mlp 1"])

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 6
    assert all(np.allclose(shares, alone[which], atol=1e-4) for which, shares in got)


def test_two_models_of_one_name_are_an_error(run_folder):
    from icalgebra.errors import InputError

    with pytest.raises(InputError, match="no model 'nonsense'"):
        Library("nonsense")
    assert list(Library("small", (run_folder,)).models) == ["small", "short"]


def test_the_page_is_served_before_torch_is_imported():
    """Torch takes seconds to import; the models are loaded when the page asks for them."""
    program = """if True:
        import sys
        from fastapi.testclient import TestClient
        from icalgebra.explorer.app import make_app
        client = TestClient(make_app(lambda: 1 / 0), base_url="http://127.0.0.1")
        assert "explorer/main.js" in client.get("/").text
        assert client.get("/static/main.js").status_code == 200
        assert not {"torch", "numba"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_models_are_loaded_once_by_whoever_asks_first():
    loaded = []
    library = once(lambda: loaded.append(0) or Library())
    threads = [threading.Thread(target=library) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == 1
    assert library() is library()
