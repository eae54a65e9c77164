"""The whole package: the README's tree, layers of imports, the wheel, and what must not be imported or committed."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import ROOT, golden, python_arguments

PACKAGE = ROOT / "src" / "icalgebra"

# Layers, lowest first. Imports stay in their layer or go down.
LAYERS = [
    "errors records atomic_files compilation processes markup statistics randomness results claims verdicts",
    "algebra",
    "language",
    "solvers",
    "data",
    "oracle model",
    "train",
    "sweep interp bridges",
    "plotting",
    "experiments",
    "report",
    "cli explorer __main__",
]
LAYER = {name: level for level, names in enumerate(LAYERS) for name in names.split()}


# --- the README's tree ----------------------------------------------------------------------------------------------


def tree(readme: str) -> dict[str, str]:
    """Path -> clause, from the code block under '## The tree': two spaces per level, folders end in '/'."""
    block = re.search(r"^## The tree\n.*?^```\w*\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert block, "README.md has no code block under the heading '## The tree'"
    entries, folders = {}, []
    for line in filter(str.strip, block[1].splitlines()):
        name, _, clause = line.strip().partition(" ")
        depth = (len(line) - len(line.lstrip())) // 2
        assert depth <= len(folders), f"{line!r} is indented under no folder"
        path = "".join(folders[:depth]) + name
        assert path not in entries, f"{path} is listed twice"
        entries[path] = clause.strip()
        folders = [*folders[:depth], name] if name.endswith("/") else folders[:depth]
    return entries


def problems(entries: dict[str, str], root: Path) -> list[str]:
    """A folder that lists nothing inside stands for all it holds; any other must list every file."""
    leaves = {e for e in entries if e.endswith("/") and not any(o != e and o.startswith(e) for o in entries)}
    files = [p.relative_to(root) for p in (root / "src" / "icalgebra").rglob("*") if p.is_file()]
    names = [str(f) for f in files if "__pycache__" not in f.parts]
    found = [f"{path} is listed but is not there" for path in entries if not (root / path).exists()]
    found += [f"{path} has no clause" for path, clause in entries.items() if not clause]
    found += [f"{f} is not listed" for f in names if f not in entries and not any(f.startswith(e) for e in leaves)]
    return found


def test_the_readmes_tree_is_true():
    assert problems(tree((ROOT / "README.md").read_text()), ROOT) == []


def test_a_wrong_tree_is_detected(tmp_path):
    package = tmp_path / "src" / "icalgebra"
    (package / "inner").mkdir(parents=True)
    for name in ("a.py", "b.json", "inner/c.py"):
        (package / name).touch()
    readme = "## The tree\n```\nsrc/icalgebra/  all\n  a.py  one\n  gone.py  two\n  inner/\n```\n"
    assert problems(tree(readme), tmp_path) == [
        "src/icalgebra/gone.py is listed but is not there",
        "src/icalgebra/inner/ has no clause",
        "src/icalgebra/b.json is not listed",
    ]


# --- imports --------------------------------------------------------------------------------------------------------


def layer_of(module: str) -> int:
    name = module.split(".")[1]
    assert name in LAYER, f"give icalgebra.{name} a layer in tests/test_house.py"
    return LAYER[name]


def imports_of(source: str, package: str) -> set[str]:
    """The modules of the package that a source imports, lazily or not."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{start}.{alias.name}" for alias in node.names} if start == "icalgebra" else {start}
    return {name for name in found if name.startswith("icalgebra.")} - {"icalgebra.__version__"}


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    parts = ("icalgebra", *path.relative_to(PACKAGE).with_suffix("").parts)
    package = ".".join(parts[:-1])
    own = layer_of(".".join(parts))
    up = [name for name in imports_of(path.read_text(), package) if layer_of(name) > own]
    assert not up, f"{path.name} imports {', '.join(up)}, which is in a higher layer"


def test_the_walk_sees_every_form_of_import():
    source = (
        "import icalgebra.cli\ndef f():\n from icalgebra import sampler as s, __version__\n from ..world import World\n"
    )
    assert imports_of(source, "icalgebra.inner") == {"icalgebra.cli", "icalgebra.sampler", "icalgebra.world"}
    with pytest.raises(AssertionError, match=r"give icalgebra\.attic a layer"):
        layer_of("icalgebra.attic.box")


