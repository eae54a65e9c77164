"""What the oracle does with a query that is too expensive: an error at the same point each time, Ctrl-C at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from icalgebra import Structure, World
from icalgebra.errors import InputError
from icalgebra.oracle import budget, classify_queries, posteriors

# x·y = x: every fact ,ab=a holds for every choice of elements, so nothing but the budget ends the count.
LEFT_ZERO = Structure.from_table("left zero", np.repeat(np.arange(16)[:, None], 16, axis=1))
WORLD = World((LEFT_ZERO,), reserved=None)
ENDLESS = ",ab=a,ac=a,ad=a,ae=a,af=a,ag=a,ah=a,ai=a,aj=a,ak=a,al=a,am="


def test_an_endless_count_ends_in_one_line_that_states_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("icalgebra.oracle.threads.make_budget", lambda steps=0: budget.make_budget(10**7))
    prompt = WORLD.vocabulary.encode(ENDLESS)[None]
    with pytest.raises(InputError, match=f"more than {posteriors.MAX_STEPS:,} steps"):
        classify_queries(prompt, WORLD)
    small = WORLD.vocabulary.encode(",ab=a,ac=")[None]  # the same arrays are clean for the next query
    assert classify_queries(small, WORLD).kinds[0] == "entailed"


def test_equal_structures_are_counted_once() -> None:
    prompt = World().vocabulary.encode(",ab=c,de=f,ap=")[None]
    one, many = (classify_queries(prompt, World(("C16",) * n), "holdout") for n in (1, 6))
    np.testing.assert_allclose(one.probabilities, many.probabilities, rtol=1e-12)


def test_ctrl_c_ends_a_long_query_at_once() -> None:
    rows = "|".join(" ".join([str(x)] * 16) for x in range(16))
    arguments = ["oracle", ENDLESS, "--structures", f"zero[{rows}]", "--reserved", "none"]
    command = [sys.executable, "-m", "icalgebra", *arguments]
    # A shell may start the tests with SIGINT ignored.
    restore = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=restore)
    while process.poll() is None and _processor_seconds(process.pid) < 4:  # past its imports, or past its budget
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    if "steps" in told:  # the budget was spent before, and the signal came while the process ended, or later
        assert told.startswith("icalgebra: ")
    else:
        assert (process.returncode, told) == (130, "icalgebra: interrupted\n")


def _processor_seconds(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
