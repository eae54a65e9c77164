"""Closure and cancellation: sets and masks against plain Python on text, measures against logits made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from math import log
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from helpers import blocks, n_drawn, n_figures, parse
from icalgebra.claims import VERDICTS
from icalgebra.cli import main
from icalgebra.cli.interp import _beside_published
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments import EXPERIMENTS, load_claims
from icalgebra.experiments.cancellation import measure as cancel
from icalgebra.experiments.closure import measure as experiment
from icalgebra.experiments.shared.loaded_model import LoadedModel, load_with_config
from icalgebra.interp.ablation import mean_ablate
from icalgebra.interp.attention_mass import by_fact
from icalgebra.interp.cancellation import SIDES, groups_of_facts, head_stats, ruled_out
from icalgebra.interp.heads import contrast
from icalgebra.interp.hooks import hooked
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.interp.query_batch import QueryBatch
from icalgebra.language.vocabulary import LEFT, facts_of
from icalgebra.language.world import World
from icalgebra.model import closure as c
from icalgebra.model.checkpoints import write_checkpoint
from icalgebra.model.predict import on_device
from icalgebra.model.prefix_accuracy import logits_at_every_fact
from icalgebra.model.transformer import Transformer
from icalgebra.report.page import build_report
from icalgebra.results import Result, write_result
from icalgebra.statistics import correlation_of_means
from icalgebra.train import TrainConfig
from icalgebra.train import train as run_training
from icalgebra.verdicts import decide

WORLD = World(("C3", "C4", "D3"), n_variables=10)
CONFIG = TrainConfig(
    structures=("C3", "C4", "C5"), n_variables=9, n_layers=2, n_heads=2, d_model=16, n_facts=14, batch_size=8,
    steps=8, warmup=1, log_every=4, eval_every=8, eval_n=8, eval_facts=(), checkpoint_every=0, log_checkpoints=3,
)  # fmt: skip
SIZES = {
    "closure": {"n": 12, "n_predictive": 6, "n_per_checkpoint": 5, "n_facts": 200},
    "cancellation": {"n": 10, "n_ablate": 5, "n_facts": 200, "short_facts": 12},
}
RUN = {"closure": experiment.run, "cancellation": cancel.run}


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return LoadedModel("random", Transformer(CONFIG.model, seed=3).eval().requires_grad_(False), CONFIG)


@pytest.fixture(scope="module")
def results(loaded: LoadedModel) -> dict[str, Result]:
    return {name: RUN[name](tier="quick", seed=0, loaded=loaded, **sizes) for name, sizes in SIZES.items()}


# --- sets at the left slot, from text ---------------------------------------------------------------------------------


def slow_sets(text: str, groups: list[list[str]], place: int) -> dict[str, set[str]]:
    """The sets before the fact at a place, straight from their definitions."""
    facts = parse(text)
    x, before = facts[place][0], facts[:place]
    shown = {letter for fact in before for letter in fact} | {x}
    own = next(i for i, group in enumerate(groups) if x in group)
    linked = {x}
    while any(linked & set(fact) and not set(fact) <= linked for fact in before):
        linked |= {letter for fact in before if linked & set(fact) for letter in fact}
    other = groups[0 if own else 1] if len(groups) > 1 else []
    return {
        "with it": {x}.union(*(fact for fact in before if x in fact)),
        "linked": linked,
        "seen": shown & set(groups[own]),
        "members": set(groups[own]),
        "other": shown & set(other),
    }


@pytest.mark.parametrize("distribution", ["train", "holdout"])
def test_sets_are_those_that_text_and_latents_give(distribution: str) -> None:
    sequences = sample(distribution, 40, 12, 5, WORLD)
    letters, found = np.array(list(WORLD.vocabulary.variables)), c.closure_sets(sequences)
    assert list(found) == list(c.SETS)
    for row, text in enumerate(sequences.texts()):
        groups = [names for _, names in blocks(sequences, row)]
        for place in range(12):
            ours = {name: set(letters[chosen[row, place]]) for name, chosen in found.items()}
            assert ours == slow_sets(text, groups, place), (text, place)


def test_each_set_lies_inside_the_next_and_the_sets_differ() -> None:
    found = c.closure_sets(sample("train", 300, 10, 1))
    for small, large in zip(c.SETS[:3], c.SETS[1:4]):
        assert not (found[small] & ~found[large]).any()
        assert (found[small] != found[large]).any()
    assert not (found["members"] & found["other"]).any()


def test_the_last_slot_agrees_with_the_evaluations_of_training() -> None:
    sequences = sample("train", 200, 9, 2)
    seen = c.closure_sets(sequences)["seen"][:, -1]
    assert (seen == c.seen_members(sequences)[:, -1]).all()
    logits = np.random.default_rng(0).normal(size=(200, 18)) + 3 * np.pad(seen, ((0, 0), (0, 2)))
    logits[:, 16:] = -99.0  # '=' and ',' never win here
    assert (c.top_k(logits[:, :16], seen) == c.top_k(logits, seen)).all()
    assert (c.top_1(logits[:, :16], seen) == c.top_1(logits, seen)).all()
    assert 0 < c.top_k(logits, seen).mean() < 1


# --- logits made by hand ----------------------------------------------------------------------------------------------


def test_measures_of_logits_made_by_hand() -> None:
    chosen = np.array([[True, True, False, False], [True, True, False, False], [True, False, True, False]])
    logits = np.array([[5.0, 5.0, 0.0, 1.0], [5.0, 0.0, 4.0, 1.0], [0.0, 7.0, 0.0, 8.0]])
    assert c.top_1(logits, chosen).tolist() == [True, True, False]
    assert c.top_k(logits, chosen).tolist() == [True, False, False]
    assert c.matching(logits, chosen).tolist() == [1.0, 0.5, 0.0]
    assert c.spread(logits, chosen).tolist() == [0.0, 2.5, 0.0]
    assert c.uniformity(logits, chosen)[[0, 2]] == pytest.approx(1.0)
    p = 1 / (1 + np.exp(-5))
    assert c.uniformity(logits, chosen)[1] == pytest.approx(-(p * log(p) + (1 - p) * log(1 - p)) / log(2))


def test_ties_and_empty_sets_count_for_nothing() -> None:
    tied, none = np.zeros((1, 4)), np.zeros((1, 4), dtype=bool)
    some = np.array([[True, False, False, False]])
    assert not c.top_1(tied, some)[0]
    assert not c.top_k(tied, some)[0]
    assert not c.top_1(tied, none)[0]
    assert not c.top_k(tied, none)[0]
    assert np.isnan(c.uniformity(tied, some)[0])
    assert np.isnan(c.spread(tied, some)[0])


@given(st.integers(2, 10), st.integers(0, 10**6))
def test_the_true_distribution_has_no_excess_loss_and_any_other_has(size: int, seed: int) -> None:
    members = np.arange(10) < size
    true = np.where(members, 3.0, -1e9)
    assert c.excess(true, members) == pytest.approx(0.0, abs=1e-12)
    assert c.uniformity(true, members) == pytest.approx(1.0)
    assert c.mass_inside(true, members) == pytest.approx(1.0)
    drawn = np.random.default_rng(seed).normal(size=10)
    p = np.exp(drawn) / np.exp(drawn).sum()
    assert c.excess(drawn, members) == pytest.approx(float(np.mean(np.log(1 / size / p[members]))))
    assert c.excess(drawn, members) > 0
    assert c.mass_inside(drawn, members) == pytest.approx(float(p[members].sum()))
    assert c.uniformity(drawn, members) < 1


def test_chance_is_that_of_all_sets_of_the_size() -> None:
    logits, seen = np.arange(6.0)[None], np.array([[True] * 2 + [False] * 4])
    values = experiment._controls(logits, seen, np.zeros_like(seen))
    sets = np.array([[i in pair for i in range(6)] for pair in combinations(range(6), 2)])
    everywhere = np.repeat(logits, len(sets), axis=0)
    assert values["control.random.top1"].value == pytest.approx(c.top_1(everywhere, sets).mean())
    assert values["control.random.topk"].value == pytest.approx(c.top_k(everywhere, sets).mean())
    assert c.matching(everywhere, sets).mean() == pytest.approx(2 / 6)


def test_logits_of_a_slot_are_those_of_its_token(loaded: LoadedModel) -> None:
    tokens = sample("train", 3, 14, 0, loaded.world).tokens
    found = logits_at_every_fact(loaded.model, tokens, LEFT)
    for place in (0, 6, 13):
        prefix = on_device(loaded.model, tokens[:, : 5 * place + 2])
        plain = loaded.model(prefix)[:, -1, :9].numpy()
        np.testing.assert_allclose(found[:, place], plain, atol=1e-5)


def test_the_papers_sequence_has_the_papers_groups() -> None:
    world = World()
    tokens = np.stack([world.vocabulary.encode(f"{experiment.PAPER_CONTEXT},{x}{x}={x}") for x in "hb"])
    found = c.linked(facts_of(tokens).astype(np.int64), 16)[:, -1]
    letters = np.array(list(world.vocabulary.variables))
    assert ["".join(letters[row]) for row in found] == ["cefhnp", "abil"]


# --- cancellation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distribution", cancel.DISTRIBUTIONS)
def test_facts_and_answers_are_those_of_the_text(distribution: str) -> None:
    sequences = sample(distribution, 30, 12, 3, WORLD)
    queries, letters = QueryBatch.from_sequences(sequences), WORLD.vocabulary.variables
    facts, both, apart = groups_of_facts(queries), ruled_out(queries, False), ruled_out(queries, True)
    for row, text in enumerate(sequences.texts()):
        *context, (x, y, _) = parse(text)
        sharing = {
            "left": [a == x and b != y for a, b, _ in context],
            "right": [b == y and a != x for a, b, _ in context],
            "neither": [a != x and b != y for a, b, _ in context],
        }
        for name, wanted in sharing.items():
            assert facts[name][row].tolist() == [*wanted, False]
        assert facts["self"][row].tolist() == [False] * 11 + [True]
        ruled = {side: {fact[2] for fact, shares in zip(context, sharing[side]) if shares} for side in SIDES}
        for side, other in (("left", "right"), ("right", "left")):
            assert {letters[i] for i in np.flatnonzero(both[side][row])} == ruled[side]
            assert {letters[i] for i in np.flatnonzero(apart[side][row])} == ruled[side] - ruled[other]


@pytest.mark.parametrize("distribution", ["cancel", "cancel_embedded"])
def test_with_room_for_all_facts_both_sides_rule_out_all_but_the_answer(distribution: str) -> None:
    queries = QueryBatch.from_sequences(sample(distribution, 30, 20, 1, WORLD))
    rows, wanted = np.arange(30), queries.members.copy()
    wanted[rows, queries.answer] = False
    for ruled in ruled_out(queries, apart=False).values():
        assert (ruled == wanted).all()
    assert not any(ruled.any() for ruled in ruled_out(queries, apart=True).values())


def test_attention_is_summed_slot_by_slot(loaded: LoadedModel) -> None:
    queries = cancel.draw_queries(loaded, "cancel_embedded", 6, 14, 0)
    stats = head_stats(loaded.model, queries, apart=False)
    pattern = cache_last_token_batched(loaded.model, queries.prompts, pattern=True).pattern
    assert pattern is not None
    offsets = {"answer": (3,), "comma_behind": (4,), "fact": (0, 1, 2, 3, 4)}  # from a fact's left variable
    for row, text in enumerate(loaded.world.vocabulary.decode(queries.tokens)):
        x = text[-4]
        starts = [i for i in range(1, len(text) - 5, 5) if text[i] == x]
        for slot, places in offsets.items():
            wanted = sum(pattern[row, :, :, i + offset] for i in starts for offset in places)
            np.testing.assert_allclose(stats.mass["left", slot][row], wanted, atol=1e-6)
            assert stats.chance["left", slot][row] == pytest.approx(len(starts) * len(places) / (len(text) - 1))
    shares = sum(stats.mass[name, "fact"] for name in ("left", "right", "neither", "self"))
    np.testing.assert_allclose(shares + pattern[..., 0].numpy(), 1.0, atol=1e-5)  # the first ',' belongs to no fact
    chances = sum(stats.chance[name, "fact"] for name in ("left", "right", "neither", "self"))
    np.testing.assert_allclose(chances + 1 / queries.prompts.shape[1], 1.0)
    assert by_fact(pattern).shape[-1] == 5


def test_contrasts_of_logits_made_by_hand() -> None:
    direct = torch.tensor([[[[1.0, 3.0, 10.0, 0.0]]]])
    chosen, among = np.array([[True, True, False, False]]), np.array([[True, True, True, False]])
    assert contrast(direct, chosen).item() == pytest.approx(2.0 - 5.0)
    assert contrast(direct, chosen, among).item() == pytest.approx(2.0 - 10.0)


def test_correlation_is_numpys_and_its_interval_holds_it() -> None:
    generator = np.random.default_rng(0)
    one = generator.normal(size=(40, 12))
    other = one.mean(0) + 0.1 * generator.normal(size=(40, 12))
    found = correlation_of_means(one, other)
    assert found.value == pytest.approx(np.corrcoef(one.mean(0), other.mean(0))[0, 1])
    assert found.low <= found.value <= found.high
    assert correlation_of_means(one, one).low == pytest.approx(1.0)
    assert correlation_of_means(one, -one).high == pytest.approx(-1.0)
    assert correlation_of_means(np.zeros((5, 3)), one[:5, :3]).value == 0.0


def test_mean_ablation_is_a_plain_run_with_the_heads_outputs_replaced(loaded: LoadedModel) -> None:
    model, queries = loaded.model, cancel.draw_queries(loaded, "cancel", 10, 14, 0)
    average = cache_last_token_batched(model, queries.prompts).z.mean(0, keepdim=True) + 1.0
    plain, right = mean_ablate(model, queries, average, [[], [(0, 1)], [(0, 0), (1, 1)]])
    assert (right[:, 0] == plain).all()

    def put(layer: int, heads: list[int]):
        def change(z: torch.Tensor) -> torch.Tensor:
            z = z.clone()
            z[:, -1, heads] = average[:, layer, heads]
            return z

        return {f"blocks.{layer}.attn.hook_z": change}

    for column, changes in ((1, put(0, [1])), (2, put(0, [0]) | put(1, [1]))):
        with hooked(model, changes):
            predicted = model(on_device(model, queries.prompts))[:, -1, :9].argmax(-1).numpy()
        assert (right[:, column] == (predicted == queries.answer)).all()


def test_too_short_sequences_are_refused_in_one_line(loaded: LoadedModel) -> None:
    with pytest.raises(InputError, match="holdout sequences of 2 facts"):
        cancel.draw_queries(loaded, "holdout", 10, 2, 0)


# --- the experiments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIZES)
def test_every_claim_finds_its_value(results: dict[str, Result], name: str) -> None:
    claims = [claim for claim in load_claims() if claim.experiment == name]
    assert claims
    for claim in claims:
        ours = claim.measure(results[name])
        assert ours is not None, claim.id
        assert ours.low <= ours.value <= ours.high, claim.id
        assert decide(claim, results[name]).verdict in VERDICTS[:-1]
    assert set(EXPERIMENTS[name].quick) == set(EXPERIMENTS[name].full) == set(SIZES[name])
    assert results[name].config["n_facts"] == 14  # no more than the model was trained on


@pytest.mark.parametrize("name", SIZES)
def test_the_same_seed_gives_the_same_result(loaded: LoadedModel, results: dict[str, Result], name: str) -> None:
    again = RUN[name](tier="quick", seed=0, loaded=loaded, **SIZES[name])
    assert json.dumps(again.to_dict()) == json.dumps(results[name].to_dict())


def test_every_effect_has_its_control(results: dict[str, Result]) -> None:
    assert {"control.random.top1", "control.random.topk", "control.other.top1"} <= set(results["closure"].values)
    values = results["cancellation"].values
    for side in SIDES:
        assert {f"change.{side}.{distribution}.other_heads" for distribution in cancel.DISTRIBUTIONS} <= set(values)
        assert f"reads.{side}.cancel_embedded.neither.answer" in values
    assert {f"without.{heads}.control.copy" for heads in ("readers", "demoters", "found")} <= set(values)
    assert values["chance.neither.cancel.fact"].value == 0  # those sequences hold no other facts


def test_a_model_that_computes_closure_is_distinguished_from_one_that_does_not(loaded: LoadedModel) -> None:
    sequences = sample("train", 50, 14, 0, loaded.world)
    last = {name: chosen[:, -1] for name, chosen in c.closure_sets(sequences).items()}
    noise = np.random.default_rng(0).normal(size=last["seen"].shape)
    computes, guesses = (experiment._at_last(scale * last["seen"] + 0.01 * noise, last) for scale in (9.0, 0.0))
    assert computes["topk"].value == computes["top1"].value == 1.0
    assert computes["uniformity"].value > 0.999
    assert computes["control.other.top1"].value == 0.0
    assert guesses["topk"].value < 0.3
    assert guesses["top1"].low < guesses["control.random.top1"].value < guesses["top1"].high


def test_checkpoints_of_a_run_give_curves_and_a_lone_model_none(
    results: dict[str, Result], tmp_path: Path, loaded: LoadedModel
) -> None:
    assert not any(key.startswith("training.") for key in results["closure"].curves)
    run_training(CONFIG, tmp_path / "run")
    found = experiment.run(tier="quick", seed=0, loaded=load_with_config(str(tmp_path / "run")), **SIZES["closure"])
    curve = found.curves["training.mass"]
    assert curve.x == sorted(CONFIG.log_checkpoint_steps)
    asked = sample("holdout", 6, 14, 0, loaded.world, stream="closure/predictive")[:5]
    final = experiment.predictive(load_with_config(str(tmp_path / "run")).model, asked)
    assert curve.y[-1] == pytest.approx(final["mass"].value)
    assert curve.y[0] != pytest.approx(curve.y[-1], abs=1e-9)
    _page({"closure": found}, tmp_path)


def test_a_damaged_checkpoint_gives_no_point_of_a_curve(
    tmp_path: Path, loaded: LoadedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """A weight with a flipped bit loads without an error; only its hash shows the damage."""
    checkpoints = [tmp_path / f"step_{step:06d}" for step in (1, 2, 4)]
    for folder in checkpoints:
        write_checkpoint(folder, loaded.model, config={}, trainer=None, step=int(folder.name[5:]))
    weights = checkpoints[0] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + bytes([weights.read_bytes()[-1] ^ 1]))
    asked = sample("holdout", 4, 14, 0, loaded.world)
    assert experiment._through_training(replace(loaded, checkpoints=checkpoints), asked)["training.mass"].x == [2, 4]
    assert "its SHA-256 differs from the manifest's" in capsys.readouterr().err
    assert experiment._through_training(replace(loaded, checkpoints=checkpoints[:2]), asked) == {}


def test_every_figure_is_on_the_page(results: dict[str, Result], tmp_path: Path) -> None:
    html = _page(results, tmp_path)
    assert n_drawn(html) == n_figures(results)
    closure = html.split('<h2 id="closure"')[1].split("</section>")[0]
    assert "Last panel" not in closure, "this model has no checkpoints"


def test_a_world_of_one_group_has_one_panel(tmp_path: Path) -> None:
    config = CONFIG.with_changes(p_mix=0.0)
    lone = LoadedModel("lone", Transformer(config.model, seed=1).eval(), config)
    found = experiment.run(tier="quick", seed=0, loaded=lone, **SIZES["closure"])
    assert len(found.details["example"]["panels"]) == 1
    assert "control.other.top1" not in found.values
    assert "one left variable" in _page({"closure": found}, tmp_path)


@pytest.mark.parametrize("name", SIZES)
def test_the_command_writes_figures_and_json(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_training(CONFIG, tmp_path / "run")
    monkeypatch.setitem(EXPERIMENTS, name, replace(EXPERIMENTS[name], quick=SIZES[name]))
    with pytest.raises(SystemExit) as ended:
        main(["interp", name, str(tmp_path / "run"), "--out", str(tmp_path / "out"), "--device", "cpu"])
    assert ended.value.code == 0
    assert "not judged" in capsys.readouterr().out  # its world is not the paper's
    wanted = {f"{name}.json", *(f"{name}-{draw.__name__}.svg" for draw in EXPERIMENTS[name].figures)}
    assert {path.name for path in (tmp_path / "out").iterdir()} == wanted


def test_a_model_of_another_world_is_shown_beside_the_paper_and_not_judged(
    results: dict[str, Result], capsys: pytest.CaptureFixture[str]
) -> None:
    papers = replace(results["closure"], config={"world": World().to_dict()})
    for result, judged in ((papers, True), (results["closure"], False)):
        Console(width=200).print(_beside_published(result))
        out = capsys.readouterr().out
        assert "L1.top1" in out
        assert ("not judged" not in out) == judged
        assert ("trained on another world than the paper's" not in out) == judged
        assert ("differs" in out) == judged


def _page(results: dict[str, Result], folder: Path) -> str:
    for result in results.values():
        stamped = Result(**{**vars(result), "provenance": {"seconds": 1.0, "machine": "m", "commit": None}})
        write_result(folder / "results", stamped)
    return build_report(folder, folder / "results", None).read_text()
