"""The documentation: the Python of every page runs, command lines parse, tutorials run."""

import json
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from helpers import ROOT
from icalgebra.cli.main import COMMANDS, _parse

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
# Small settings for the tutorials: the names that their cell of parameters sets.
SMALL: dict[str, dict[str, Any]] = {
    "1_meet_the_task": {"N": 20},
    "2_open_the_model": {"N": 8},
    "3_train_your_own": {"STEPS": 6, "N": 20},
    "4_how_far_from_the_ceiling": {"N": 12, "FACTS": (5, 12, 20)},
}


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks of a page in these languages; "" stands for none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [code for language, code in found if language in languages]


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "recipes"], ids=lambda page: page.stem)
def test_the_python_of_a_page_runs_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "\n".join(blocks(page, "python"))
    if page.stem == "bridges" and not (find_spec("transformers") and find_spec("nnsight")):
        pytest.skip("transformers or nnsight is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.py").write_text(code)  # a file: nnsight reads the source of its blocks
    exec(compile(code, str(tmp_path / "page.py"), "exec"), {"__name__": page.stem})


def test_the_command_lines_of_the_pages_parse() -> None:
    lines = [
        line.split("  #")[0]
        for page in [*PAGES, ROOT / "README.md"]
        for text in blocks(page, "", "sh")
        for line in text.splitlines()
        if line.startswith("icalgebra ")
    ]
    assert len(lines) > 20
    for line in lines:
        name, *arguments = shlex.split(line)[1:]
        module, command = COMMANDS[name][0].split(":")
        _parse(getattr(__import__(module, fromlist=[command]), command), name, arguments)


def cells(notebook: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", SMALL)
def test_a_tutorial_runs_and_can_be_read_without_running(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = cells(DOCS / "tutorials" / f"{name}.ipynb")
    assert any(cell["outputs"] for cell in code), "run scripts/run_tutorials.py"
    assert not any(output["output_type"] == "error" for cell in code for output in cell["outputs"])
    namespace: dict[str, Any] = {}
    for cell in code:
        exec(compile("".join(cell["source"]), name, "exec"), namespace)
        if "parameters" in cell["metadata"].get("tags", []):
            assert SMALL[name].keys() <= namespace.keys()
            namespace |= SMALL[name]


def test_every_tutorial_and_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    assert {path.stem for path in (DOCS / "tutorials").glob("*.ipynb")} == set(SMALL)
    for name in [page.name for page in PAGES] + [f"tutorials/{name}.md" for name in SMALL]:
        assert name in navigation


def test_the_api_page_names_what_exists_and_all_that_is_public() -> None:
    import icalgebra

    listed = re.findall(r"^::: (icalgebra\.[\w.]+)\.(\w+)$", (DOCS / "api.md").read_text(), re.MULTILINE)
    for module, name in listed:
        assert getattr(__import__(module, fromlist=[name]), name).__doc__, name
    public = {*icalgebra.__all__, *icalgebra.interp.__all__} - {"DISTRIBUTIONS", "InputError", "interp"}
    assert public <= {name for _, name in listed}


def test_no_page_loads_anything_from_elsewhere() -> None:
    for page in PAGES:
        assert not re.search(r"!\[[^]]*\]\(https?:|<(?:script|img|link)[^>]+https?:", page.read_text()), page.name
