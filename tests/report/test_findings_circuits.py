"""Findings about circuits: which words which numbers give."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_findings import HALF_WIDTH, result, words

from icalgebra.report.evidence import Evidence
from icalgebra.report.findings import Findings, read_findings
from icalgebra.report.store import Store
from icalgebra.results import Result, write_result


def findings(folder: Path, *results: Result) -> Findings:
    for item in results:
        write_result(folder, item)
    return read_findings(Evidence(Store(None, folder).for_findings()))


def circuits(share: float, other: float) -> Result:
    return result("circuits", "small", {"copying_head.reversed.share": share, "copying_head.reversed.other": other})


@pytest.mark.parametrize("share, other, one", [(0.91, 0.07, True), (0.89, 0.07, False), (0.91, 0.09, False)])
def test_one_head_copies(tmp_path: Path, share: float, other: float, one: bool) -> None:
    found = findings(tmp_path, circuits(share, other))
    assert found.copying is not None
    assert found.copying.one_head == one
    assert ("One head copies where only the copied fact differs (small)" in words(found)) == one


@pytest.mark.parametrize(
    "cancel, identity, component, said",
    [
        (0.26, 0.26, "mlp 3", "In small each of head 3.7 and the MLP of layer 3 is needed by both."),
        (0.26, 0.24, "mlp 3", "In small they depend most on different ones."),
        (0.24, 0.26, "mlp 3", "In small they depend most on different ones."),
        (0.24, 0.24, "3.7", ""),  # the same one, which neither needs much
    ],
)
def test_a_shared_demotion_is_needed_both_ways(
    tmp_path: Path, cancel: float, identity: float, component: str, said: str
) -> None:
    values = {"demotion.identity.lost.cancel": cancel, "demotion.cancel.lost.identity": identity}
    details = {"chosen": {"identity": "3.7", "cancel": component}}
    found = words(findings(tmp_path, result("shared_parts", "small", values, details=details)))
    assert said in found
    assert ("In small" in found) == bool(said)


@pytest.mark.parametrize("logits, said", [(-0.09, True), (-0.11, False)])
def test_a_component_that_demotes_nothing_is_called_so(tmp_path: Path, logits: float, said: bool) -> None:
    values = {"demotion.identity.lost.cancel": 0.5, "demotion.cancel.lost.identity": 0.5}
    values |= {"demotion.identity.demotes": -0.01, "demotion.cancel.demotes": logits}
    details = {"chosen": {"identity": "1.2", "cancel": "1.2"}}
    found = words(findings(tmp_path, result("shared_parts", "small", values, details=details)))
    assert "In small head 1.2 is needed by both" in found
    assert ("but demotes nothing itself" in found) == said


@pytest.mark.parametrize(
    "ours, reserved, only, anyway",
    [
        (0.0, 2 * HALF_WIDTH, True, False),
        (0.0, 0.5 * HALF_WIDTH, False, False),
        (2 * HALF_WIDTH, 0.0, False, True),
        (0.1, 0.05, False, True),
    ],
)
def test_a_fall_by_the_law_of_the_evaluation(
    tmp_path: Path, ours: float, reserved: float, only: bool, anyway: bool
) -> None:
    values = {"C3.holdout.fall": ours, "C3.holdout_reserved_identity.fall": reserved}
    found = words(findings(tmp_path, result("released_evaluation", "small", values)))
    assert ("This makes accuracy on C3 fall at long contexts in small." in found) == only
    assert ("In small it falls without this, too." in found) == anyway


@pytest.mark.parametrize("cancellation, both", [(0.91, True), (0.89, False)])
def test_both_sets_after_the_last_attention(tmp_path: Path, cancellation: float, both: bool) -> None:
    attention = {"closure.no_identity": 0.98, "cancellation.no_identity": 0.8}
    elsewhere = {"closure.accuracy": 0.99, "cancellation.accuracy": cancellation}
    found = findings(
        tmp_path,
        result("subspaces", "small", attention, config={"size": 16}),
        result("subspace_generalisation", "small", elsewhere),
    )
    assert found.sets is not None
    assert found.sets.both_exchanged == both
    assert ("can both be exchanged in the residual stream (small: 91.0" in words(found)) == both
