"""Nothing from a result file or a name becomes active: read as markup, and opened in a real browser."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rendered import PAYLOADS, RENDERED

import icalgebra.report

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

TEMPLATES = Path(icalgebra.report.__file__).with_name("templates")
OWN_SCRIPTS = [(TEMPLATES / name).read_text(encoding="utf-8").rstrip() for name in ("verdicts.js", "scroll.js")]
OWN_SCRIPT = f"<script>\n{''.join(OWN_SCRIPTS)}</script>"  # of the report, as it is


class Active(HTMLParser):
    """Scripts, event handlers, addresses that run code, and foreign styles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found += [tag] if tag in ("script", "iframe", "object", "embed", "base", "meta http-equiv") else []
        for name, value in attributes:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.found.append(f"{tag} {name}")
            if tag == "img" or (name == "style" and "url(" in (value or "")):
                self.found.append(f"{tag} {name}={value}")


def active(markup: str) -> list[str]:
    parser = Active()
    parser.feed(markup)
    return parser.found


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_check_sees_what_is_active(payload: str) -> None:
    if payload != "jinja":
        assert active(f'<p title="{PAYLOADS[payload]}">{PAYLOADS[payload]}</p>')


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each kind of output with all payloads in one text."""
    found = {}
    for name, render in RENDERED.items():
        folder = tmp_path_factory.mktemp(name.replace(" ", "-"))
        markup = render(folder, " ".join(PAYLOADS.values()))
        found[name] = folder / ("out.svg" if markup.lstrip().startswith("<svg") else "out.html")
        body = f"<!doctype html>{markup}" if found[name].suffix == ".svg" else markup  # as it stands in a page
        found[name] = found[name].with_suffix(".html")
        found[name].write_text(body, encoding="utf-8")
    return found


@pytest.mark.parametrize("name", RENDERED)
def test_payloads_stay_text(rendered: dict[str, Path], name: str) -> None:
    markup = rendered[name].read_text(encoding="utf-8")
    assert active(markup.replace(OWN_SCRIPT, "")) == []
    assert "data-owned" in markup  # the text itself is shown
    assert "1337" not in markup  # no template runs it


@pytest.mark.parametrize("name", RENDERED)
def test_nothing_runs_in_a_browser(rendered: dict[str, Path], name: str, tmp_path: Path) -> None:
    if BROWSER is None:
        pytest.skip("no chromium is installed: the markup was read, but not opened in a browser")
    assert 'data-owned="' not in opened(rendered[name], tmp_path)
    control = tmp_path / "control.html"
    control.write_text(f"<!doctype html><p>{PAYLOADS['attribute']}</p>")
    assert 'data-owned="' in opened(control, tmp_path)  # where it is not escaped, the browser runs it


def opened(page: Path, folder: Path) -> str:
    """The document after its scripts have run, as the browser has it."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000"]
    command = [str(BROWSER), *options, f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-300:]
    return done.stdout
