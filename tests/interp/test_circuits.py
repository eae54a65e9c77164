"""Attribution that survives sharing: minimal pairs, components, sets, knock-out, on a model whose circuit is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.interp.components import (
    Component,
    all_components,
    component_effects,
    residual_effects,
    smallest_set,
    without_each,
)
from icalgebra.interp.hooks import hooked, replace
from icalgebra.interp.knockout import Reads, answers_without, by_slot
from icalgebra.interp.last_token_cache import RESUMABLE
from icalgebra.interp.minimal_pairs import MinimalPairs, minimal_pairs
from icalgebra.interp.paths import circuit, path_effects
from icalgebra.interp.query_cache import N_QUERY, cache_query, resume_query
from icalgebra.language.vocabulary import FACT_LENGTH, MECHANISMS, facts_of
from icalgebra.language.world import World
from icalgebra.model.transformer import ModelConfig, Transformer
from icalgebra.solvers import solver
from planted_model import planted_model

N_FACTS = {"copy": 20, "commute": 20, "identity": 30, "cancel": 40, "associate": 12}
HEAD = Component(1, 0)


@pytest.fixture(scope="module")
def pairs() -> dict[str, MinimalPairs]:
    return {name: minimal_pairs(name, 24, n_facts, seed=3) for name, n_facts in N_FACTS.items()}


@pytest.fixture(scope="module")
def short() -> MinimalPairs:
    return minimal_pairs("copy", 16, 10, seed=1)


# --- minimal pairs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_two_sides_differ_in_one_token_of_one_fact(pairs: dict[str, MinimalPairs], name: str) -> None:
    found = pairs[name]
    differs = found.clean_prompts != found.corrupt_prompts
    assert (differs.sum(1) == 1).all()
    assert (differs.argmax(1) // FACT_LENGTH == found.place).all()
    assert (found.place < N_FACTS[name] - 2).all(), "not right before the query"
    assert (found.clean_answer != found.corrupt_answer).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_mechanism_gives_each_side_its_answer(pairs: dict[str, MinimalPairs], name: str) -> None:
    """By the solver of that name, which knows nothing of how the pairs were made."""
    found, solve = pairs[name], solver(name)
    clean, corrupt = solve(found.clean_prompts), solve(found.corrupt_prompts)
    rows = np.arange(len(found))
    assert (clean[rows, found.clean_answer] == 1).all()
    assert (corrupt[rows, found.corrupt_answer] == 1).all()


@pytest.mark.parametrize("name", ["commute", "identity", "cancel"])
def test_the_query_cannot_be_copied(pairs: dict[str, MinimalPairs], name: str) -> None:
    assert not solver("copy")(pairs[name].clean_prompts).any()


def test_the_same_seed_gives_the_same_pairs_and_too_few_are_refused() -> None:
    again = [minimal_pairs("cancel", 4, 40, seed) for seed in (3, 3, 4)]
    assert np.array_equal(again[0].clean, again[1].clean)
    assert not np.array_equal(again[0].clean, again[2].clean)
    with pytest.raises(InputError, match="only 0 of 3 identity pairs"):
        minimal_pairs("identity", 3, 12, 0, World(("Quasigroup(5,0)",)))
    with pytest.raises(InputError, match="did you mean 'commute'"):
        minimal_pairs("comute")


# --- resumed runs equal plain hooks ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def random_model() -> Transformer:
    return Transformer(ModelConfig(3, 2, 16, 32, 16), seed=5).eval().requires_grad_(False)


@pytest.mark.parametrize("token", range(N_QUERY))
@pytest.mark.parametrize("point", RESUMABLE)
def test_a_resumed_run_equals_a_plain_one_with_a_hook(
    random_model: Transformer, short: MinimalPairs, point: str, token: int
) -> None:
    clean, corrupt = (torch.from_numpy(side).long() for side in (short.clean_prompts, short.corrupt_prompts))
    source, base, name = cache_query(random_model, clean), cache_query(random_model, corrupt), f"blocks.1.{point}"
    new = source.value(name)[:, token]

    def change(value: torch.Tensor) -> torch.Tensor:
        value = value.clone()
        value[:, :, token] = new[:, None]
        return value

    with hooked(random_model, {name: replace(new, token - N_QUERY)}):
        plain = random_model(corrupt)[:, -1]
    assert torch.allclose(resume_query(random_model, base, {name: change})[:, 0], plain, atol=1e-5)


def test_many_components_in_one_batch_equal_one_hook_each(random_model: Transformer, short: MinimalPairs) -> None:
    clean, corrupt = (torch.from_numpy(side).long() for side in (short.clean_prompts, short.corrupt_prompts))
    components, source = all_components(random_model), cache_query(random_model, clean)
    effects = component_effects(random_model, short, [[component] for component in components])
    before = random_model(corrupt)[:, -1].softmax(-1)
    rows = np.arange(len(short))
    for place, component in enumerate(components):
        point = "hook_mlp_out" if component.head is None else "attn.hook_z"
        name = f"blocks.{component.layer}.{point}"
        new = source.value(name)[:, component.token]
        new = new if component.head is None else new[:, component.head]
        with hooked(random_model, {name: replace(new, component.token - N_QUERY, component.head)}):
            change = (random_model(corrupt)[:, -1].softmax(-1) - before)[rows, short.clean_answer]
        assert np.allclose(effects.effect["probability"][:, place], change.numpy(), atol=1e-5), str(component)


def test_blocked_reads_equal_a_mask(random_model: Transformer) -> None:
    prompts = sample("holdout", 5, 8, 0).prompts
    tokens = torch.from_numpy(prompts).long()
    length = tokens.shape[1]
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    commas = torch.arange(0, length - N_QUERY, FACT_LENGTH)
    mask[-1, commas] = False
    blocked = Reads(("comma",), ("equals",)).mask(random_model)[None]
    resumed = resume_query(random_model, cache_query(random_model, tokens), {}, 1, blocked)[:, 0]
    assert torch.allclose(resumed, random_model(tokens, mask=mask)[:, -1], atol=1e-5)


# --- the planted circuit --------------------------------------------------------------------------------------------


def test_the_planted_model_copies(short: MinimalPairs) -> None:
    model = planted_model()
    for prompts, answers in ((short.clean_prompts, short.clean_answer), (short.corrupt_prompts, short.corrupt_answer)):
        assert (model(torch.from_numpy(prompts).long())[:, -1].argmax(-1).numpy() == answers).all()


@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_the_map_shows_the_one_head_that_copies(short: MinimalPairs, direction) -> None:
    model = planted_model()
    components = all_components(model)
    effects = component_effects(model, short, [[component] for component in components], direction)
    for metric in ("probability", "logit_difference"):
        for component, share in zip(components, effects.share(metric)):
            assert share == pytest.approx(1.0 if component == HEAD else 0.0, abs=1e-3), str(component)


def test_one_head_at_a_time_misses_what_two_heads_share_and_a_set_finds_it(short: MinimalPairs) -> None:
    model, heads = planted_model(shared=True), [Component(1, 0), Component(1, 1)]
    alone = component_effects(model, short, [[head] for head in heads])
    assert (alone.effect["probability"].mean(0) < 0.4 * alone.total("probability").mean()).all(), "the old measure"
    choosing, judging = short.halves()
    found = smallest_set(model, choosing)
    assert sorted(found.components) == heads
    assert found.shares[-1] > 0.99
    effects = component_effects(model, judging, [found.components, *without_each(found.components)])
    assert effects.share("logit_difference") == pytest.approx([1.0, 0.5, 0.5], abs=1e-3), (
        "each adds half, given the other"
    )


def test_the_residual_stream_carries_it_behind_that_head_alone(short: MinimalPairs) -> None:
    places, effects = residual_effects(planted_model(), short)
    carried = [place for place, share in zip(places, effects.share("logit_difference")) if share > 0.01]
    assert carried == [("blocks.1.hook_resid_mid", 3), ("blocks.1.hook_resid_post", 3)]


def test_knock_out_finds_the_read_that_is_needed(short: MinimalPairs) -> None:
    """'=' reads the ',' of the copied fact, in layer 1, head 0; nothing else of the context is needed at the query."""
    model, reads = planted_model(), by_slot()
    right = answers_without(model, short.clean_prompts, reads) == short.clean_answer[:, None]
    needed = {(item.slots, item.tokens) for item, share in zip(reads, right.mean(0)) if share < 0.9}
    assert needed == {(("comma",), ("equals",)), (("comma",), ())}
    others = [Reads(("comma",), layers=(0,)), Reads(("comma",), layers=(1,), heads=(1, 2, 3))]
    assert (answers_without(model, short.clean_prompts, others) == short.clean_answer[:, None]).all()
    assert facts_of(short.clean).shape[1] == 10


def test_paths_find_each_step_of_the_planted_circuit(short: MinimalPairs) -> None:
    """The changed answer reaches the ',' behind its fact through head 0.0, and head 1.0 as a value; then the logits."""
    model = planted_model()
    into_head, into_logits = path_effects(model, short, HEAD), path_effects(model, short, None)
    strong = [edge for edge in (*into_head, *into_logits) if abs(edge.share) > 0.01]
    assert [(str(edge.sender), edge.receiver, edge.input) for edge in strong] == [
        ("0.0 at the fact's comma behind", HEAD, "value"),
        ("1.0 at the query's equals", None, "residual"),
    ]
    assert [edge.share for edge in strong] == pytest.approx([1.0, 1.0], abs=1e-3)
    assert circuit(model, short, [HEAD, None]) == strong


def test_the_paths_into_the_logits_of_a_linear_read_out_add_up(short: MinimalPairs) -> None:
    """In the planted model the head writes straight to the logits: with two heads each path carries half."""
    edges = path_effects(planted_model(shared=True), short, None)
    assert {str(edge.sender): edge.share for edge in edges} == {
        "1.0 at the query's equals": pytest.approx(0.5, abs=0.05),
        "1.1 at the query's equals": pytest.approx(0.5, abs=0.05),
    }
