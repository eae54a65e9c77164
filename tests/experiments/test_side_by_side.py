"""Experiments in several processes: the same results as one by one, and what fails leaves the others alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from icalgebra.cli.reproduce import Reproduce
from icalgebra.experiments.side_by_side import KERNELS, MOST_WORKERS, n_cores, suitable_workers

NUMBERS = """
from icalgebra.data.distributions import sample
from icalgebra.experiments.shared.loaded_model import result_about
from icalgebra.model.accuracy import accuracy_estimate, hits

def run(tier, seed, loaded, n):
    sequences = sample("holdout", n, 8, seed, loaded.world, stream="numbers")
    values = {{"accuracy": accuracy_estimate(hits(loaded.predictor, sequences))}}
    logits = loaded.predictor(sequences.prompts).tolist()
    return result_about(loaded, "{name}", tier, seed, {{"n": n}}, values, details={{"logits": logits}})
"""
MEASURES = {
    "numbers_a": NUMBERS.format(name="numbers_a"),
    "numbers_b": NUMBERS.format(name="numbers_b"),
    "refused": "from icalgebra.errors import InputError\ndef run(**_): raise InputError('this world has none')",
    "broken": "def run(**_): raise ValueError('a bug')",
    "killed": "import os, signal\ndef run(**_): os.kill(os.getpid(), signal.SIGKILL)",
    "slow": "import os, pathlib, time\ndef run(**_):\n"
    "    pathlib.Path(os.environ['STARTED'], str(os.getpid())).touch()\n    time.sleep(600)",
}
# One by one with this process's model; side by side with the workers' own.
SCRIPT = """
import json, sys
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.side_by_side import Job, LeftOut, run_side_by_side
job, names = Job("quick", 3, "small", "cpu", 1), sys.argv[2:]
if sys.argv[1] == "plainly":
    found = ((name, job.run(name)) for name in names)
else:
    found = run_side_by_side(names, job, int(sys.argv[1]))
for name, result in found:
    plain = {"left out": result.reason} if isinstance(result, LeftOut) else result.to_dict()
    plain.pop("provenance", None)
    print(json.dumps([name, plain]), flush=True)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("experiments")
    for name, measure in MEASURES.items():
        (folder / name).mkdir()
        about = "model" if name.startswith("numbers") else "data"
        settings = "[quick]\nn = 6" if name.startswith("numbers") else ""
        entry = f'title = "{name}"\norder = 1\nabout = "{about}"\n{settings}\n'
        (folder / name / "experiment.toml").write_text(entry, encoding="utf-8")
        (folder / name / "measure.py").write_text(measure, encoding="utf-8")
    return {**os.environ, "ICALGEBRA_EXPERIMENTS": str(folder)}


def results(environment: dict[str, str], *arguments: str) -> dict[str, str]:
    """What the script printed, by experiment, to the last byte."""
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {json.loads(line)[0]: line for line in done.stdout.splitlines()}


def test_results_are_those_of_one_by_one(environment: dict[str, str]) -> None:
    names = ("numbers_a", "numbers_b")
    plain = results(environment, "plainly", *names)
    assert "accuracy" in plain["numbers_a"]
    assert results(environment, "2", *names) == plain


def test_what_fails_is_left_out_and_the_others_go_on(environment: dict[str, str]) -> None:
    found = results(environment, "2", "killed", "broken", "refused", "numbers_a", "numbers_b")
    left_out = {name: json.loads(line)[1].get("left out") for name, line in found.items()}
    assert left_out == {
        "killed": "its process ended with exit code -9",
        "broken": "ValueError: a bug",
        "refused": "this world has none",
        "numbers_a": None,
        "numbers_b": None,
    }


def test_kernels_of_the_warm_up_are_those_of_the_experiments() -> None:
    for compile_ in KERNELS.values():
        compile_()


def test_ctrl_c_ends_the_workers(environment: dict[str, str], tmp_path: Path) -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from icalgebra.cli import main\n"
        "from icalgebra.cli.reproduce import Reproduce\n"
        "Reproduce._names = lambda self: ['slow', 'numbers_a']\n"
        f"main(['reproduce', '--workers', '2', '--out', {str(tmp_path / 'out')!r}])\n"
    )
    started = tmp_path / "started"
    started.mkdir()
    environment = {**environment, "STARTED": str(started)}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    waited_until = time.monotonic() + 240
    while not list(started.iterdir()):
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < waited_until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the command and all its workers
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert said.endswith("icalgebra: interrupted\n")
    worker = int(next(started.iterdir()).name)
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < waited_until, "a worker is left behind"
        time.sleep(0.05)


def test_by_default_the_quick_tier_shares_the_cores_and_the_full_tier_does_not() -> None:
    assert suitable_workers(torch.device("cuda")) == 1
    assert 1 <= suitable_workers(torch.device("cpu")) <= min(MOST_WORKERS, n_cores())
    assert Reproduce(tier="full")._workers() == 1
    assert Reproduce(tier="quick", device="cpu")._workers() == suitable_workers(torch.device("cpu"))
    assert Reproduce(tier="full", workers=3)._workers() == 3


def test_evidence_is_the_same_in_every_process(environment: dict[str, str]) -> None:
    """Texts have other hashes in other processes, and sets of them another order."""
    code = (
        "from icalgebra.data.distributions import sample\n"
        "from icalgebra.experiments.reliance.evidence import evidence\n"
        "for text in sample('associate_embedded', 40, 21, 0).texts():\n"
        "    *facts, query = [fact.replace('=', '') for fact in text[1:].split(',')]\n"
        "    print(evidence(facts, query[:2], query[2]))\n"
    )
    printed = {
        subprocess.run([sys.executable, "-c", code], env=environment | {"PYTHONHASHSEED": seed}, capture_output=True,
                       text=True, check=True).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(printed) == 1
    assert "associate" in printed.pop()
