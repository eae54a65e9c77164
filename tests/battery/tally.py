"""What was tried, what survived, what was lost."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from icalgebra.errors import LONGEST, InputError, RunError

Part = Callable[["Tally", int, Random, Path], None]


@dataclass
class Tally:
    tried: int = 0
    lost: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # what cannot be tried on this machine

    @property
    def survived(self) -> int:
        return self.tried - len(self.lost)

    @contextmanager
    def trial(self, what: object) -> Iterator[None]:
        """One attempt. It is lost if anything but an error of one line is raised; `assert` says what must hold."""
        self.tried += 1
        try:
            yield
        except (InputError, RunError) as error:
            if "\n" in str(error) or len(str(error)) > LONGEST:
                self.lose(what, f"a long message: {str(error)[:80]}")
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.lose(what, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")

    def lose(self, what: object, why: str) -> None:
        self.lost.append(f"{what}: {why}"[:400])

    def to_dict(self) -> dict[str, Any]:
        return {"tried": self.tried, "lost": self.lost, "left_out": self.left_out}
