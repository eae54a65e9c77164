"""Laws of interventions: nothing in, nothing out; everything in, the source; resumed runs equal plain ones."""

from __future__ import annotations

import dataclasses
import gc
from functools import partial

import numpy as np
import pytest
import torch

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.interp import heads
from icalgebra.interp.ablation import ablation_effects, answered, head_masks, other_heads, with_heads_replaced
from icalgebra.interp.attention_mass import (
    FACT_SLOTS,
    attention_mass,
    by_fact,
    most_attended_variable,
    partition,
    relations,
)
from icalgebra.interp.directions import doses, principal, random_directions, separation, steer
from icalgebra.interp.heads import ROLES, head_roles
from icalgebra.interp.hooks import add, cached, hooked, project, replace
from icalgebra.interp.last_token_cache import (
    RESUMABLE,
    LastTokenCache,
    cache_last_token,
    cache_last_token_batched,
    resume,
)
from icalgebra.interp.lens import components, direct_logits, head_results, path_to_logits, read_logits
from icalgebra.interp.patching import Site, indirect_effects, target_logit, target_probability, value_of
from icalgebra.interp.query_batch import QueryBatch, pairs, planted_variants, with_false_identity
from icalgebra.language.world import World
from icalgebra.model.predict import on_device, top_variable
from icalgebra.model.transformer import ModelConfig, Transformer
from icalgebra.solvers import MECHANISMS, answer_sets

WORLD = World(("C3", "C4", "D3"), n_variables=10)
N, K = 6, 9


@pytest.fixture(scope="module")
def model() -> Transformer:
    """Three layers of four heads, with weights large enough for every part to matter."""
    made = Transformer(ModelConfig(n_layers=3, n_heads=4, d_model=32, n_variables=10), seed=1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.15 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter))))
    return made.eval().requires_grad_(False)


def draw(name: str, n: int = N, seed: int = 0) -> QueryBatch:
    return QueryBatch.from_sequences(sample(name, n, K, seed, WORLD))


def tokens(name: str = "holdout", seed: int = 0) -> torch.Tensor:
    return torch.as_tensor(draw(name, seed=seed).prompts).long()


def n_hooks(model: Transformer) -> int:
    return sum(len(point._forward_hooks) for point in model.hook_points().values())


# --- hooks ------------------------------------------------------------------------------------------------------------


def test_a_cache_holds_what_fits_the_pattern_and_position(model: Transformer) -> None:
    with cached(model, "blocks.*.attn.hook_z", positions=-1) as cache:
        model(tokens())
    assert list(cache) == [f"blocks.{i}.attn.hook_z" for i in range(3)]
    assert cache["blocks.1.attn.hook_z"].shape == (N, 4, 8)
    assert n_hooks(model) == 0


def test_replacing_a_value_by_itself_changes_nothing(model: Transformer) -> None:
    plain = model(tokens())
    for name in ("blocks.1.attn.hook_z", "blocks.2.hook_attn_out", "hook_embed", "blocks.0.mlp.hook_post"):
        with cached(model, name) as cache:
            model(tokens())
        with hooked(model, {name: replace(cache[name])}):
            torch.testing.assert_close(model(tokens()), plain, rtol=0, atol=1e-6)


def test_replacing_everything_gives_the_source_run(model: Transformer) -> None:
    source, base = tokens("copy", 3), tokens()
    with cached(model, "hook_embed") as cache:
        wanted = model(source)
    with hooked(model, {"hook_embed": replace(cache["hook_embed"])}):
        torch.testing.assert_close(model(base), wanted)


def test_rows_heads_and_subspaces_are_left_alone_where_not_named(model: Transformer) -> None:
    value, rows = torch.randn(N, 5, 4, 8), torch.arange(N) < 2
    changed = replace(torch.zeros(N, 8), positions=-1, head=2, rows=rows)(value)
    differs = (changed != value).any(-1)
    assert differs[:2, -1, 2].all()
    assert differs.sum() == 2
    basis = torch.linalg.qr(torch.randn(8, 3))[0].T
    new = torch.randn(N, 5, 4, 8)
    mixed = project(basis, new)(value)
    torch.testing.assert_close(mixed @ basis.T, new @ basis.T)
    outside = torch.eye(8) - basis.T @ basis
    torch.testing.assert_close(mixed @ outside, value @ outside)
    torch.testing.assert_close(add(torch.ones(8), positions=slice(1, 3))(value)[:, 1:3], value[:, 1:3] + 1)


