"""The experiments about heads, copying and identity: every claim finds its value, the same seed the same result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from helpers import n_drawn, n_figures, parse, with_sizes
from icalgebra.claims import VERDICTS
from icalgebra.cli import main
from icalgebra.cli.interp import _beside_published, _roles
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments import EXPERIMENTS, load_claims
from icalgebra.experiments.cancellation.figures import logit_bars
from icalgebra.experiments.cancellation.measure import run as run_cancellation
from icalgebra.experiments.copying.measure import _planted_wrong, _random_other
from icalgebra.experiments.copying.measure import run as run_copying
from icalgebra.experiments.heads.measure import run as run_heads
from icalgebra.experiments.identity.measure import balanced_accuracy
from icalgebra.experiments.identity.measure import run as run_identity
from icalgebra.experiments.shared.families import family_world
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.experiments.shared.readings import ABSENT
from icalgebra.interp.heads import ROLES, head_roles
from icalgebra.interp.query_batch import QueryBatch, planted_variants
from icalgebra.language.world import World
from icalgebra.model.transformer import Transformer
from icalgebra.report.page import build_report
from icalgebra.results import Result, read_result, write_result
from icalgebra.train import TrainConfig
from icalgebra.train import train as run_training
from icalgebra.verdicts import decide

CONFIG = TrainConfig(
    structures=("C3", "C4", "C5", "D3"), n_variables=10, n_layers=2, n_heads=2, d_model=16, n_facts=12, batch_size=8,
    steps=2, warmup=1, log_every=1, eval_every=2, eval_n=8, eval_facts=(6,), checkpoint_every=2,
)  # fmt: skip
SIZES = {
    "copying": {"n_pairs": 8, "n_sets": 4, "n_decode": 6, "n_variants": 5, "n_facts": 12},
    "identity": {"n_pca": 40, "n_identity": 8, "n_steer": 12, "n_facts": 12},
    "heads": {"n": 6, "n_facts": 200},  # more than the model was trained on: 12 are used
}
RUN = {"copying": run_copying, "identity": run_identity, "heads": run_heads, "cancellation": run_cancellation}


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return LoadedModel("random", Transformer(CONFIG.model, seed=3).eval(), CONFIG)


@pytest.fixture(scope="module")
def results(loaded: LoadedModel) -> dict[str, Result]:
    return {name: RUN[name](tier="quick", seed=0, loaded=loaded, **sizes) for name, sizes in SIZES.items()}


@pytest.mark.parametrize("name", SIZES)
def test_every_claim_finds_its_value(results: dict[str, Result], name: str) -> None:
    claims = [claim for claim in load_claims() if claim.experiment == name]
    assert claims or name == "heads"
    for claim in claims:
        ours = claim.measure(results[name])
        assert ours is not None, claim.id
        assert ours.low <= ours.value <= ours.high, claim.id
        assert decide(claim, results[name]).verdict in VERDICTS[:-1]


@pytest.mark.parametrize("name", SIZES)
def test_the_same_seed_gives_the_same_result(loaded: LoadedModel, results: dict[str, Result], name: str) -> None:
    again = RUN[name](tier="quick", seed=0, loaded=loaded, **SIZES[name])
    assert json.dumps(again.to_dict()) == json.dumps(results[name].to_dict())


def test_every_effect_has_its_control(results: dict[str, Result]) -> None:
    assert {"aie.copy.random_other", "aie.commute.random_other"} <= set(results["copying"].values)
    assert {"pc1.random_direction", "steer.random.query_variable"} <= set(results["identity"].values)
    necessary = [key for key in results["heads"].values if key.startswith("necessary.copy.")]
    assert {key.rsplit(".", 1)[1] for key in necessary} == {"mean", "resample", "control"}
    assert results["heads"].config["n_facts"] == 12
    assert results["copying"].values["aie.copy.together.all"].n == SIZES["copying"]["n_sets"]


def test_every_figure_is_on_the_page(results: dict[str, Result], tmp_path: Path) -> None:
    for result in results.values():
        stamped = Result(**{**vars(result), "provenance": {"seconds": 1.0, "machine": "m", "commit": None}})
        write_result(tmp_path / "results", stamped)
    html = build_report(tmp_path, tmp_path / "results", None).read_text()
    assert n_drawn(html) == n_figures(results)


ODD: dict[str, dict[str, Any]] = {
    "a group that fills the alphabet": {"structures": ("C8",), "n_variables": 8},
    "three variables": {"structures": ("C3",), "n_variables": 3},
    "queries with an identity or a square alone": {"structures": ("C2",), "n_variables": 8},
    "no identity": {"structures": ("Quasigroup(7,0)",)},
    "every structure at once": {"structures": ("C4", "C5"), "mixture_rule": "all"},
    "more letters than the small ones": {"n_variables": 30},
    "one head": {"n_layers": 1, "n_heads": 1},
    "two heads": {"n_layers": 1},
    "a head a layer": {"n_heads": 1},
}
REFUSED = {
    ("three variables", "copying"): "dihedral groups, and none of the paper's fits 3 variables",
    ("three variables", "cancellation"): "too few holdout sequences",
    ("queries with an identity or a square alone", "copying"): "C2: too few sequences have a commuting query",
    ("queries with an identity or a square alone", "identity"): "C2: too few sequences have a query of two variables",
    ("queries with an identity or a square alone", "heads"): "no associate sequence",
    ("queries with an identity or a square alone", "cancellation"): "too few holdout sequences",
    ("no identity", "identity"): "needs a structure with an identity",
    ("no identity", "heads"): "needs a structure with an identity",
}
FEW = {
    "copying": {"n_pairs": 4, "n_sets": 2, "n_decode": 3, "n_variants": 3, "n_facts": 12},
    "identity": {"n_pca": 30, "n_identity": 4, "n_steer": 4, "n_facts": 12},
    "heads": {"n": 4, "n_facts": 12},
    "cancellation": {"n": 40, "n_ablate": 3, "n_facts": 12, "short_facts": 12},
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("odd", ODD)
def test_odd_worlds_and_shapes_are_measured_or_refused_in_one_line(odd: str, name: str) -> None:
    config = CONFIG.with_changes(**ODD[odd])
    loaded = LoadedModel("odd", Transformer(config.model, seed=3).eval().requires_grad_(False), config)
    if (odd, name) in REFUSED:
        with pytest.raises(InputError, match=REFUSED[odd, name]) as refused:
            RUN[name](tier="quick", seed=0, loaded=loaded, **FEW[name])
        assert "\n" not in str(refused.value)
        return
    result = RUN[name](tier="quick", seed=0, loaded=loaded, **FEW[name])
    for key, estimate in result.values.items():
        assert np.isfinite([estimate.value, estimate.low, estimate.high]).all(), key
    assert "NaN" not in json.dumps(result.details)
    for draw in EXPERIMENTS[name].figures:
        draw(result)


def test_what_needs_another_head_is_left_out(tmp_path: Path, undrawn: None) -> None:
    config = CONFIG.with_changes(**ODD["one head"])
    loaded = LoadedModel("lone", Transformer(config.model, seed=3).eval().requires_grad_(False), config)
    found = {name: RUN[name](tier="quick", seed=0, loaded=loaded, **FEW[name]) for name in FEW}
    copying, identity, heads, cancellation = (found[name].values for name in FEW)
    assert "aie.copy.first" in copying
    assert not {"aie.copy.second", "aie.copy.random_other", "aie.copy.together.two"} & set(copying)
    assert "query_promotion.best" in identity
    assert not {"identity_demotion.best", "identity_demotion_head"} & set(identity)
    assert not [key for values in (heads, cancellation) for key in values if "control" in key or "other_heads" in key]
    assert not [key for key in cancellation if key.startswith("attend_and_demote")]
    for result in found.values():  # as of the paper's world, of which the findings speak
        stamp = {"seconds": 1, "machine": "m", "commit": None}
        config = {key: value for key, value in result.config.items() if key != "world"}
        write_result(tmp_path / "results", replace(result, config=config, provenance=stamp))
    html = build_report(tmp_path, tmp_path / "results", None).read_text()
    assert html.count("needs measurements that this model does not have") == 1  # of identity, which compares two heads
    assert "<td>query_promotion.best</td>" in html
    for name in ("copying", "heads", "cancellation"):  # their comparisons with other heads are marked as missing
        assert ABSENT in html.split(f'<h2 id="{name}"')[1].split("</section>")[0], name
    assert n_drawn(html) == n_figures(found)


def test_a_role_that_nobody_asks_for_is_left_out() -> None:
    config = CONFIG.with_changes(**ODD["a group that fills the alphabet"])
    loaded = LoadedModel("full", Transformer(config.model, seed=3).eval().requires_grad_(False), config)
    found = head_roles(loaded.model, config.world, 4, 12)["closure promotion"]
    assert not found.measured
    assert found.heads == []
    result = run_heads(tier="quick", seed=0, loaded=loaded, **FEW["heads"])
    assert "role.closure_promotion" not in result.values
    assert list(result.details["roles"]) == [role for role in ROLES if role != "closure promotion"]
    assert _roles(result).row_count == len(ROLES) - 1


def test_bars_are_called_by_the_alphabets_letters() -> None:
    panel = Figure().subplots()
    logit_bars(panel, [0.0] * 30, "C", {"b"})
    assert "".join(label.get_text() for label in panel.get_xticklabels()) == World(n_variables=30).vocabulary.variables
    coloured = [i for i, bar in enumerate(panel.patches) if bar.get_facecolor() != panel.patches[0].get_facecolor()]
    assert coloured == [1, 28]


def test_the_random_other_head_depends_on_the_seed() -> None:
    effects = np.random.default_rng(0).normal(size=(6, 40))
    rest = np.delete(effects, 2, axis=0)
    chosen = np.random.Generator(np.random.PCG64(0)).integers(5, size=40)  # the stream of the committed results
    assert _random_other(effects, 2, 0).value == pytest.approx(rest[chosen, np.arange(40)].mean())
    assert _random_other(effects, 2, 0) != _random_other(effects, 2, 1)


def test_family_worlds_fit_the_alphabet() -> None:
    small = family_world(World(("C3",), n_variables=7), "dihedral")
    assert small.structures == ("D3",)
    assert family_world(World(), "cyclic").structures == tuple(f"C{n}" for n in range(3, 11))
    all_at_once = World(("C3", "C4"), mixture_rule="all")
    assert family_world(all_at_once, "dihedral").mixture_rule == "fit"  # the whole family has no room


def test_the_planted_wrong_answer_is_found_again() -> None:
    base = QueryBatch.from_sequences(sample("holdout", 80, 12, 0, CONFIG.world))
    base = base[base.commutes & base.distinct & ~base.is_identity]
    made, changed = planted_variants(base, seed=0), 0
    for name in ("corrupted", "conflicting"):
        wrong = _planted_wrong(made[name])
        for text, answer, other in zip(CONFIG.world.vocabulary.decode(made[name].tokens), base.answer, wrong):
            *context, (x, y, _) = parse(text)
            given = {fact[2] for fact in context if fact[:2] in ((x, y), (y, x))}
            assert given == {CONFIG.world.vocabulary.variables[v] for v in (answer, other)}
            changed += answer != other
    assert changed == 2 * len(base) > 10


def test_balanced_accuracy_is_of_both_clusters() -> None:
    scores, labels = np.array([0.0, 0.0, 0.0, 0.0, 10.0, 0.0]), np.array([False] * 4 + [True] * 2)
    assert balanced_accuracy(scores, labels).value == pytest.approx(0.75)
    assert balanced_accuracy(scores, labels & False).n == 0


def test_the_command_writes_figures_and_json_for_a_run_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_training(CONFIG, tmp_path / "run")
    out = tmp_path / "out"
    with_sizes(monkeypatch, "heads", SIZES["heads"])
    with pytest.raises(SystemExit) as ended:
        main(["interp", "heads", str(tmp_path / "run"), "--out", str(out), "--device", "cpu", "--json"])
    assert ended.value.code == 0
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert sorted(printed["files"]) == sorted(str(path) for path in out.iterdir())
    assert read_result(out / "heads.json").model == "run"
    assert len(list(out.glob("*.svg"))) == 2
    with pytest.raises(SystemExit) as ended:
        main(["interp", "hands", "small"])
    assert ended.value.code == 2


def test_the_command_shows_a_table(
    loaded: LoadedModel, results: dict[str, Result], capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(width=160)
    console.print(_roles(results["heads"]))
    console.print(_beside_published(results["copying"]))
    shown = capsys.readouterr().out
    assert "identity demotion" in shown
    assert "K1.copy_best" in shown
