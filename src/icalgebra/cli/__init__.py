"""The door: `icalgebra COMMAND …`. Each command is one file with a frozen dataclass of options and a run()."""

from icalgebra.cli.main import main

__all__ = ["main"]