def test_hooks_go_away_after_an_error(model: Transformer) -> None:
    def fail(value: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"), hooked(model, {"blocks.0.attn.hook_z": fail}):
        model(tokens())
    assert n_hooks(model) == 0
    with pytest.raises(InputError, match="hook point"), hooked(model, {"blocks.9.hook_z": fail}):
        pass
    with pytest.raises(InputError, match="hook point"), cached(model, "nothing.*"):
        pass


# --- traces and resuming ----------------------------------------------------------------------------------------------


def test_a_trace_is_what_a_plain_run_holds_at_the_last_position(model: Transformer) -> None:
    run = cache_last_token(model, tokens(), pattern=True)
    names = [f"blocks.{i}.{point}" for i in range(3) for point in RESUMABLE]
    with cached(model, *names, positions=-1) as cache:
        logits = model(tokens())[:, -1]
    torch.testing.assert_close(run.logits, logits, atol=1e-5, rtol=1e-5)
    for name in names:
        torch.testing.assert_close(value_of(run, name), cache[name], atol=1e-5, rtol=1e-5)
    with cached(model, "blocks.*.attn.hook_pattern") as cache:
        model(tokens())
    assert run.pattern is not None
    for i in range(3):
        torch.testing.assert_close(run.pattern[:, i], cache[f"blocks.{i}.attn.hook_pattern"][:, :, -1])


@pytest.mark.parametrize("point", RESUMABLE)
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_resuming_is_a_plain_run_with_a_hook(model: Transformer, point: str, layer: int) -> None:
    name = f"blocks.{layer}.{point}"
    run = cache_last_token(model, tokens(), keys=True)
    new = torch.randn_like(value_of(run, name))
    with hooked(model, {name: replace(new, positions=-1)}):
        plain = model(tokens())[:, -1]
    resumed = resume(model, run, {name: lambda value: torch.stack([value[:, 0], new], 1)}, variants=2)
    torch.testing.assert_close(resumed[:, 0], run.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(resumed[:, 1], plain, atol=1e-5, rtol=1e-5)


def test_resuming_needs_keys_and_a_known_point(model: Transformer) -> None:
    with pytest.raises(InputError, match="keys=True"):
        resume(model, cache_last_token(model, tokens()), {"blocks.0.hook_attn_out": lambda value: value})
    with pytest.raises(InputError, match="cannot be resumed"):
        resume(model, cache_last_token(model, tokens()), {"blocks.0.attn.hook_q": lambda value: value})


def test_gradients_flow_through_a_resumed_run(model: Transformer) -> None:
    step = torch.zeros(1, 32, requires_grad=True)
    run = cache_last_token(model, tokens(), keys=True)
    resume(model, run, {"blocks.1.hook_attn_out": lambda value: value + step}).sum().backward()
    assert step.grad is not None
    assert step.grad.abs().sum() > 0


# --- patching ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [target_probability, target_logit])
def test_the_fast_sweep_is_the_plain_one(model: Transformer, metric) -> None:
    clean, corrupt = pairs(draw("copy"), draw("holdout", 2 * N))
    arguments = (model, clean.prompts, corrupt.prompts, clean.answer)
    fast = indirect_effects(*arguments, metric=metric)
    plain = indirect_effects(*arguments, metric=metric, resumed=False)
    assert fast.shape == (12, N)
    assert np.abs(plain).max() > 1e-3
    np.testing.assert_allclose(fast, plain, atol=1e-5)


def test_other_sites_and_positions(model: Transformer) -> None:
    clean, corrupt = pairs(draw("copy"), draw("holdout", 2 * N))
    arguments = (model, clean.prompts, corrupt.prompts, clean.answer)
    sites = [Site("blocks.1.hook_mlp_out"), Site("blocks.2.attn.hook_z"), Site("blocks.2.hook_resid_post")]
    np.testing.assert_allclose(
        indirect_effects(*arguments, sites), indirect_effects(*arguments, sites, resumed=False), atol=1e-5
    )
    everything = [Site("hook_embed", position=None), Site("blocks.2.hook_resid_post")]
    first, second = indirect_effects(*arguments, everything)
    np.testing.assert_allclose(first, second, atol=1e-5)  # either way the corrupt run has become the clean one


def test_pairs_that_do_not_fit_are_refused(model: Transformer) -> None:
    same = draw("holdout")
    prompts, answers = same.prompts, same.answer
    wrong = {
        "one shape and one target": [
            (prompts, prompts, answers[:3]),
            (prompts[:2], prompts, answers),
            (prompts, prompts[:, 5:], answers),
            (prompts[:0], prompts[:0], answers[:0]),
        ],
        "another alphabet": [(prompts, sample("holdout", N, 8, world=World(("C3",), 6)).prompts, answers)],
        "targets must be token ids": [(prompts, prompts, answers + 100)],
    }
    for reason, given in wrong.items():
        for arguments in given:
            with pytest.raises(InputError, match=reason):
                indirect_effects(model, *arguments)


def test_patching_a_run_with_itself_does_nothing(model: Transformer) -> None:
    same = draw("holdout")
    effects = indirect_effects(model, same.prompts, same.prompts, same.answer)
    np.testing.assert_allclose(effects, 0, atol=1e-6)


def test_patching_all_heads_and_the_mlps_gives_the_source(model: Transformer) -> None:
    source, base = cache_last_token(model, tokens("copy", 3)), cache_last_token(model, tokens(), keys=True)
    changes = {f"blocks.{i}.{point}": (lambda new: lambda value: new[:, None])(value_of(source, f"blocks.{i}.{point}"))
               for i in range(3) for point in ("attn.hook_z", "hook_mlp_out")}  # fmt: skip
    # Both prompts end in '=', so the embedding at the last position is the same.
    torch.testing.assert_close(resume(model, base, changes)[:, 0], source.logits, atol=1e-5, rtol=1e-5)


def test_pairs_differ_in_query_and_answer() -> None:
    clean, corrupt = pairs(draw("copy", 40), draw("holdout", 100))
    assert (clean.answer != corrupt.answer).all()
    assert ((clean.left != corrupt.left) | (clean.right != corrupt.right)).all()
    assert len(np.unique(corrupt.tokens, axis=0)) == 40
    with pytest.raises(InputError, match="draw more"):
        pairs(draw("copy", 40), draw("holdout", 10))


# --- lenses -----------------------------------------------------------------------------------------------------------


def test_frozen_readings_add_up_to_the_logits(model: Transformer) -> None:
    run = cache_last_token(model, tokens())
    readings = [read_logits(model, run, part) for part in components(model, run).values()]
    total = torch.stack(readings).sum(0) + model.ln_final.b @ model.unembedding.T
    torch.testing.assert_close(total, run.logits, atol=1e-4, rtol=1e-4)


def test_the_three_forms(model: Transformer) -> None:
    run = cache_last_token(model, tokens())
    result = head_results(model, run)[:, 1, 2]
    plain = (run.z[:, 1, 2] @ model.blocks[1].attn.W_O[2]) @ model.unembedding.T
    torch.testing.assert_close(direct_logits(model, run, "plain")[:, 1, 2], plain[:, :10])
    torch.testing.assert_close(
        direct_logits(model, run, "normed")[:, 1, 2], (model.ln_final(result) @ model.unembedding.T)[:, :10]
    )
    torch.testing.assert_close(read_logits(model, run, result, "frozen")[:, :10], direct_logits(model, run)[:, 1, 2])


def test_the_path_of_a_last_layer_head_skips_only_the_last_mlp(model: Transformer) -> None:
    source, base = cache_last_token(model, tokens("copy", 3)), cache_last_token(model, tokens(), keys=True)
    assert torch.equal(path_to_logits(model, base, base)[:, 0, 0], path_to_logits(model, base, base)[:, 2, 3])
    frozen = {"blocks.2.hook_mlp_out": lambda value: base.mlp_out[:, 2, None]}
    swapped = with_heads_replaced(model, base, source.z, head_masks(model, [[(2, 1)]]))
    assert swapped.shape == (N, 1, 12)
    name = "blocks.2.attn.hook_z"
    direct = resume(
        model,
        base,
        {**frozen, name: lambda z: torch.cat([z[..., :1, :], source.z[:, None, 2, 1:2], z[..., 2:, :]], -2)},
    )
    torch.testing.assert_close(path_to_logits(model, source, base)[:, 2, 1], direct[:, 0], atol=1e-5, rtol=1e-5)


# --- attention --------------------------------------------------------------------------------------------------------


def test_relations_and_masses() -> None:
    vocabulary = WORLD.vocabulary
    text = ",ab=c,ba=c,ad=e,fb=e,ca=a,dd=d,ab="
    row = np.append(vocabulary.encode(text), np.uint8(2))[None]
    members = np.ones((1, 10), dtype=bool)
    case = QueryBatch(row, np.array([2]), members, np.array(["X"]), np.array([2]))
    found = relations(case)
    shown = {name: np.flatnonzero(mask[0]).tolist() for name, mask in found.items()}
    assert shown == {
        "self": [6], "same pair": [0], "reverse": [1], "identity": [4], "same left": [2], "same right": [3],
    }  # fmt: skip
    assert np.flatnonzero(partition(found)["other"][0]).tolist() == [5]
    pattern = torch.zeros(1, 1, 34)
    pattern[0, 0, 5] = 0.6  # the ',' behind the first fact
    pattern[0, 0, 9] = 0.3  # the second fact's answer
    pattern[0, 0, 33] = 0.1  # the query's '='
    mass = by_fact(pattern)
    assert mass[0, 0, 0, FACT_SLOTS.index("comma behind")] == 0.6
    assert attention_mass(pattern, found["reverse"], FACT_SLOTS.index("answer")).item() == pytest.approx(0.3)
    assert attention_mass(pattern, found["self"]).item() == pytest.approx(0.1)
    assert sum(attention_mass(pattern, mask).item() for mask in partition(found).values()) == pytest.approx(1)
    assert most_attended_variable(pattern, case).item() == 2  # c, the answer of the fact before the ','


# --- planted facts ----------------------------------------------------------------------------------------------------


def solved(case: QueryBatch, mechanism: str) -> np.ndarray:
    sets = answer_sets(case.tokens, "last", 10)[:, -1, MECHANISMS.index(mechanism)]
    return sets == np.uint64(1) << case.answer.astype(np.uint64)


def test_variants_are_what_their_names_say() -> None:
    base = draw("holdout", 60)
    base = base[base.commutes & base.distinct & ~base.is_identity]
    made = planted_variants(base, seed=0)
    assert len(base) > 10
    assert solved(made["exact"], "copy").all()
    assert not solved(made["commutative"], "copy").any()
    assert solved(made["commutative"], "commute").all()
    assert (solved(made["both"], "copy") & solved(made["both"], "commute")).all()
    assert not (solved(made["neither"], "copy") | solved(made["neither"], "commute")).any()
    assert not solved(made["corrupted"], "copy").any()  # two answers: a tie
    assert (solved(made["conflicting"], "copy") & ~solved(made["conflicting"], "commute")).all()
    for variant in made.values():
        assert (variant.prompts[:, -3:] == base.prompts[:, -3:]).all()
        assert ((variant.tokens != base.tokens).reshape(len(base), K, 5).any(2).sum(1) <= 2).all()


def test_false_identities_pass_for_one() -> None:
    base = draw("holdout", 60)
    base = base[base.distinct & ~base.is_identity]
    for side, own, other in (("left", base.left, base.right), ("right", base.right, base.left)):
        made = with_false_identity(base, side, seed=1)
        rows, places = np.nonzero((made.tokens != base.tokens).reshape(len(base), K, 5).any(2))
        fact = made.context[rows, places]
        kept, moved = (0, 1) if side == "left" else (1, 0)
        assert (fact[:, kept] == own[rows]).all()
        assert (fact[:, moved] == fact[:, 2]).all()
        assert (fact[:, moved] != other[rows]).all()
        assert (np.bincount(rows, minlength=len(base)) <= 1).all()


def test_reversed_queries_know_their_answer() -> None:
    some = draw("commute_any", 50)
    back = some.reversed()
    assert solved(back, "copy").all()
    assert (back.reversed().tokens == some.tokens).all()
    assert (some.commutes == (back.answer == some.answer)).all()


# --- directions -------------------------------------------------------------------------------------------------------


def test_principal_directions_are_orthonormal_and_their_sign_is_fixed() -> None:
    values = torch.randn(50, 8, generator=torch.Generator().manual_seed(0)) * torch.arange(1, 9)
    found = principal(values, 3)
    torch.testing.assert_close(found.directions @ found.directions.T, torch.eye(3))
    largest = found.directions.gather(1, found.directions.abs().argmax(1, keepdim=True))
    assert (largest > 0).all()
    torch.testing.assert_close(principal(values.flip(0), 3).directions, found.directions)
    towards = -found.directions[0]
    torch.testing.assert_close(principal(values, 1, towards).directions[0], towards)
    assert found.explained.diff().le(0).all()
    variance = found.project(values).var(0) / values.var(0).sum()
    torch.testing.assert_close(variance, found.explained)


def test_steering_is_a_plain_run_with_a_hook(model: Transformer) -> None:
    direction = random_directions(torch.zeros(32), 1, seed=0)[0]
    assert direction.norm().item() == pytest.approx(1.0)
    logits = steer(model, cache_last_token(model, tokens()), doses(direction, [0.0, 5.0]))
    with hooked(model, {"blocks.2.hook_attn_out": add(5 * direction, positions=-1)}):
        plain = model(tokens())[:, -1]
    torch.testing.assert_close(logits[:, 1], plain, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(logits[:, 0], cache_last_token(model, tokens()).logits, atol=1e-5, rtol=1e-5)
    halves = separation(np.array([0.0, 1.0, 10.0, 11.0]), np.array([False, False, True, True]))
    assert (halves.threshold, halves.distance) == (5.5, 10.0)


# --- roles and ablation -----------------------------------------------------------------------------------------------


def test_every_head_gets_every_role_score(model: Transformer) -> None:
    found = head_roles(model, WORLD, n=5, n_facts=K, seed=0)
    assert tuple(found) == ROLES
    again = head_roles(model, WORLD, n=5, n_facts=K, seed=0)
    for role, scores in found.items():
        assert np.array(scores.table()).shape == (3, 4)
        assert scores.table() == again[role].table()
        assert scores.score(scores.best).value == max(max(row) for row in scores.table())


def test_scores_have_the_sign_of_their_words(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Direct logits made by hand: head 0.0 does what the role says, 0.1 the opposite."""
    holdout, identity = draw("holdout", 40), draw("identity", 60)
    identity, same_right = identity[identity.distinct], relations(holdout)["same right"]
    one = np.eye(10)
    even = np.zeros((40, K, 5))  # all attention on the answers of facts that share the right variable
    even[..., FACT_SLOTS.index("answer")] = same_right / np.maximum(same_right.sum(1, keepdims=True), 1)
    pattern = torch.as_tensor(np.insert(even.reshape(40, -1)[:, :-2], 0, 0.0, axis=1))
    pattern = pattern[:, None, None].expand(-1, model.config.n_layers, model.config.n_heads, -1)
    run = dataclasses.replace(cache_last_token(model, on_device(model, holdout.prompts)), pattern=pattern)
    made = (
        (heads.closure_promotion, holdout, holdout.members, (1, -1)),
        (partial(heads.cancellation, side="right"), holdout, -1.0 * heads.answers_of(holdout, same_right), (1, -1)),
        (heads.query_promotion, identity, one[identity.left] + one[identity.right], (1, 0)),
        (heads.identity_demotion, identity, -one[identity.identity], (1, 0)),
    )
    for role, scored, logits, wanted in made:
        direct = torch.zeros(len(scored), 3, 4, 10, dtype=torch.float64)
        direct[:, 0, 0], direct[:, 0, 1] = torch.as_tensor(logits), -torch.as_tensor(logits * 1.0)
        monkeypatch.setattr(heads, "direct_logits", lambda model, run, direct=direct: direct)
        found = role(model, run, scored)
        assert [found.score((0, head)).value for head in (0, 1)] == pytest.approx(wanted), found.role


def test_the_identity_roles_are_also_scored_on_queries_without_the_identity(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[QueryBatch] = []

    def promoting(model: Transformer, run: LastTokenCache) -> torch.Tensor:
        """A head that promotes the operands of any query."""
        one = torch.eye(10)[torch.as_tensor(np.stack([scored[-1].left, scored[-1].right]))].sum(0)
        return one[:, None, None].expand(-1, 3, 4, -1)

    def remember(model: Transformer, queries: QueryBatch) -> dict[str, heads.RoleScores]:
        scored.append(queries)
        return plain(model, queries)

    plain = heads.identity_roles
    monkeypatch.setattr(heads, "identity_roles", remember)
    monkeypatch.setattr(heads, "direct_logits", promoting)
    assert heads.identity_roles_elsewhere(model, World(("C2",), 10), n=5, n_facts=K, seed=0) == {}
    found = heads.identity_roles_elsewhere(model, WORLD, n=5, n_facts=K, seed=0)
    assert len(scored[0]) == 5
    assert not scored[0].is_identity.any()
    assert found["query promotion"].score((0, 0)).value == 1.0
    assert found["identity demotion"].score((0, 0)).value < 1.0


def test_ablating_nothing_and_everything(model: Transformer) -> None:
    clean, corrupt = pairs(draw("copy"), draw("holdout", 2 * N))
    donors = cache_last_token_batched(model, draw("train").prompts).z
    everything = [(layer, head) for layer in range(3) for head in range(4)]
    measured = ablation_effects(model, clean, corrupt, donors, [[], everything])
    assert (measured.mean[:, 0] == measured.plain).all()
    assert (measured.resample[:, 0] == measured.plain).all()
    assert (measured.sufficient[:, 1] == measured.plain).all()  # all heads of the source bring the source's answer
    control = other_heads(model, [(2, 0), (2, 1)], seed=0)
    assert len(set(control)) == 2
    assert not set(control) & {(2, 0), (2, 1)}
    assert {layer for layer, _ in control} == {2}


def test_a_control_has_as_many_heads_or_there_is_none(model: Transformer) -> None:
    everything = [(layer, head) for layer in range(3) for head in range(4)]
    half = other_heads(model, everything[:6], seed=-1)
    assert set(half) == set(everything[6:])
    assert other_heads(model, everything[:7], seed=0) == []


def test_a_tie_is_no_answer(model: Transformer) -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0], [3.0, 1.0, 3.0], [0.0, 0.0, 0.0], [5.0, 1.0, float("nan")]])
    assert top_variable(logits).tolist() == [1, -1, -1, -1]
    some = draw("holdout")
    tied = torch.zeros(N, 2, 12)
    tied[np.arange(N), 1, some.answer] = 1.0
    tied[:, :, 10:] = 9.0  # '=' and ',' are no variables
    assert answered(model, tied, some).tolist() == [[False, True]] * N


def test_memory_stays_flat_over_hundreds_of_patches(model: Transformer) -> None:
    clean, corrupt = pairs(draw("copy", 1), draw("holdout", 4))
    arguments = (model, clean.prompts, corrupt.prompts, clean.answer)

    def live() -> int:
        gc.collect()
        return sum(issubclass(type(item), torch.Tensor) for item in gc.get_objects())

    indirect_effects(*arguments, resumed=False)
    before = live()
    for _ in range(10):
        indirect_effects(*arguments, resumed=False)
        indirect_effects(*arguments)
    assert live() <= before
