"""The experiment on circuits finds the circuit that is planted, and the same seed gives the same result."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from icalgebra.experiments import load_claims
from icalgebra.experiments.circuits.measure import run
from icalgebra.experiments.shared.estimates import share
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.results import Result
from icalgebra.train import TrainConfig
from icalgebra.verdicts import decide
from planted_model import D_MODEL, N_HEADS, N_VARIABLES, planted_model

CONFIG = TrainConfig(n_variables=N_VARIABLES, n_layers=2, n_heads=N_HEADS, d_model=D_MODEL, n_facts=40)
SIZES: dict[str, Any] = {
    "n_pairs": 6, "facts_by_mechanism": (10, 10, 30, 200, 12), "least_single": 0.02, "largest": 3, "n_knockout": 12,
    "knockout_facts": 10,
}  # fmt: skip


@pytest.fixture(scope="module", params=[False, True], ids=["one head", "two heads"])
def shared(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture(scope="module")
def result(shared: bool) -> Result:
    return run("quick", 0, LoadedModel("planted", planted_model(shared), CONFIG), **SIZES)


def values_of(result: Result, *keys: str) -> list[float]:
    return [result.values[key].value for key in keys]


def test_the_set_is_the_planted_one(result: Result, shared: bool) -> None:
    heads = ["1.0", "1.1"] if shared else ["1.0"]
    found = result.details["mechanisms"]["copy"]["set"]
    assert sorted(item["name"] for item in found) == heads
    assert [item["alone"] for item in found] == pytest.approx([1 / len(heads)] * len(heads), abs=0.01)
    assert [item["given_rest"] for item in found] == pytest.approx([1 / len(heads)] * len(heads), abs=0.01)
    assert result.values["copy.set.size"].value == len(heads)
    assert values_of(result, "copy.set.share", "copy.set.noise") == pytest.approx([1, 1], abs=0.01)
    assert values_of(result, "copy.strongest.share") == pytest.approx([1 / len(heads)], abs=0.01)
    assert result.values["copy.set.random"].value < 0.3


def test_maps_show_the_planted_heads_at_equals_and_nothing_elsewhere(result: Result, shared: bool) -> None:
    heads = {"1.0", "1.1"} if shared else {"1.0"}
    total = result.values["copy.total.logit_difference"].value
    for table in result.details["mechanisms"]["copy"]["maps"].values():
        for name, row in zip(table["rows"], table["logit_difference"], strict=True):
            planted = total / len(heads) if name in heads else 0
            assert row[-1] == pytest.approx(planted, abs=0.01 * total)
            assert all(abs(effect or 0) < 1e-3 for effect in row[:-1])


def test_edges_are_the_planted_ones(result: Result, shared: bool) -> None:
    edges = {
        (edge["sender"]["component"], edge["sender"]["token"], edge["receiver"]["component"], edge["input"])
        for edge in result.details["mechanisms"]["copy"]["edges"]
    }
    heads = ["1.0", "1.1"] if shared else ["1.0"]
    assert edges == {
        *(("0.0", "the fact's comma behind", head, "value") for head in heads),
        *((head, "the query's equals", "logits", "residual") for head in heads),
    }


def test_the_copying_head_is_chosen_by_decoding_and_its_effect_and_ablation_are_told(
    result: Result, shared: bool
) -> None:
    found = result.details["copying_head"]
    assert found["head"] in ("1.0", "1.1")
    assert values_of(result, "copying_head.decodes", "copying_head.looks") == [1, 1]
    assert result.values["copying_head.heads_needed.logit_difference"].value == (2 if shared else 1)
    if not shared:
        assert found["head"] == "1.0"
        assert values_of(result, "copying_head.reversed.share", "copying_head.noise.share") == pytest.approx([1, 1])
        assert values_of(result, "copying_head.reversed.other") == pytest.approx([0], abs=1e-3)
        assert values_of(result, "copying_head.heads_needed") == [1]
        assert values_of(result, "copying_head.plain.corrupt_right", "copying_head.control.corrupt_right") == [1, 1]
        assert result.values["copying_head.ablated.corrupt_right"].value < 0.5


def test_knock_out_names_comma_and_equals(result: Result) -> None:
    needed = {key for key, value in result.values.items() if key.startswith("knockout.copy.") and value.value < 0.9}
    assert needed == {"knockout.copy.comma.equals", "knockout.copy.comma.all"}
    tables = result.details["knockout"]["tables"]["copy"]
    assert tables["layers"][0] == 1 > tables["layers"][1]
    assert np.shape(tables["heads"]) == (2, N_HEADS)


def test_what_the_model_does_not_do_shows_no_effect(result: Result) -> None:
    """The planted model copies and nothing else: a changed fact of another pair moves nothing."""
    assert set(result.details["mechanisms"]) == set(MECHANISMS)
    for name in ("commute", "identity", "cancel"):
        assert result.values[f"{name}.total.probability"].value < 0.1
    assert result.config["facts_by_mechanism"] == [10, 10, 30, 40, 12], "no more than it was trained on"


def test_every_claim_finds_its_value_and_the_planted_head_reproduces_them(result: Result, shared: bool) -> None:
    claims = [claim for claim in load_claims() if claim.experiment == "circuits"]
    assert len(claims) == 3
    assert all(claim.late for claim in claims)
    verdicts = {decide(claim, result).verdict for claim in claims}
    assert "not measured" not in verdicts
    assert verdicts == {"reproduced"} or shared


def test_the_same_seed_gives_the_same_result() -> None:
    again = [run("quick", 0, LoadedModel("planted", planted_model(), CONFIG), **SIZES).to_dict() for _ in range(2)]
    assert json.dumps(again[0]) == json.dumps(again[1])


def test_a_share_of_no_effect_has_no_observations() -> None:
    total = np.array([1.0, 3.0])
    found = share(np.array([1.0, 1.0]), total)
    assert (found.value, found.n) == (0.5, 2)
    assert found.low <= 0.5 <= found.high
    assert share(total, -total).n == 0
