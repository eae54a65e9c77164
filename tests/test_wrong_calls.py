"""Wrong calls, on the command line and in Python: one sentence with the fix in it, no traceback from inside."""

import json
import subprocess

import pytest

from helpers import exit_code, python_arguments
from wrong_calls import COMMAND_LINES, EXPRESSIONS

LONGEST = 300

# In a process of its own: the tests' checks of annotations would refuse some of these calls before the package does.
# It has none of the extras, and imports everything that needs none.
EXTRAS = ["ray", "nnsight", "wandb", "trackio", "tensorboard", "transformers", "transformer_lens", "tokenizers"]
PROBE = f"""
import json, sys
sys.modules |= dict.fromkeys({EXTRAS})  # importing one of them raises ImportError
from importlib import import_module
import icalgebra
from icalgebra.cli.main import COMMANDS
for module in (icalgebra, icalgebra.interp):
    assert all(getattr(module, name) for name in module.__all__)
for home, _ in COMMANDS.values():
    import_module(home.split(":")[0])
from icalgebra.train import TrainConfig
model, rows = icalgebra.load_model("small"), icalgebra.sample("holdout", n=4, n_facts=10)
found = {{}}
for expression in json.load(sys.stdin):
    try:
        found[expression] = ["no error", repr(eval(expression))]
    except Exception as error:
        found[expression] = [type(error).__name__, str(error)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def answers():
    asked = json.dumps(list(EXPRESSIONS))
    done = subprocess.run(python_arguments(PROBE), input=asked, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_extras_stay_extras(answers):
    assert answers, "every public name and command is imported without them"


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_wrong_call_in_python_is_one_sentence(answers, expression):
    kind, message = answers[expression]
    assert kind == "InputError", message
    assert EXPRESSIONS[expression] in message
    assert "\n" not in message
    assert len(message) <= LONGEST


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_a_wrong_command_line_is_one_sentence(capsys, tmp_path, monkeypatch, name):
    arguments, fix = COMMAND_LINES[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.pt").write_bytes(b"\x80\x02.")
    assert exit_code(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("icalgebra: ")
    assert fix in line
    assert "NoneType" not in line
    assert len(line) <= LONGEST


def test_there_are_sixty():
    assert len(COMMAND_LINES) + len(EXPRESSIONS) >= 60
