"""What the machine does: full and read-only disks, hash seeds and threads, memory, the wheel in bare environments."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from battery.tally import Tally
from icalgebra.cli.main import COMMANDS
from icalgebra.train import train
from training_helpers import MICRO

ROOT = Path(__file__).parents[2]
BARE = {"PATH": os.environ["PATH"], "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", ""), "OMP_NUM_THREADS": "1"}
MEMORY_MB = 700  # of a million sequences; torch is not among what `sample` and `coverage` import


def command(
    *words: object, cwd: Path, limit: Callable[[], None] | None = None, **environment: str
) -> tuple[int, str, str]:
    """Run `icalgebra …`; exit code, standard output, standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "icalgebra", *map(str, words)], cwd=cwd, env={**os.environ, **environment},
        capture_output=True, text=True, errors="replace", preexec_fn=limit, timeout=600,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def in_one_line(told: str) -> bool:
    return told.count("\n") <= 1 and len(told) <= 300 and "Traceback" not in told


# --- disks ------------------------------------------------------------------------------------------------------------


def disks(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """Files that cannot grow beyond some bytes, as on a full disk: one line, and a run that resumes to the same end.
    Then a full device, and a file system that is really full, or read-only, where this machine lets us mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    train(MICRO, folder / "whole", device="cpu")
    (folder / "config.json").write_text(json.dumps(MICRO.to_dict()))
    for i in range(count):
        run, size = folder / f"run{i}", rng.randrange(200, 60_000)
        with tally.trial(f"full at {size} bytes"):
            code, _, told = command("train", "--config", folder / "config.json", "--out", run, "--device", "cpu",
                                    cwd=folder, limit=lambda size=size: _limit(size))  # fmt: skip
            assert in_one_line(told), told
            if not (run / "config.json").exists():
                assert code, "nothing was written, and nothing said"
                continue
            code, _, told = command("train", "--resume", run, "--device", "cpu", cwd=folder)
            assert code == 0, told
            assert _weights(run) == _weights(folder / "whole")
    for words in (["sample", "--n", "5"], ["coverage", "--n", "5", "--facts", "5", "--json"], ["reproduce", "--list"]):
        with tally.trial(f"{words[0]} to a full device"), open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "icalgebra", *words], stdout=full, stderr=subprocess.PIPE, text=True
            )
            assert done.returncode, "nothing was printed, and nothing said"
            assert in_one_line(done.stderr), done.stderr
    _mounted(tally, folder)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _weights(run: Path) -> str:
    last = sorted((run / "checkpoints").glob("step_*"))[-1]
    return hashlib.sha256((last / "model.safetensors").read_bytes()).hexdigest()


def _mounted(tally: Tally, folder: Path) -> None:
    place = folder / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True).returncode:
        tally.left_out.append("a mounted full and a mounted read-only file system: this machine lets nobody mount")
        return
    try:
        for state in ("full", "read-only"):
            if state == "read-only":
                subprocess.run(["mount", "-o", "remount,ro", place], check=True)
            for words in (["sample", "--n", "2000", "--out", place / "x"], ["train", "tiny", "--out", place / "run"],
                          ["report", "--results", ROOT / "results", "--out", place]):  # fmt: skip
                with tally.trial(f"{words[0]} on a {state} file system"):
                    code, _, told = command(*words, cwd=folder)
                    assert code, "nothing was written, and nothing said"
                    assert in_one_line(told), told
    finally:
        subprocess.run(["umount", place], check=True)


# --- determinism ------------------------------------------------------------------------------------------------------

ROWS = """
import hashlib, sys
import icalgebra
size = int(sys.argv[1])
parts = [part.tokens.tobytes() for part in icalgebra.batches("holdout", size, 12, seed=3, n=600)]
found = icalgebra.sample("holdout", n=200, n_facts=8, seed=3)
posterior = icalgebra.posterior(found.prompts, found.world)
print(hashlib.sha256(b"".join(parts)).hexdigest(), hashlib.sha256(posterior.tobytes()).hexdigest())
"""
TRAINED = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from icalgebra.train import train
from training_helpers import MICRO
model = train(MICRO, device="cpu").model
print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
"""


def determinism(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """Rows, posteriors and trained weights over batch sizes, threads and hash seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = {_printed([ROWS, str(size)], seed, threads) for size, seed, threads in [(600, "0", "1")]}
    weights = {_printed([TRAINED, str(ROOT / "tests")], "0", "1")}
    for i in range(count):
        size, seed, threads = rng.choice((1, 7, 64, 599)), str(rng.randrange(2**32)), rng.choice("12")
        with tally.trial(f"batches of {size}, hash seed {seed}, {threads} threads"):
            assert _printed([ROWS, str(size)], seed, threads) in rows
            if i % 3 == 0:
                assert _printed([TRAINED, str(ROOT / "tests")], seed, "1") in weights


def _printed(program: list[str], hash_seed: str, threads: str) -> str:
    environment = {"PYTHONHASHSEED": hash_seed, "NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": "1"}
    arguments = [sys.executable, "-c", *program]
    return subprocess.run(
        arguments, env={**os.environ, **environment}, check=True, capture_output=True, text=True
    ).stdout


# --- memory -----------------------------------------------------------------------------------------------------------


def memory(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """count thousand sequences, streamed or measured, need no more memory than a few."""
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "rows"
    for words in (
        ["sample", "--facts", 40, "--format", "text", "--out", out],
        ["sample", "--facts", 40, "--format", "npz", "--out", out],
        ["coverage", "--facts", 8, "--json"],
    ):
        with tally.trial(f"{count},000 sequences: {words}"):
            words += ["--n", 1000 * count]
            process = subprocess.Popen([sys.executable, "-m", "icalgebra", *map(str, words)], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            assert status == 0
            assert used.ru_maxrss / 1024 < MEMORY_MB, f"{used.ru_maxrss / 1024:.0f} MB"
            out.unlink(missing_ok=True)


# --- the wheel --------------------------------------------------------------------------------------------------------

TRIED: dict[str, list[object]] = {
    "sample": ["--n", 2, "--facts", 5],
    "coverage": ["--n", 20, "--facts", 10],
    "ask": ["small", ",pf=p,ee=n,ae=f,pp=e,pn=f,pe="],
    "oracle": [",kn=e,kk=b,eb=e,ke="],
    "speedrun": ["tiny", "--seeds", 0, "--timed-steps", 20, "--device", "cpu"],
    "reproduce": ["--list"],
    "report": ["--results", ROOT / "results"],
    "train": ["tiny", "--steps", 2, "--eval-n", 8, "--out", "run", "--device", "cpu"],
    "sweep": [ROOT / "sweeps" / "mixing.toml", "--out", "swept", "--collect"],
    "eval": ["small", "--n", 8, "--facts", 20],
    "interp": ["nothing"],
    "bench": ["--only", "sampler"],
    "explain": ["small", ",pf=p,ee=n,ae=f,pp=e,pn=f,pe="],
    "explore": ["--export", "page.html"],
    "export": ["small", "exported"],
    "import": ["exported", "back"],
}
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "no HOME": {},
    "TERM=dumb": {"TERM": "dumb", "HOME": "/nonexistent"},
    "LANG=C": {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict"},
    "40 columns": {"COLUMNS": "40", "LINES": "10", "TERM": "xterm"},
}


def wheel(tally: Tally, count: int, rng: Random, folder: Path) -> None:
    """The wheel outside the clone, every command (the first `count` of them) in every bare environment, piped. The
    requirements come from the environment of the tests; only icalgebra itself is installed anew."""
    folder.mkdir(parents=True, exist_ok=True)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    site = folder / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*install, str(found)], check=True, capture_output=True)
    left = [name for name in COMMANDS if name not in TRIED]
    if left:
        tally.left_out.append(f"commands without a line in battery/machine.py: {', '.join(left)}")
    for name, words in list(TRIED.items())[:count]:
        for title, environment in ENVIRONMENTS.items():
            with tally.trial(f"{name} with {title}"):
                away = folder / f"{name}-{title.replace(' ', '-')}"
                away.mkdir()
                if name == "import":  # it takes what `export` wrote in the same environment
                    (away / "exported").symlink_to(folder / f"export-{title.replace(' ', '-')}" / "exported")
                done = subprocess.run(
                    [sys.executable, "-m", "icalgebra", name, *map(str, words)], cwd=away, capture_output=True,
                    env={**BARE, "PYTHONPATH": str(site), **environment}, timeout=600,
                )  # fmt: skip
                expected = 2 if words == ["nothing"] else 0
                assert done.returncode == expected, done.stderr[-300:]
                assert b"Traceback" not in done.stderr, done.stderr[-300:]
                assert done.stdout or expected, "it printed nothing"
                assert b"\x1b" not in done.stdout, "escapes in a pipe"
