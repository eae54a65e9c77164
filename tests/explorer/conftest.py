"""One explorer for all tests of a worker: the library, the app, a server on a free port, a browser."""

import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
import uvicorn
from starlette.testclient import TestClient

from icalgebra.explorer.app import make_app
from icalgebra.explorer.models import Library
from icalgebra.train import train
from training_helpers import MICRO

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory) -> str:
    """A finished run of a few steps with several checkpoints."""
    folder = tmp_path_factory.mktemp("runs") / "short"
    train(replace(MICRO, log_checkpoints=3), folder)
    return str(folder)


@pytest.fixture(scope="session")
def library(run_folder) -> Library:
    return Library("small", (run_folder,))


@pytest.fixture(scope="session")
def client(library) -> TestClient:
    return TestClient(make_app(lambda: library), base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.fixture(scope="session")
def address(library) -> Iterator[str]:
    """A real server on the loopback interface."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(lambda: library), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """Debian's chromium; playwright's own browser is not needed."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium: the page is not tested in a browser (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield started
        started.close()
