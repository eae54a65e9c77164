"""Write requirements.lock anew: every package that `make` installs, with the hash of its file.

    .venv/bin/python scripts/lock_requirements.py

Run it on Linux on x86_64 with CPython 3.11, after a change of pyproject.toml or constraints.txt. pip chooses the
versions.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("icalgebra", "torch")  # the project itself; torch's build differs by machine
HEADER = """\
# Every package of `make` with the SHA-256 of its file, for Linux on x86_64 with CPython 3.11:
# make LOCKED=1 installs from it.
# torch is not in it: its build differs by machine (CPU or CUDA), so constraints.txt pins its version alone.
# Written by scripts/lock_requirements.py.
"""


def extras() -> str:
    """What the Makefile installs: '.[dev,…]'."""
    found = re.search(r'--editable "(\.\[dev[^"]*\])"', (ROOT / "Makefile").read_text())
    assert found, "the Makefile installs no extras"
    return found[1]


def chosen() -> list[dict[str, object]]:
    """pip's own choice of versions, nothing installed."""
    options = ["--quiet", "--dry-run", "--ignore-installed", "--report", "-", "--constraint", "constraints.txt"]
    command = [sys.executable, "-m", "pip", "install", *options, extras()]
    report = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(report.stdout)["install"]


def line(package: dict) -> str:
    name = re.sub(r"[-_.]+", "-", package["metadata"]["name"]).lower()
    digest = package["download_info"]["archive_info"]["hashes"]["sha256"]
    return f"{name}=={package['metadata']['version']} --hash=sha256:{digest}"


def main() -> None:
    packages = [package for package in chosen() if package["metadata"]["name"].lower() not in LEFT_OUT]
    path = ROOT / "requirements.lock"
    path.write_text(HEADER + "".join(f"{row}\n" for row in sorted(map(line, packages))), encoding="utf-8")
    print(f"{path.name}: {len(packages)} packages")


if __name__ == "__main__":
    main()
