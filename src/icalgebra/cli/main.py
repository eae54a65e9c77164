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
from icalgebra.errors import InputError, RunError, unknown

# name -> (module and class, what it does). The modules are imported only when their command is asked for.
COMMANDS: dict[str, tuple[str, str]] = {
    "sample": ("icalgebra.cli.sample:Sample", "make sequences of any distribution"),
    "coverage": ("icalgebra.cli.coverage:CoverageCommand", "how much the five mechanisms can answer"),
    "ask": ("icalgebra.cli.ask:Ask", "model, mechanisms and oracle side by side on your own sequence"),
    "oracle": ("icalgebra.cli.oracle:Oracle", "the exact posterior of a query, and why"),
    "speedrun": ("icalgebra.cli.speedrun:SpeedrunCommand", "how long a preset takes to 99 % hold-out accuracy"),
    "reproduce": ("icalgebra.cli.reproduce:Reproduce", "measure the paper's numbers again and write the report"),
    "report": ("icalgebra.cli.report:Report", "write the page from results that are there"),
    "train": ("icalgebra.cli.train:Train", "train a model by a preset, or go on with a run"),
    "sweep": ("icalgebra.cli.sweep:Sweep", "train many runs from one description, resumable, here or on a cluster"),
    "eval": ("icalgebra.cli.evaluate:Evaluate", "measure a model on every evaluation"),
    "interp": (
        "icalgebra.cli.interp:Interp",
        "look inside a model: heads, copying, identity, closure, subspaces, …",
    ),
    "bench": ("icalgebra.cli.bench:Bench", "measure how fast the parts are on this machine"),
}


# Options by the names they had up to 0.1; they are understood for one release more.
RENAMED = {
    "--draw": "--mixture-rule",
    "--ladder": "--log-checkpoints",
    "--n-facts": "--facts",
    "--n-variables": "--variables",
}


def main(arguments: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        code = _run(arguments)
    except InputError as error:
        print(f"icalgebra: {error}", file=sys.stderr)
        code = 2
    except RunError as error:
        print(f"icalgebra: {error}", file=sys.stderr)
        code = 1
    except (MemoryError, RuntimeError) as error:
        # On a CPU torch has no error of its own for a lack of memory, only these words.
        if isinstance(error, RuntimeError) and "tried to allocate" not in str(error).lower():
            raise
        print(
            "icalgebra: not enough memory for this; ask for fewer facts, or a smaller batch or model", file=sys.stderr
        )
        code = 2
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong, and nothing is left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        # A full disk, a folder that may not be written: the machine's matter, told in its words.
        print(
            f"icalgebra: {': '.join(str(part) for part in (error.filename, error.strerror) if part)}", file=sys.stderr
        )
        code = 1
    except KeyboardInterrupt:
        print("icalgebra: interrupted", file=sys.stderr)
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
    """Options to the command's dataclass; tyro's boxed complaint becomes one line."""
    words = [word.partition("=") for word in arguments]
    arguments = [RENAMED.get(option, option) + equals + value for option, equals, value in words]
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(command, args=arguments, prog=f"icalgebra {name}", config=(tyro.conf.FlagCreatePairsOff,))
    except SystemExit as exit_:
        if exit_.code in (0, None):
            raise
        raise InputError(_one_line(complaint.getvalue(), name)) from None


def _one_line(complaint: str, name: str) -> str:
    """The reason inside tyro's box: what stands between its title and its first rule.

    tyro has a hook that would give the reason without a box, but in a private module that may change in any release.
    """
    lines = [line.strip("│ \t") for line in complaint.splitlines() if not line.startswith(("╭", "╰"))]
    parts = re.split(r"\n[─-]+\n", "\n".join(lines))
    title_is_part = "╭" not in complaint and len(parts) > 1  # a box in ASCII
    reason = " ".join(parts[title_is_part].split())
    reason = re.sub(r"'None', |, 'None'", "", reason)  # leaving an option out is no choice to type
    return f"{reason.rstrip('.')} (see icalgebra {name} --help)"


def _overview() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:{width}}  {summary}" for name, (_, summary) in COMMANDS.items())
    return f"icalgebra {__version__}: a laboratory for in-context algebra\n\n{rows}\n\nicalgebra COMMAND --help"
