"""`icalgebra explore`: a local page that shows one sequence from every side; or the same page as one file."""

from __future__ import annotations

import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated

import tyro

from icalgebra.cli.common import MaybePath
from icalgebra.errors import InputError

if TYPE_CHECKING:
    from icalgebra.explorer.models import Library

HOST = "127.0.0.1"


def once(load: Callable[[], Library]) -> Callable[[], Library]:
    """Loads on the first call; calls in other threads wait for it."""
    lock, cached = threading.Lock(), cache(load)

    def loaded() -> Library:
        with lock:
            return cached()

    return loaded


@dataclass(frozen=True)
class Explore:
    """Open a page on this machine that shows one sequence from every side, and what changes when you change it."""

    model: Annotated[str, tyro.conf.arg(metavar="MODEL")] = "small"
    """A shipped model's name, a run folder, a checkpoint folder or a .safetensors file."""
    run_folders: Annotated[tuple[str, ...], tyro.conf.arg(name="run", metavar="[FOLDER …]")] = ()
    """Run folders whose checkpoints the page may ask: how a model learned to answer."""
    port: int = 0
    """Port on 127.0.0.1; 0 takes a free one."""
    no_browser: bool = False
    """Print the address and open no browser."""
    export: MaybePath = None
    """Write the page with prepared sequences to this file, which needs no server, and end."""

    def run(self) -> None:
        try:
            import fastapi  # noqa: F401
            import uvicorn  # noqa: F401
        except ImportError:
            raise InputError("the explorer needs an extra: pip install 'icalgebra[explorer]'") from None
        if not 0 <= self.port <= 65535:
            raise InputError(f"a port is a number from 0 to 65535, not {self.port}")
        if self.export is not None:
            self._export(self._library())
        else:
            self._serve()

    def _library(self) -> Library:
        import torch

        from icalgebra.explorer import parts  # noqa: F401 (with all that the first answer needs)
        from icalgebra.explorer.models import Library

        # The browser needs a core too, and threads that wait for one stall every small operation.
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // 2))
        return Library(self.model, self.run_folders)

    def _export(self, library: Library) -> None:
        from icalgebra.atomic_files import write_text
        from icalgebra.cli.common import working
        from icalgebra.explorer.export import export_page

        assert self.export is not None
        with working("preparing the sequences"):
            page = export_page(library)
        write_text(self.export, page)
        print(f"page: {self.export} ({len(page.encode()) / 1e6:.1f} MB)")

    def _serve(self) -> None:
        """The page comes at once and asks for the models, which are then loaded. Those that a user names are checked
        before."""
        import uvicorn

        from icalgebra.explorer.app import make_app

        library = once(self._library)
        if (self.model, self.run_folders) != (Explore.model, ()):
            library()
        with socket.socket() as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listening.bind((HOST, self.port))
            except OSError as error:
                raise InputError(f"port {self.port} cannot be used: {error.strerror}; leave out --port") from None
            listening.listen()  # before the address is known: requests wait until the server accepts them
            address = f"http://{HOST}:{listening.getsockname()[1]}/"
            print(f"explorer: {address}  (Ctrl-C ends it)", flush=True)
            if not self.no_browser:
                threading.Timer(0.5, webbrowser.open, [address]).start()
            server = uvicorn.Server(uvicorn.Config(make_app(library), log_level="warning", timeout_keep_alive=30))
            server.run(sockets=[listening])
        print("explorer: ended", file=sys.stderr)
