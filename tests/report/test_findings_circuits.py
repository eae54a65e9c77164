"""Findings about circuits: which words which numbers give."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_findings import HALF_WIDTH, result, words

from icalgebra.report.evidence import Evidence
from icalgebra.report.findings import Findings, read_findings
from icalgebra.report.store import Store
from icalgebra.results import Result, write_result

COPYING = result("copying", "small", {"aie.copy.first": 0.57, "aie.copy.second": 0.49})


def findings(folder: Path, *results: Result) -> Findings:
    for item in results:
        write_result(folder, item)
    return read_findings(Evidence(Store(None, folder).for_findings()))


def circuits(share: float, other: float) -> Result:
    values = {
        "copying_head.reversed.share": share,
        "copying_head.reversed.other": other,
        "copying_head.plain.corrupt_right": 0.98,
        "copying_head.ablated.corrupt_right": 0.0,
    }
    for name in ("copy", "identity", "cancel"):
        values |= {f"knockout.{name}.comma.{reader}": 0.1 for reader in ("all", "equals")}
    values["knockout.copy.answer.all"] = 0.99
    return result("circuits", "small", values, details={"copying_head": {"head": "2.1"}})


@pytest.mark.parametrize("share, other, one", [(0.91, 0.07, True), (0.89, 0.07, False), (0.91, 0.09, False)])
def test_one_head_copies(tmp_path: Path, share: float, other: float, one: bool) -> None:
    found = findings(tmp_path, COPYING, circuits(share, other))
    assert found.copying is not None
    assert found.copying.one_head == one
    assert ("<b>One head copies in small" in words(found)) == one
    assert "head 2.1 of small" in words(found)


def test_without_circuits_nothing_is_said_of_one_head(tmp_path: Path) -> None:
    found = findings(tmp_path, COPYING)
    assert found.copying is not None
    assert not found.copying.one_head


@pytest.mark.parametrize("cancel, identity, shared", [(0.26, 0.26, True), (0.26, 0.24, False), (0.24, 0.26, False)])
def test_a_shared_demotion_is_needed_both_ways(tmp_path: Path, cancel: float, identity: float, shared: bool) -> None:
    values = {"demotion.identity.lost.cancel": cancel, "demotion.cancel.lost.identity": identity}
    details = {"chosen": {"identity": "3.7", "cancel": "mlp 3"}}
    found = findings(tmp_path, result("shared_parts", "small", values, details=details))
    assert found.demotion is not None
    assert (found.demotion.all_shared, found.demotion.none_shared) == (shared, not shared)
    assert ("depend most on different components" in words(found)) != shared


@pytest.mark.parametrize(
    "ours, reserved, falls", [(0.0, 2 * HALF_WIDTH, True), (0.0, 0.5 * HALF_WIDTH, False), (0.1, 0.1, False)]
)
def test_a_fall_by_the_law_of_the_evaluation(tmp_path: Path, ours: float, reserved: float, falls: bool) -> None:
    values = {"C3.holdout.fall": ours, "C3.holdout_reserved_identity.fall": reserved}
    found = findings(tmp_path, result("released_evaluation", "small", values)).evaluation_law
    assert found is not None
    assert found.some_fall == falls


@pytest.mark.parametrize("cancellation, both", [(0.91, True), (0.89, False)])
def test_both_sets_behind_the_last_attention(tmp_path: Path, cancellation: float, both: bool) -> None:
    attention = {"closure.no_identity": 0.98, "cancellation.no_identity": 0.8, "closure.no_identity.random": 0.0}
    config = {"sites": "last", "size": 16, "sizes": [16]}
    elsewhere = {"closure.accuracy": 0.99, "cancellation.accuracy": cancellation, "closure.untrained": 0.3}
    found = findings(
        tmp_path,
        result("closure", "small", {"topk": 1.0}, config={"n_facts": 200}),
        result("subspaces", "small", attention, config=config),
        result("subspace_generalisation", "small", {**elsewhere, "both.accuracy": 0.7}),
    )
    assert found.sets is not None
    assert found.sets.both_exchanged == both
    assert ("can both be exchanged, in the residual stream after the last attention layer" in words(found)) == both
