"""requirements.lock has every package that the Makefile asks pip for, one version each, with a hash."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", name)[0]).lower()


def asked_for() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = re.search(r'--editable "\.\[(dev[^]]*)\]"', (ROOT / "Makefile").read_text())
    assert found
    wanted, names = found[1].split(","), set(map(plain, project["dependencies"]))
    while wanted:
        for requirement in project["optional-dependencies"][wanted.pop()]:
            inner = re.fullmatch(r"icalgebra\[(.*)\]", requirement)  # an extra may contain others
            if inner:
                wanted += inner[1].split(",")
            else:
                names.add(plain(requirement))
    return names


def test_the_lock_has_every_package_of_make() -> None:
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    rows = [re.fullmatch(r"([a-z0-9-]+)==([^ ]+) --hash=sha256:[0-9a-f]{64}", line) for line in lines]
    assert all(rows)
    locked = [row[1] for row in rows if row]
    assert len(locked) == len(set(locked))
    assert asked_for() - {"torch"} <= set(locked), "run scripts/lock_requirements.py"
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    versions = {row[1]: row[2] for row in rows if row}
    assert all(versions[plain(name)] == pinned[name] for name in pinned if plain(name) in versions)
