"""numba's njit for the kernels of this package, with a notice when they have to be compiled.

Compiled kernels are cached beside their source, or where NUMBA_CACHE_DIR says, so only the first use takes long: 11 s
for `icalgebra sample` and 25 s for `icalgebra ask` on two cores, which is too long to say nothing.
"""

from __future__ import annotations

import sys
from typing import Any

from numba import njit
from numba.core import event

__all__ = ["njit"]

NOTICE = "icalgebra: compiling once, about 20 s"


class _Notice(event.Listener):  # type: ignore[misc]
    """Says once per process, to people and not to pipes, that one of our kernels is compiled."""

    said = False

    def on_start(self, event: Any) -> None:
        dispatcher = event.data.get("dispatcher")
        ours = getattr(getattr(dispatcher, "py_func", None), "__module__", "").startswith("icalgebra.")
        if ours and not self.said and _someone_is_watching():
            self.said = True
            print(NOTICE, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


def be_silent() -> None:
    """No notice in this process: the command that started it shows what it does."""
    _Notice.said = True


def _someone_is_watching() -> bool:
    return "ipykernel" in sys.modules or sys.stderr.isatty()


event.register("numba:compile", _Notice())  # raised only where the cache has no compiled version
