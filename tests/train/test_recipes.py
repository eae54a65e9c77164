"""What makes training fast changes nothing it should not: batched Muon, short sequences, GELU, 8 bits; speedruns."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from icalgebra.cli.main import main
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.model.accuracy import strictly_best
from icalgebra.model.checkpoints import load_model
from icalgebra.model.predict import as_predictor
from icalgebra.model.transformer import QuickGelu, Transformer, gelu
from icalgebra.oracle import posterior
from icalgebra.results import Result, read_result, write_result
from icalgebra.train import TrainConfig, preset, presets, train
from icalgebra.train import speedrun as speedruns
from icalgebra.train.data import training_rows
from icalgebra.train.distributed import Ranks
from icalgebra.train.float8 import Float8Linear, use_float8
from icalgebra.train.muon import BatchedMuon, orthogonalised
from icalgebra.train.speedrun import flops_a_sequence, flops_before, speedrun, time_steps
from icalgebra.train.step import NextTokenLoss
from training_helpers import records

SHAPES = [(8, 8), (8, 8), (32, 8), (8, 32), (32, 8)]


def test_the_batched_update_is_torchs_update() -> None:
    """torch.optim.Muon orthogonalises in bf16, ours in fp32 on a CPU: they agree to bf16's precision."""
    generator = torch.Generator().manual_seed(0)
    ours = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]
    theirs = [torch.nn.Parameter(parameter.detach().clone()) for parameter in ours]
    begun = [parameter.detach().clone() for parameter in ours]
    lr = 0.02
    batched, plain = BatchedMuon(ours, lr, 0.01), torch.optim.Muon(theirs, lr=lr, weight_decay=0.01, momentum=0.95)
    for _ in range(4):
        for left, right in zip(ours, theirs):
            left.grad = torch.randn(left.shape, generator=generator)
            right.grad = left.grad.clone()
        batched.step()
        plain.step()
    for left, right, start in zip(ours, theirs, begun):
        moved = (right - start).norm()
        assert (left - right).norm() < 0.03 * moved
        assert moved > lr


def test_orthogonalised_matrices_have_singular_values_near_one() -> None:
    matrices = torch.randn(3, 24, 16, generator=torch.Generator().manual_seed(1))
    found = torch.linalg.svdvals(orthogonalised(matrices))
    assert found.min() > 0.5
    assert found.max() < 1.5


