"""Runs of the presets that existed before mixed lengths, each-fact-once rows and looped blocks are still those runs."""

import json

import pytest

from golden_runs import PATH, PRESETS, fingerprint, machine, scaled_down

GOLDEN = json.loads(PATH.read_text())


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_of_a_preset_is_unchanged(name: str, seed: int) -> None:
    """On the kind of processor where the file was made to the last bit, elsewhere up to the rounding of sums."""
    found, known = fingerprint(scaled_down(name, seed)), GOLDEN["runs"][f"{name}/{seed}"]
    assert (found["rows"], found["tokens"]) == (known["rows"], known["tokens"])
    assert found["losses"] == pytest.approx(known["losses"], rel=1e-4)
    if machine() == GOLDEN["machine"]:
        assert found == known


def test_the_fingerprints_tell_runs_apart() -> None:
    runs = GOLDEN["runs"].values()
    assert len({run["weights"] for run in runs}) == len(GOLDEN["runs"])
