"""numba's njit for the kernels of this package, with a notice when they have to be compiled.

Compiled kernels are cached beside their source, or where NUMBA_CACHE_DIR says, so only the first use takes long: 11 s
for `icalgebra sample` and 25 s for `icalgebra ask` on two cores, which is too long to say nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event, types

__all__ = ["njit"]

NOTICE = "icalgebra: compiling once, about 20 s"


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba's njit, but a kernel called with a constant is the one for any number of its type.

    numba compiles a kernel again for every constant that another kernel gives it: `run` of the ladder six times, with
    all that it calls. Without that, the ladder, the oracle and the sampler compile in half the time. (LLVM still
    inlines what is small, and then knows the constant.)
    """

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        as_given = getattr(dispatcher, "get_call_template", None)
        if as_given is None:  # a plain function, where NUMBA_DISABLE_JIT is set
            return dispatcher

        def for_any_number(given: Any, named: Any) -> Any:
            return as_given([types.unliteral(t) for t in given], {k: types.unliteral(t) for k, t in named.items()})

        dispatcher.get_call_template = for_any_number
        return dispatcher

    return compiled


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
