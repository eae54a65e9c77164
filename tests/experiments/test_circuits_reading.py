"""Circuits: what the section decides at each threshold, which numbers it quotes, and what its figures draw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers import ROOT
from icalgebra.experiments.circuits.figures import BLOCKED, FIGURES, commas, graphs, knockout, maps
from icalgebra.experiments.circuits.reading import (
    ANY_READER,
    CARRIES,
    LEADS,
    NEEDED,
    REACTS,
    READERS,
    SHARED,
    Reading,
    read,
)
from icalgebra.experiments.shared.readings import NotMeasured, NotMeasuredError, Values
from icalgebra.language.vocabulary import SLOTS
from icalgebra.results import Result, read_result
from icalgebra.statistics import Estimate

SMALL = read_result(ROOT / "results/full/small/circuits.json")
STEP = 0.001  # from just below a threshold to just above it
TOKENS = ["comma", "left", "right", "equals"]
DISTRIBUTIONS = ("copy", "identity")


def estimate(value: float) -> Estimate:
    return Estimate(value, value - 0.01, value + 0.01, 100)


def member(name: str, alone: float, given_rest: float) -> dict[str, Any]:
    return {"name": name, "alone": alone, "given_rest": given_rest}


def node(component: str, layer: int, token: str) -> dict[str, Any]:
    return {"component": component, "layer": layer, "token": token}


def mechanism(members: list[dict[str, Any]], edges: list[dict[str, Any]]) -> dict[str, Any]:
    table = [[0.0, 0.0, 0.0, 5.0], [0.0, 0.0, 2.0, -1.0], [None, None, None, 8.0]]
    found = {"rows": ["0.0", "mlp 0", "1.0"], "tokens": TOKENS, "logit_difference": table}
    return {"maps": {"denoise": found}, "set": members, "edges": edges}


EDGES = [
    {"sender": node("mlp 0", 0, "the fact's comma behind"), "receiver": node("1.0", 1, "the query's equals"),
     "input": "key", "share": 0.5},
    {"sender": node("mlp 0", 0, "the fact's comma behind"), "receiver": node("1.0", 1, "the query's equals"),
     "input": "value", "share": 0.3},
    {"sender": node("1.0", 1, "the query's equals"), "receiver": node("logits", 2, "the query's equals"),
     "input": "residual", "share": 0.9},
]  # fmt: skip
COPYING = {"head": "1.0", "others": {"denoise": "1.1", "reversed": "1.2"}, "control": "1.3",
           "needed": {"probability": ["1.0"]}}  # fmt: skip


@pytest.fixture
def result() -> Result:
    values = {
        "copy.clean_right": 0.99, "copy.corrupt_right": 0.98, "copy.total.probability": 0.95,
        "copy.total.logit_difference": 10.0, "copy.set.share": 0.93, "copy.set.noise": 0.97, "copy.set.random": 0.02,
        "copy.strongest.share": 0.91, "identity.clean_right": 0.9, "identity.corrupt_right": 0.3,
        "identity.total.probability": 0.4, "identity.total.logit_difference": 4.0, "copying_head.decodes": 0.96,
        "copying_head.attention": 0.8, "copying_head.reversed.effect": 0.94, "copying_head.reversed.share": 0.97,
        "copying_head.reversed.other": 0.01, "copying_head.denoise.share": 0.92, "copying_head.denoise.other": 0.39,
        "copying_head.plain.corrupt_right": 0.99, "copying_head.ablated.corrupt_right": 0.1,
        "copying_head.control.corrupt_right": 0.98,
    }  # fmt: skip
    for name in DISTRIBUTIONS:
        values |= {f"knockout.{name}.{slot}.{token}": 0.9 for slot in SLOTS for token in BLOCKED}
        values[f"knockout.{name}.plain"] = 0.95
    details = {
        "mechanisms": {"copy": mechanism([member("1.0", 0.9, 0.8)], EDGES), "identity": mechanism([], [])},
        "left_out": {"cancel": "only 0 of 4 cancel pairs turned up"},
        "copying_head": COPYING,
        "knockout": {"tables": {name: {"heads": [[0.9, 0.8], [0.1, 0.2]]} for name in DISTRIBUTIONS}},
    }
    config = {"n_pairs": 40, "n_knockout": 30, "knockout_facts": 50}
    return Result("circuits", "quick", "x", 0, config, "", {k: estimate(v) for k, v in values.items()}, {}, details)


def read_with(result: Result, **changes: float) -> Reading:
    """The reading with some values changed; '__' stands for a dot."""
    changed = {key.replace("__", "."): estimate(value) for key, value in changes.items()}
    return read(Values(replace(result, values={**result.values, **changed})))


def test_the_section_quotes_the_values(result: Result) -> None:
    reading, values = read(Values(result)), result.values
    copy, identity = reading.mechanisms
    assert (copy.share.estimate, copy.lost.estimate) == (values["copy.set.share"], values["copy.set.noise"])
    assert (copy.random.estimate, copy.strongest.estimate) == (
        values["copy.set.random"],
        values["copy.strongest.share"],
    )
    assert [(item.name, item.alone.value, item.given_rest.value) for item in copy.members] == [("1.0", 0.9, 0.8)]
    assert (identity.members, identity.share) == ([], NotMeasured())
    assert reading.left_out == ["cancel"]
    assert (reading.n_judged, reading.n_blocked) == (20, 30)
    head = reading.copying
    assert head is not None
    assert (head.name, head.other_name, head.other_denoise_name) == ("1.0", "1.2", "1.1")
    assert head.share.estimate == values["copying_head.reversed.share"]
    assert head.denoise.estimate == values["copying_head.denoise.share"]
    assert head.ablated.estimate == values["copying_head.ablated.corrupt_right"]


@pytest.mark.parametrize(("total", "shown"), [(REACTS + STEP, True), (REACTS - STEP, False)])
def test_shares_of_a_tiny_effect_are_not_shown(result: Result, total: float, shown: bool) -> None:
    found = {item.name: item.reacts for item in read_with(result, copy__total__probability=total).mechanisms}
    assert found["copy"] == shown


@pytest.mark.parametrize("step", [STEP, -STEP])
def test_a_set_must_hold_on_fresh_pairs(result: Result, step: float) -> None:
    found = read_with(result, copy__set__share=CARRIES + step).mechanisms
    assert found[0].carries == (step > 0)
    assert not found[1].carries, "no set"


@pytest.mark.parametrize(
    ("share", "other", "one"),
    [(LEADS + STEP, SHARED - STEP, True), (LEADS - STEP, SHARED - STEP, False), (LEADS + STEP, SHARED + STEP, False)],
)
def test_copying_is_the_work_of_one_head_if_no_other_has_a_part(
    result: Result, share: float, other: float, one: bool
) -> None:
    found = read_with(result, copying_head__reversed__share=share, copying_head__reversed__other=other).copying
    assert found is not None
    assert found.one == one


GONE, KEPT = 0.95 - NEEDED - STEP, 0.95 - NEEDED + STEP


@pytest.mark.parametrize(
    ("by_equals", "by_operands", "readers"),
    [
        (GONE, KEPT, [READERS["equals"]]),
        (KEPT, GONE, [READERS["operands"]]),
        (GONE, GONE, list(READERS.values())),
        (KEPT, KEPT, [ANY_READER]),
    ],
)
def test_who_must_read_a_slot(result: Result, by_equals: float, by_operands: float, readers: list[str]) -> None:
    places = {"knockout__copy__comma__equals": by_equals, "knockout__copy__comma__operands": by_operands}
    copy, identity = read_with(result, **places, knockout__copy__comma__all=GONE).needed
    assert (copy.mechanisms, copy.reads) == (["copy"], {reader: ["','"] for reader in readers})
    assert (identity.mechanisms, identity.reads) == (["identity"], {})


def test_mechanisms_that_need_the_same_reads_are_named_together(result: Result) -> None:
    gone = {f"knockout__{name}__{slot}__all": GONE for name in DISTRIBUTIONS for slot in ("comma", "answer")}
    (both,) = read_with(result, **gone).needed
    assert (both.mechanisms, both.reads) == (["copy", "identity"], {ANY_READER: ["','", "the answer"]})


def test_a_model_without_copy_pairs_has_no_copying_head_and_a_missing_value_is_an_error(result: Result) -> None:
    without = {key: value for key, value in result.details.items() if key != "copying_head"}
    assert read(Values(replace(result, details=without))).copying is None
    values = {key: value for key, value in result.values.items() if key != "copy.set.share"}
    with pytest.raises(NotMeasuredError, match=r"copy\.set\.share"):
        read(Values(replace(result, values=values)))


def test_maps_draw_shares_and_write_the_large_ones(result: Result) -> None:
    copy, identity = maps(result).axes
    drawn = np.ma.filled(copy.images[0].get_array().astype(float), np.nan)
    assert np.allclose(drawn, np.array([[0, 0, 0, 0.5], [0, 0, 0.2, -0.1], [np.nan] * 3 + [0.8]]), equal_nan=True)
    assert [text.get_text() for text in copy.texts] == [".50", ".20", "−.10", ".80"]
    assert [text.get_text() for text in copy.get_yticklabels()] == ["0.0", "mlp 0", "1.0"]
    assert (copy.get_title(), identity.get_title()) == ("copy", "identity")


def test_graphs_write_the_share_of_every_path_and_say_where_there_is_none(result: Result) -> None:
    copy, identity = graphs(result).axes
    words = {text.get_text() for text in copy.texts}
    assert {"k .50\nv .30", ".90", "mlp 0", "1.0", "logits"} <= words
    assert [text.get_text() for text in copy.get_xticklabels()] == ["fact's\n, behind", "query's\n="]
    assert [text.get_text() for text in identity.texts] == ["no path carries a tenth"]


def test_knock_out_tables_show_every_slot_and_token(result: Result) -> None:
    for panel, name in zip(knockout(result).axes, DISTRIBUTIONS, strict=True):
        assert panel.get_title() == name
        assert np.allclose(panel.images[0].get_array(), 0.9)
        assert len(panel.texts) == len(SLOTS) * len(BLOCKED)
    assert np.allclose(commas(result).axes[0].images[0].get_array(), [[0.9, 0.8], [0.1, 0.2]])
    assert len(FIGURES) == 4


def test_sets_that_do_not_hold_on_fresh_pairs_are_named() -> None:
    assert not read(Values(SMALL)).not_held
    weak = SMALL.values | {"cancel.set.share": Estimate(0.79, 0.7, 0.8, 50)}
    assert read(Values(replace(SMALL, values=weak))).not_held == ["cancel"]
