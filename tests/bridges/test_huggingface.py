"""Exports to Hugging Face's transformers and back; logits are compared, not answers."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import icalgebra
from helpers import exit_code, message_of
from icalgebra.bridges import huggingface
from icalgebra.bridges.huggingface import from_huggingface, to_huggingface
from icalgebra.bridges.layouts import LAYOUTS, fuse_heads, split_heads
from icalgebra.bridges.model_card import model_card
from icalgebra.errors import InputError, RunError
from icalgebra.model.checkpoints import write_checkpoint
from icalgebra.model.transformer import ModelConfig, Transformer
from icalgebra.train.config import TrainConfig

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module", params=list(LAYOUTS))
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports") / request.param
    assert to_huggingface("small", folder, request.param) <= 1e-4
    return folder


def test_logits_agree_at_1000_tokens_also_after_their_own_save(exported: Path, tmp_path: Path) -> None:
    tokens = torch.as_tensor(icalgebra.sample("train", n=1, n_facts=200, seed=3).tokens.astype(np.int64))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(exported)
    theirs.save_pretrained(tmp_path / "saved")
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "saved")
    with torch.inference_mode():
        ours = icalgebra.load_model("small")(tokens)
        for loaded in (theirs, again):
            assert (loaded(tokens).logits - ours).abs().max() <= 1e-4
    for folder in (exported, tmp_path / "saved"):
        back = from_huggingface(folder)
        assert TrainConfig.from_dict(back.run_config).matches(icalgebra.load_model("small").run_config)
        for name, value in icalgebra.load_model("small").state_dict().items():
            assert torch.equal(back.state_dict()[name], value), name


def test_the_tokenizer_reads_facts_and_nothing_else(exported: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
    text = icalgebra.sample("train", n=1, n_facts=9, seed=1).texts()[0]
    assert tokenizer(text)["input_ids"] == icalgebra.Vocabulary().encode(text).tolist()
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    for bad in (",ab=z", ", ab=c", "?"):
        with pytest.raises(Exception, match="UNK"):
            tokenizer(bad)


def test_the_cards_code_runs_and_its_numbers_are_the_measured_ones(exported: Path, capsys) -> None:
    card = (exported / "README.md").read_text()
    code = card.split("```python\n")[1].split("```")[0].replace("FOLDER", str(exported))
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == "c\n"
    measured = json.loads((huggingface.SHIPPED / "small" / "evaluation.json").read_text())["accuracy"]
    cell = "{:.2f} [{:.2f}, {:.2f}]"
    for name in ("holdout", "associate"):
        cells = [measured[f"{name}/{k}"] for k in (50, 200)]
        shown = [cell.format(*(100 * c[key] for key in ("value", "low", "high"))) for c in cells]
        assert f"| {name} | {' | '.join(shown)} |" in card


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_shape_survives_the_way_there_and_back(layout) -> None:
    config = ModelConfig(n_layers=2, n_heads=3, d_model=24, d_mlp=40, n_variables=7, rope_base=50.0)
    model = Transformer(config, seed=2)
    assert layout.our_config(json.loads(json.dumps(layout.config(config, 100)))) == config
    back = layout.our_weights(layout.weights(model.state_dict(), config), config)
    assert back.keys() == model.state_dict().keys()
    assert all(torch.equal(back[name], value) for name, value in model.state_dict().items())


def test_fused_heads_lie_one_after_the_other() -> None:
    q, k, v = (torch.arange(4) + 10 * i for i in range(3))
    fused = fuse_heads([q, k, v], n_heads=2)
    assert fused.tolist() == [0, 1, 10, 11, 20, 21, 2, 3, 12, 13, 22, 23]
    assert all(torch.equal(x, y) for x, y in zip(split_heads(fused, 2), (q, k, v)))


def tiny() -> Transformer:
    return Transformer(ModelConfig(n_layers=1, n_heads=2, d_model=16, n_variables=12), seed=1).eval()


def test_a_model_in_memory_can_be_exported_too(tmp_path: Path) -> None:
    model = tiny()
    to_huggingface(model, tmp_path / "tiny", name="mine")
    card = (tmp_path / "tiny" / "README.md").read_text()
    assert "# mine" in card
    assert "Not measured yet" in card
    assert torch.equal(from_huggingface(tmp_path / "tiny").embed.weight, model.embed.weight)
    to_huggingface(icalgebra.load_model("small"), tmp_path / "small")
    assert "99.70" in (tmp_path / "small" / "README.md").read_text(), "the shipped model is recognised by its weights"


def test_a_runs_card_has_the_accuracies_of_its_checkpoint(tmp_path: Path) -> None:
    config = TrainConfig(n_layers=1, n_heads=2, d_model=16, n_facts=8, eval_n=100)
    step = {"config": config.to_dict(), "trainer": None, "step": 20}
    write_checkpoint(tmp_path / "run" / "checkpoints" / "step_000020", Transformer(config.model), **step)
    records = [{"kind": "evaluation", "step": s, "holdout": s / 100, "holdout/4": 0.5} for s in (10, 20)]
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    to_huggingface(tmp_path / "run", tmp_path / "out")
    assert "| holdout | 50.00 [40.38, 59.62] | 20.00 [13.34, 28.88] |" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "sequences of 200 facts from C3, D4 with 16 variables, p_mix 0.7; the variable `a` is never an identity."),
        ({"d2": True}, "from C3, D4, D2 with"),
        ({"mixture_rule": "all", "reserved": "none"}, "from C3, D4 with 16 variables, each once a sequence. "),
        ({"mixture_rule": "stop"}, "p_mix 0.7, mixture rule stop;"),
        ({"short_facts": 50, "short_steps": 9}, "sequences of 50 facts in the first 9 steps, then 200 facts from"),
        ({"lengths": ((50, 0.7), (200, 0.3))}, "of 50 (70% of the steps), 200 (30% of the steps) facts from"),
        ({"lengths": ((50, 0.7), (200, 0.3)), "batch_size": 128}, "steps of 128 or 512 sequences, each seen once."),
        ({}, "It reads facts about hidden finite groups, "),
        ({"structures": ("C3", "Quasigroup(5,0)")}, "It reads facts about hidden finite structures, "),
    ],
)
def test_a_card_says_what_the_model_was_trained_on(changes: dict[str, Any], said: str) -> None:
    run = TrainConfig(structures=("C3", "D4")).with_changes(**changes)
    assert said in model_card("mine", "Starcoder2ForCausalLM", run.model, run, {})


def test_an_export_with_other_logits_leaves_nothing_behind(tmp_path: Path, monkeypatch) -> None:
    model, sound = tiny(), huggingface.load_exported

    def broken(folder, **options):
        loaded = sound(folder, **options)
        loaded.model.layers[0].mlp.c_fc.bias.data += 0.1
        return loaded

    monkeypatch.setattr(huggingface, "load_exported", broken)
    with pytest.raises(RunError, match="logits at 1000 tokens differ by"):
        to_huggingface(model, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model_type": "llama"}, "holds a 'llama' model"),
        ({"hidden_act": "gelu_pytorch_tanh"}, "hidden_act is 'gelu_pytorch_tanh'"),
        ({"num_key_value_heads": 1}, "num_key_value_heads is 1"),
        ({"sliding_window": 64}, "sliding_window is 64"),
        ({"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4}}, "rope_type is 'linear'"),
        ({"vocab_size": 49152}, "vocab_size is 49152"),
        ({"vocab_size": 15}, "other tokens"),
        ({"num_hidden_layers": 2}, r"no model\.layers\.1"),
        ({"intermediate_size": 32}, r"blocks\.0\.mlp\.up\.weight is .* asks for \(32, "),
        ({"intermediate_size": 10**15}, r"asks for \(1000000000000000, "),  # before memory is asked for
        ({"hidden_size": 8 * 10**14, "intermediate_size": 1}, r"embed\.weight is .* asks for \(14, 800000000000000\)"),
    ],
)
def test_other_models_are_refused_with_the_reason(tmp_path: Path, change, reason) -> None:
    to_huggingface(tiny(), tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    (tmp_path / "out" / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(InputError, match=reason) as caught:
        from_huggingface(tmp_path / "out")
    assert str(tmp_path / "out") in message_of(caught.value)


def test_the_commands_go_there_and_back(tmp_path: Path, capsys, monkeypatch) -> None:
    write_checkpoint(tmp_path / "mine", tiny(), config=TrainConfig(n_variables=12).to_dict(), trainer=None, step=3)
    assert exit_code("export", tmp_path / "mine", tmp_path / "out", "--architecture", "gpt-neox", "--json") == 0
    assert json.loads(capsys.readouterr().out)["logit_difference"] <= 1e-4
    assert exit_code("import", tmp_path / "out", tmp_path / "back") == 0
    assert "use it as --model" in capsys.readouterr().out
    back = icalgebra.load_model(tmp_path / "back")
    assert torch.equal(back.embed.weight, tiny().embed.weight)
    for arguments, line in (
        (("export", "small", tmp_path / "out"), "already exists"),
        (("export", "small", tmp_path / "x", "--architecture", "llama"), "must be gpt-neox or starcoder2"),
        (("import", tmp_path / "nowhere", tmp_path / "x"), "neither a Hugging Face folder"),
        (("import", tmp_path / "out", tmp_path / "x", "--step", "3"), "leave out the step"),
    ):
        assert exit_code(*arguments) == 2
        assert line in (error := capsys.readouterr().err)
        assert error.count("\n") == 1
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match=r"icalgebra\[huggingface\]"):
        to_huggingface("small", tmp_path / "x")
