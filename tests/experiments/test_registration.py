"""The folder is the registration: the example of CONTRIBUTING.md is listed, measured, judged and shown."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import ROOT
from icalgebra import experiments
from icalgebra.errors import InputError
from icalgebra.experiments.running import run_experiment
from icalgebra.report.page import build_report
from icalgebra.results import write_result


@pytest.fixture
def squares(tmp_path: Path) -> Path:
    """A folder outside the package that holds the experiment as CONTRIBUTING.md prints it."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^`squares/([\w.]+)`.*?^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in blocks] == [
        "experiment.toml", "claims.toml", "measure.py", "reading.py", "section.html.jinja", "figures.py",
    ]  # fmt: skip
    folder = tmp_path / "mine" / "squares"
    folder.mkdir(parents=True)
    for name, content in blocks:
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def icalgebra(squares: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ICALGEBRA_EXPERIMENTS": str(squares.parent)}
    command = [sys.executable, "-m", "icalgebra", *arguments]
    return subprocess.run(command, cwd=squares.parents[1], env=environment, capture_output=True, text=True)


def test_a_new_folder_is_listed_measured_judged_and_shown(squares: Path) -> None:
    listed = json.loads(icalgebra(squares, "reproduce", "--list", "--json").stdout)
    names = [entry["name"] for entry in listed]
    assert names.index("coverage") < names.index("squares") < names.index("ceiling"), "by its order"

    done = icalgebra(squares, "reproduce", "--only", "squares", "--out", "out", "--alone")
    assert done.returncode == 0, done.stderr
    share = json.loads((squares.parents[1] / "out/results/quick/data/squares.json").read_text())["values"]["squares"]
    page = (squares.parents[1] / "out/report.html").read_text(encoding="utf-8")
    section = re.search(r'<h2 id="squares">.*?</section>', page, re.DOTALL)
    assert section
    assert f"{100 * share['value']:.1f}\N{NO-BREAK SPACE}%" in section[0]
    assert "(stated: 14\N{NO-BREAK SPACE}%)" in section[0]
    assert "They are rare." in section[0]
    assert "The share of hold-out queries that are squares" in section[0], "the drawing's words"
    assert 'class="cell sign undecided" href="#claim-X1.share"' in section[0]
    assert re.search(
        r'<tr id="claim-X1\.share" class="claim" data-class="undecided"', page[page.index('id="verdicts"') :]
    )


@pytest.fixture
def registered(squares: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same in this process, which is quicker."""
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(squares.parent)])
    monkeypatch.setitem(experiments.EXPERIMENTS, "squares", experiments.read_entry(squares / "experiment.toml"))
    experiments.load_claims.cache_clear()
    yield squares
    experiments.load_claims.cache_clear()
    for name in [name for name in sys.modules if name.startswith("icalgebra.experiments.squares")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "file, right, wrong, said",
    [
        ("reading.py", 'number("squares")', 'number("sqares")', "squares/reading.py asks for 'sqares'"),
        ("reading.py", 'stated("X1.share")', 'stated("X1.shre")', "did you mean 'X1.share'"),
        ("section.html.jinja", "r.squares", "r.sqares", "squares/section.html.jinja.*sqares"),
        ("section.html.jinja", "figures.bar", "figures.bars", "squares/section.html.jinja.*bars"),
        ("claims.toml", "family", "famliy", "claims.toml.*family"),
    ],
)
def test_a_mistyped_name_is_an_error_when_the_page_is_built(registered, file, right, wrong, said) -> None:
    write_result(registered.parent / "results", run_experiment("squares", "quick"))
    content = (registered / file).read_text(encoding="utf-8")
    assert right in content
    (registered / file).write_text(content.replace(right, wrong), encoding="utf-8")
    experiments.load_claims.cache_clear()
    with pytest.raises(InputError, match=said):
        build_report(registered.parent, registered.parent / "results", None)


def test_a_mistyped_entry_is_one_line(squares: Path) -> None:
    entry = squares / "experiment.toml"
    entry.write_text(entry.read_text().replace("order", "oder"))
    done = icalgebra(squares, "reproduce", "--list")
    assert done.returncode == 2
    assert re.fullmatch(r"icalgebra: \S+experiment.toml does not describe an experiment: .*oder.*\n", done.stderr)


def test_every_shipped_experiment_says_what_its_results_hold() -> None:
    """Without record.py a damaged setting would be met only where it is used."""
    assert not [item.name for item in experiments.EXPERIMENTS.values() if not (item.folder / "record.py").is_file()]
