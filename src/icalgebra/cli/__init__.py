"""The command line, `icalgebra COMMAND …`: one file per command, a frozen dataclass of options with a run()."""

from icalgebra.cli.main import main

__all__ = ["main"]
