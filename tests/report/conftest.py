"""The page of the committed results without drawings, and a browser to look at it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from helpers import ROOT
from icalgebra.report.page import build_report


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the link to an explorer, which lies beside the published page."""

    def empty(experiment: Any, *results: Any) -> dict[str, Markup]:
        return {draw.__name__: Markup("<svg></svg>\n") for draw in experiment.figures}

    folder = tmp_path_factory.mktemp("built")
    (folder / "explorer.html").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("icalgebra.report.page.drawings", empty)
        return build_report(folder, None, ROOT / "results")


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium: the page is not tested in a browser (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield browser.new_page(viewport={"width": 1300, "height": 1000})
        browser.close()
