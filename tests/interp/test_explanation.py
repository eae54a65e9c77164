"""explain: every number of it again by plain forward passes, as text, JSON and a page."""

import json
from html.parser import HTMLParser

import pytest
import torch

from helpers import exit_code
from icalgebra import InputError, World, explain, load_model, sample
from icalgebra.interp import hooked, replace
from icalgebra.interp.explanation import REFERENCES
from icalgebra.interp.explanation_html import explanation_page
from icalgebra.model.transformer import ModelConfig, Transformer

EQUATION_6 = ",pf=p,ee=n,pf=p,pf=p,ae=f,pp=e,pf=p,pn=f,pp=e,pe="


@pytest.fixture(scope="module")
def model():
    return load_model("small").requires_grad_(False)


@pytest.fixture(scope="module")
def found(model):
    return explain(model, EQUATION_6)


def test_what_can_be_known(found):
    assert found.answer == "a"
    assert (found.kind, found.query, found.posterior) == ("entailed", "holdout", {"a": 1.0})
    assert list(found.mechanisms["cancel"]) == ["a"]
    assert found.mechanisms["copy"] == {}
    assert found.reason.startswith("forced by ")
    assert set(found.reason.split()[2:]) <= set(EQUATION_6[1:].split(","))


def test_the_models_probabilities_and_the_lens(model, found):
    expected = model(EQUATION_6)[0, -1, :16].softmax(-1)
    assert found.probabilities["a"] == pytest.approx(float(expected[0]), abs=1e-4)
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert len(found.depths) == model.config.n_layers + 1
    assert found.depths[-1]["a"] == pytest.approx(float(expected[0]), abs=1e-4)


def test_ablations_are_those_of_a_forward_pass(model, found):
    usual = sample("train", REFERENCES, 10, stream="explain").prompts
    _, cache = model.run_with_cache(usual, ["blocks.2.attn.hook_z", "blocks.3.hook_mlp_out"])
    head = replace(cache["blocks.2.attn.hook_z"][:, -1, 4].mean(0), positions=-1)
    mlp = replace(cache["blocks.3.hook_mlp_out"][:, -1].mean(0), positions=-1)
    for change, name in (({"2.4": head}, "2.4"), ({"blocks.3.hook_mlp_out": mlp}, "mlp 3")):
        with hooked(model, change):
            expected = model(EQUATION_6)[0, -1, :16].softmax(-1)[0]
        (part,) = [part for part in found.strongest if part.name == name]
        assert part.without == pytest.approx(float(expected), abs=1e-3)


def test_facts_attended_and_direct_logits(model, found):
    _, cache = model.run_with_cache(EQUATION_6, ["blocks.3.attn.hook_pattern"])
    (part,) = [part for part in found.heads if part.name == "3.3"]
    pattern = cache["pattern", 3][0, 3, -1]
    for fact in part.facts:
        assert EQUATION_6[1:].split(",")[fact.number - 1] == fact.fact
        begin = 5 * (fact.number - 1) + 1
        assert fact.attention == pytest.approx(float(pattern[begin : begin + 5].sum()), abs=1e-4)
    assert all(list(part.promotes.values()) == sorted(part.promotes.values(), reverse=True) for part in found.heads)
    assert all(max(part.promotes.values()) >= 0 >= min(part.demotes.values()) for part in found.strongest)


def test_it_is_plain_json_and_the_same_for_every_input(model, found):
    assert json.loads(json.dumps(found.to_dict()))["heads"][0]["name"] == "0.0"
    again = explain(model, EQUATION_6 + "?")
    assert again == found
    row = sample("copy", n=1, n_facts=6)[0]
    assert explain(model, row) == explain(model, row.prompt)
    assert explain(model, row).query == "train"
    assert len(repr(found)) < 120


def test_a_page_without_anything_active(found):
    page = explanation_page(found, '<script>alert(1)</script>"><img src=x onerror=alert(2)>')
    tags = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.append(tag)
            assert not any(name.startswith("on") for name, _ in attrs)

    Reader().feed(page)
    assert not {"script", "img", "iframe", "link"} & set(tags)
    assert "mlp 3" in found._repr_html_()


def test_the_command_line(capsys, tmp_path):
    page = tmp_path / "why.html"
    assert exit_code("explain", "small", EQUATION_6, "--html", page, "--parts", 3) == 0
    out = capsys.readouterr().out
    assert "cancel  a, from" in out
    assert "mlp 3" in out
    assert str(page) in out
    assert page.read_text().startswith("<!doctype html>")
    assert exit_code("explain", "small", EQUATION_6, "--json") == 0
    assert json.loads(capsys.readouterr().out)["answer"] == "a"


@pytest.mark.parametrize(
    ("prompt", "world", "said"),
    [
        (",ab=c", None, "must lack its answer"),
        ([",ab=", ",bc="], None, "one prompt at a time, not 2"),
        (",ab=", World(n_variables=12), "must agree"),
    ],
)
def test_mistakes_are_one_sentence(model, prompt, world, said):
    with pytest.raises(InputError, match=said):
        explain(model, prompt, world)


def test_an_impossible_context_and_an_untrained_model():
    torch.manual_seed(0)
    model = Transformer(ModelConfig(n_layers=1, n_heads=2, d_model=16)).eval()
    found = explain(model, ",ab=b,ac=")
    assert found.kind == "impossible"
    assert "reserved" in found.reason
    assert explain(model, ",bc=").kind == "guess"