@pytest.mark.parametrize("statement", ["import icalgebra", "from icalgebra import sample, World, structure"])
def test_importing_data_imports_no_torch(statement):
    code = f"{statement}\nimport sys\nassert 'torch' not in sys.modules"
    subprocess.run(python_arguments(code), check=True)


def test_the_readmes_example_runs_as_written(capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    *accuracies, table = capsys.readouterr().out.split("\n", 3)
    mechanism, oracle, model = (float(line.split()[0]) for line in accuracies)
    assert 0 < mechanism < model <= oracle <= 1
    effects = [float(x) for x in re.findall(r"-?\d*\.?\d+", table)]
    assert len(effects) == 32
    assert max(effects) > 0.2  # some head copies


def test_every_public_name_is_there():
    import icalgebra

    assert all(getattr(icalgebra, name) is not None for name in icalgebra.__all__)
    assert set(icalgebra.__all__) <= set(dir(icalgebra))
    readme = (ROOT / "README.md").read_text()
    for name in icalgebra.__all__:
        assert f"`{name}`" in readme, f"the README does not list {name}"
        assert isinstance(getattr(icalgebra, name), dict) or getattr(icalgebra, name).__doc__, f"{name}: no docstring"
    with pytest.raises(AttributeError, match="nonsense"):
        _ = icalgebra.nonsense


# --- the wheel ------------------------------------------------------------------------------------------------------

INSTALLED = """
import json
from importlib.resources import files
import icalgebra
published = json.loads(files("icalgebra").joinpath("published.json").read_text())
texts = icalgebra.sample("holdout", n=1, n_facts=12, seed=7).texts()
from icalgebra.experiments import load_claims
assert load_claims() and files("icalgebra.report").joinpath("templates/page.html.jinja").is_file()
assert icalgebra.load_model("small").config.d_model == 256
from icalgebra.report.store import Store
from icalgebra.results import committed_results
assert Store(None, committed_results()).models("heads")
print(json.dumps({"home": icalgebra.__file__, "figures": sorted(published["figures"]), "texts": texts}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder outside the clone with the built wheel installed in it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, text=True)
    (wheel,) = folder.glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([*install, str(folder / "site"), str(wheel)], check=True, capture_output=True, text=True)
    return folder / "site"


def test_the_wheel_finds_its_data_and_samples_outside_the_clone(installed, tmp_path):
    # Without compilation: faster than compiling again, and the kernels must give the same rows as plain Python.
    environment = {**os.environ, "PYTHONPATH": str(installed), "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(python_arguments(INSTALLED), cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert Path(printed["home"]).is_relative_to(installed)
    assert printed["figures"]
    assert printed["texts"] == golden()["rows"]["holdout"][:1]


def test_the_wheel_holds_every_file_of_the_package(installed):
    here, there = (
        {str(p.relative_to(base)) for p in base.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
        for base in (PACKAGE, installed / "icalgebra")
    )
    results = {f"committed_results/{p.relative_to(ROOT / 'results')}" for p in (ROOT / "results").rglob("*.json")}
    assert there == here | results
    assert json.loads((installed / "icalgebra" / "published.json").read_text())


# --- what is tracked ------------------------------------------------------------------------------------------------


def test_tracked_files_name_no_machine():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git clone")
    machine_path = re.compile(r"(?<![\w.:/])/(?:home|root|work|Users|mnt|workspace|private)/\w")
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file():
            found += [f"{name}: {m[0]}" for m in machine_path.finditer(path.read_text(errors="ignore"))]
    assert not found


# --- the report -----------------------------------------------------------------------------------------------------

READS_ONLY = """
import sys
from icalgebra.experiments import EXPERIMENTS
import icalgebra.report.page
for item in EXPERIMENTS.values():
    item.part("reading"), item.figures
assert not {"torch", "numba", "sklearn"} & set(sys.modules), "the report only reads files"
"""


def test_report_readings_and_figures_import_no_torch():
    subprocess.run(python_arguments(READS_ONLY), check=True)
