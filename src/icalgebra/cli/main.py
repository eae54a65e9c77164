"""Find the command, parse its options, run it; bad input ends in one line and exit code 2."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from importlib import import_module
from typing import Any

import tyro

from icalgebra import __version__
from icalgebra.cli.messages import plain_sentence
from icalgebra.errors import InputError, reason, unknown, warn

# name -> (module and class, what it does). Only the called command's module is imported, so that
# `icalgebra --help` does not wait for torch.
COMMANDS: dict[str, tuple[str, str]] = {
    "sample": ("icalgebra.cli.sample:Sample", "sample sequences from any distribution"),
    "coverage": ("icalgebra.cli.coverage:CoverageCommand", "how much the five mechanisms can answer"),
    "ask": ("icalgebra.cli.ask:Ask", "model, mechanisms and oracle side by side on your own sequence"),
    "explain": ("icalgebra.cli.explain:Explain", "why a model answers a query so: mechanisms, posterior, heads, MLPs"),
    "explore": ("icalgebra.cli.explore:Explore", "a local page: one sequence from every side, changed as you like"),
    "oracle": ("icalgebra.cli.oracle:Oracle", "the exact posterior of a query, and why"),
    "speedrun": ("icalgebra.cli.speedrun:SpeedrunCommand", "how long a preset trains to reach 99 % hold-out accuracy"),
    "reproduce": ("icalgebra.cli.reproduce:Reproduce", "measure the paper's numbers again and write the report"),
    "report": ("icalgebra.cli.report:Report", "write the report from existing results"),
    "train": ("icalgebra.cli.train:Train", "train a model from a preset, or resume a run"),
    "sweep": ("icalgebra.cli.sweep:Sweep", "train many runs from one description, resumable, here or on a cluster"),
    "eval": ("icalgebra.cli.evaluate:Evaluate", "run every evaluation of a model, with intervals"),
    "interp": (
        "icalgebra.cli.interp:Interp",
        "interpretability experiments: heads, copying, identity, closure, subspaces, …",
    ),
    "export": ("icalgebra.cli.exporting:Export", "a model as a folder for Hugging Face's transformers"),
    "import": ("icalgebra.cli.importing:Import", "a model from Hugging Face, or a checkpoint the authors released"),
    "bench": ("icalgebra.cli.bench:Bench", "measure how fast the parts are on this machine"),
}

# Names of options up to 0.1, accepted for one more release.
RENAMED = {
    "--draw": "--mixture-rule",
    "--ladder": "--log-checkpoints",
    "--n-facts": "--facts",
    "--n-variables": "--variables",
}


def main(arguments: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):  # a path may hold bytes that are not text: they are printed as escapes
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(arguments)
    except BrokenPipeError:
        # The reader of our output is gone (`| head`), which is not an error. Python would still try to flush on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        known = reason(error)
        if known is None:
            raise
        line, code = known
        warn(line)
    except KeyboardInterrupt:
        warn("interrupted")
        code = 130
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if arguments[0] == "--version":
        print(__version__)
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
    module, class_name = COMMANDS[name][0].split(":")
    command = _parse(getattr(import_module(module), class_name), name, rest)
    return int(command.run() or 0)


def _parse(command: type, name: str, arguments: list[str]) -> Any:
    """The command's dataclass from its options; tyro's boxed error message becomes one line."""
    words = [word.partition("=") for word in arguments]
    arguments = [RENAMED.get(option, option) + equals + value for option, equals, value in words]
    message = io.StringIO()
    try:
        with contextlib.redirect_stderr(message):
            return tyro.cli(command, args=arguments, prog=f"icalgebra {name}", config=(tyro.conf.FlagCreatePairsOff,))
    except SystemExit as exit_:
        if exit_.code in (0, None):
            raise
        raise InputError(plain_sentence(message.getvalue(), name, _options(command))) from None


def _options(command: type) -> list[str]:
    """Every option of a command, as its help lists them."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        tyro.cli(command, args=["--help"], config=(tyro.conf.FlagCreatePairsOff,))
    return sorted(set(re.findall(r"--[a-z][\w-]*", text.getvalue())))


def _overview() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:{width}}  {summary}" for name, (_, summary) in COMMANDS.items())
    return f"icalgebra {__version__}: a laboratory for in-context algebra\n\n{rows}\n\nicalgebra COMMAND --help"