def test_a_phase_of_short_sequences() -> None:
    config = preset("tiny").with_changes(short_facts=8, short_steps=2, batch_size=4)
    assert [training_rows(config, step, Ranks()).shape[1] // 5 for step in range(4)] == [8, 8, 30, 30]
    assert [config.tokens_before(step) for step in (0, 1, 2, 3)] == [0, 160, 320, 920]


@given(st.integers(0, 6), st.integers(0, 12))
def test_tokens_and_flops_are_counted_step_by_step(short_steps: int, step: int) -> None:
    config = preset("tiny").with_changes(short_facts=8, short_steps=short_steps)
    lengths = [config.facts_at(t) for t in range(step)]
    assert lengths == [8 if t < short_steps else 30 for t in range(step)]
    assert config.tokens_before(step) == sum(64 * 5 * k for k in lengths)
    assert flops_before(config, step) == pytest.approx(sum(64 * flops_a_sequence(config.model, k) for k in lengths))


def test_flops_are_six_a_weight_and_token_and_causal_attention() -> None:
    config = preset("tiny").with_changes(n_layers=1, n_heads=1, d_model=2, d_mlp=8, n_facts=2, batch_size=3)
    weights = 4 * 2 * 2 + 2 * 2 * 8 + 2 * config.model.d_vocab
    by_hand = 6 * weights * 10 + 6 * 2 * 10**2
    assert flops_a_sequence(config.model, 2) == pytest.approx(by_hand)
    assert flops_before(config, 5) == pytest.approx(5 * 3 * by_hand)


def value_and_gradient(function, x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.clone().requires_grad_()
    y = function(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    return y.detach(), gradient


def test_the_quick_gelu_is_the_exact_one() -> None:
    x = torch.linspace(-12, 12, 24_001)
    for ours, exact in zip(value_and_gradient(QuickGelu.apply, x), value_and_gradient(F.gelu, x.double())):
        assert (ours - exact).abs().max() < 1e-6


def test_the_quick_gelu_serves_compiled_bf16_alone() -> None:
    x = torch.randn(4000, generator=torch.Generator().manual_seed(0))
    compiled = torch.compile(gelu, backend="eager")
    assert torch.equal(gelu(x.bfloat16()), F.gelu(x.bfloat16()))
    assert torch.equal(compiled(x), F.gelu(x))
    quick = compiled(x.bfloat16())
    assert quick.dtype == torch.bfloat16
    assert torch.equal(quick, QuickGelu.apply(x.bfloat16()))
    assert (quick.float() - F.gelu(x.bfloat16().float())).abs().max() < 0.02  # one rounding of values up to 4


def test_the_loss_leaves_out_what_follows_the_last_token() -> None:
    config = preset("tiny").with_changes(n_facts=6)
    model = Transformer(config.model)
    tokens = training_rows(config, 0, Ranks())
    whole = model(tokens.long())
    expected = F.cross_entropy(whole[:, :-1].flatten(0, 1), tokens[:, 1:].long().flatten())
    weighted, plain = NextTokenLoss(model)(tokens)
    assert weighted.item() == pytest.approx(expected.item(), rel=1e-5)
    assert plain.item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_weight_on_answers_counts_them_so_often_and_leaves_the_plain_loss() -> None:
    config = preset("tiny").with_changes(n_facts=6)
    model = Transformer(config.model)
    tokens = training_rows(config, 0, Ranks())
    logits, rows = model(tokens.long()), tokens.long().tolist()
    counted = []
    for row, found in zip(rows, logits.log_softmax(-1).tolist()):
        for place in range(1, len(row)):
            is_answer = row[place - 1] == config.world.vocabulary.equals
            counted += [-found[place - 1][row[place]]] * (3 if is_answer else 1)
    weighted, plain = NextTokenLoss(model, answer_weight=3.0)(tokens)
    assert len(counted) == len(rows) * (29 + 2 * 6)
    assert weighted.item() == pytest.approx(sum(counted) / len(counted), rel=1e-5)
    assert plain.item() == NextTokenLoss(model)(tokens)[1].item() != weighted.item()
    assert not plain.requires_grad


def test_eight_bits_are_near_sixteen_and_so_are_their_gradients() -> None:
    """e4m3 keeps three bits, e5m2 two: products of random numbers are off by some 4 and 6 %."""
    torch.manual_seed(0)
    rounded, plain = Float8Linear(64, 32), nn.Linear(64, 32)
    plain.load_state_dict(rounded.state_dict())
    x, direction = torch.randn(5, 7, 64), torch.randn(5, 7, 32)
    outputs, gradients = [], []
    for layer in (rounded, plain):
        given = x.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            outputs.append(layer(given).float())
        (outputs[-1] * direction).sum(-1).mean().backward()
        gradients.append([given.grad, layer.weight.grad, layer.bias.grad])
    assert 0.005 < off(outputs[0], outputs[1]) < 0.06
    of_input, *of_parameters = zip(*gradients)
    assert 0.02 < off(*of_input) < 0.09
    for ours, theirs in of_parameters:
        assert off(ours, theirs) < 0.01, "these stay in sixteen bits"


def off(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return float((ours - theirs).detach().norm() / theirs.detach().norm())


def test_eight_bits_are_for_training_alone() -> None:
    torch.manual_seed(0)
    layer = Float8Linear(64, 32).eval()
    x = torch.randn(3, 64)
    assert torch.equal(layer(x), F.linear(x, layer.weight, layer.bias))
    assert torch.equal(layer.train()(x), F.linear(x, layer.weight, layer.bias))  # no autocast


def test_eight_bits_keep_the_parameters_and_their_names() -> None:
    model = Transformer(preset("tiny").model)
    names = [name for name, _ in model.named_parameters()]
    use_float8(model)
    assert [name for name, _ in model.named_parameters()] == names
    assert sum(isinstance(module, Float8Linear) for module in model.modules()) == 2 * model.config.n_layers


def test_the_residual_stream_has_the_precision_asked_for() -> None:
    model = Transformer(preset("tiny").model)
    tokens = torch.zeros(1, 5, dtype=torch.long)
    for dtype in (torch.float32, torch.bfloat16):
        model.residual_dtype = dtype
        with torch.autocast("cpu", torch.bfloat16):
            assert model.embedded(tokens).dtype == dtype
    assert model.embedded(tokens).dtype == torch.float32


@pytest.fixture
def blink() -> TrainConfig:
    return preset("tiny").with_changes(
        steps=6, log_every=1, eval_every=0, eval_n=16, n_facts=8, eval_facts=(), batch_size=4, d_model=16, n_heads=2
    )


def test_a_speedrun_stops_where_it_passes(blink: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a target of 0 that is the first evaluation; at one out of reach, the end of the schedule."""
    monkeypatch.setattr(speedruns, "EVAL_EVERY", 2)
    passed, failed = speedrun(blink, target=0.0, n=20), speedrun(blink, target=1.01, n=20)
    assert (passed.passed, passed.steps) == (True, 2)
    assert (failed.passed, failed.steps) == (False, 6)
    assert failed.tokens == 6 * 4 * 8 * 5
    assert failed.milliseconds_a_step == pytest.approx(1000 * failed.training_seconds / 6)
    assert set(passed.quality) == set(failed.quality) == {"share_of_ceiling", "associate"}


def test_the_share_of_the_ceiling_is_what_separate_passes_and_posteriors_give(blink: TrainConfig) -> None:
    torch.manual_seed(3)
    model = Transformer(blink.model)
    holdout = sample("holdout", 30, blink.n_facts, blink.seed, blink.world, stream="speedrun/auc")
    prompts, predictor = holdout.prompts, as_predictor(model)
    hit, best = 0.0, 0.0
    for k in range(2, blink.n_facts + 1):
        shorter = np.concatenate([prompts[:, : 5 * (k - 1)], prompts[:, -4:]], axis=1)
        hit += strictly_best(predictor(shorter), holdout.answers).mean()
        best += posterior(shorter, blink.world, "holdout").max(axis=1).mean()
    share = speedruns.quality_of(model, blink, 30)["share_of_ceiling"]
    assert 0 < hit < best
    assert share.value == pytest.approx(hit / best)


def test_a_kept_run_continues_to_its_end(blink: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speedruns, "EVAL_EVERY", 2)
    kept = speedrun(blink, target=0.0, n=20, keep=tmp_path / "run")
    assert kept.steps == 2
    final = train(blink).model.cpu().state_dict()
    assert all(torch.equal(value, final[name]) for name, value in load_model(tmp_path / "run").state_dict().items())


def test_a_kept_run_that_was_interrupted_starts_over(
    blink: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    blink = blink.with_changes(checkpoint_every=2)
    with monkeypatch.context() as patch:
        patch.setattr(speedruns, "fresh_accuracy", interrupt)
        with pytest.raises(KeyboardInterrupt):
            speedrun(blink, target=1.01, n=20, keep=tmp_path / "run")
    assert (tmp_path / "run/checkpoints/step_000004").is_dir()
    with pytest.raises(InputError, match="already holds a run"):
        speedrun(blink.with_changes(seed=1), n=20, keep=tmp_path / "run")
    assert capsys.readouterr().err == ""
    speedrun(blink, target=1.01, n=20, keep=tmp_path / "run")
    assert "was interrupted; starting over" in capsys.readouterr().err
    steps = [record["step"] for record in records(tmp_path / "run") if record["kind"] == "train"]
    assert steps == [1, 2, 3, 4, 5, 6]
    with pytest.raises(InputError, match="already holds a run"):
        speedrun(blink, n=20, keep=tmp_path / "run")


def test_steps_are_timed_in_blocks(blink: TrainConfig) -> None:
    assert time_steps(blink, 20).shape == (2,)


def test_the_command_writes_its_result_after_every_seed(
    blink: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(presets.PRESETS, "blink", blink)
    arguments = ["blink", "--n", "20", "--target", "0", "--timed-steps", "20", "--out", str(tmp_path), "--json"]

    def run(seeds: int) -> Result:
        with pytest.raises(SystemExit) as exit_:
            main(["speedrun", *arguments, "--seeds", str(seeds)])
        assert not exit_.value.code
        return read_result(tmp_path / "full" / "blink" / "speedrun.json")

    one = run(1)
    assert one.details["seconds_to_first_step"] > 0.1, "the imports of this process count"
    capsys.readouterr()
    two = run(2)
    assert [run["seed"] for run in two.details["runs"]] == [0, 1]
    assert two.details["runs"][0] == one.details["runs"][0], "a later call runs only the seeds not done yet"
    assert two.values["milliseconds_a_step"].n == 2
    assert json.loads(capsys.readouterr().out)["details"]["runs"] == two.details["runs"]


def test_a_terminal_of_80_columns_holds_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the committed result, so that nothing is trained."""
    committed = Path(__file__).parents[2] / "results" / "full" / "sprint" / "speedrun.json"
    told = read_result(committed).config["training"]
    assert preset("sprint").matches(told), "the preset has changed: measure it again (this test would start to)"
    (tmp_path / "full" / "sprint").mkdir(parents=True)
    (tmp_path / "full" / "sprint" / "speedrun.json").write_bytes(committed.read_bytes())
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as exit_:
        main(["speedrun", "sprint", "--timed-steps", "200", "--out", str(tmp_path)])
    assert not exit_.value.code
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    for run in read_result(committed).details["runs"]:
        low, high = (f"{100 * run['accuracy'][end]:.2f}" for end in ("low", "high"))
        assert f"[{low}, {high}]" in shown
    kept = (tmp_path / "full" / "sprint" / "speedrun.json").read_bytes()
    assert kept == committed.read_bytes(), "nothing was run, so nothing is written"


def test_what_was_measured_beside_the_time_is_shown_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    committed = read_result(Path(__file__).parents[2] / "results" / "full" / "sprint" / "speedrun.json")
    runs = [run | {"quality": {"associate": committed.details["runs"][i]["accuracy"]}}
            for i, run in enumerate(committed.details["runs"])]  # fmt: skip
    details = committed.details | {"runs": runs, "seconds_to_first_step": 23.45}
    write_result(tmp_path, replace(committed, details=details))
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as exit_:
        main(["speedrun", "sprint", "--timed-steps", "200", "--out", str(tmp_path)])
    assert not exit_.value.code
    shown = capsys.readouterr().out
    assert "first step 23.4 s after the command" in shown
    assert "associate, %, by seed: 99.2, 99.0, 99.1" in shown
    assert "ceiling" not in shown, "what was not measured has no line"
