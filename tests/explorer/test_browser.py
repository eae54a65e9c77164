"""The page in a real browser: every panel, the keyboard, narrow and wide; no console error, no external request."""

import pytest

from helpers import ROOT
from icalgebra import as_predictor, load_model, sample

READY = "body[data-ready]:not([data-ready=''])"
TEXT = sample("copy", 1, 12, 7)[0].prompt


class Watched:
    """A page, and what went wrong on it."""

    def __init__(self, browser, address: str, width: int = 1300) -> None:
        self.page, self.address, self.wrong = browser.new_page(viewport={"width": width, "height": 900}), address, []
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", self._requested)

    def _requested(self, request) -> None:
        if not request.url.startswith((self.address, "data:")):
            self.wrong.append(f"external: {request.url}")

    def open(self, path: str = "/") -> None:
        self.page.goto(self.address + path)
        self.page.wait_for_selector(READY)

    def ready(self) -> None:
        self.page.wait_for_timeout(50)
        self.page.wait_for_selector(READY)


@pytest.fixture
def watched(browser, address):
    found = Watched(browser, address)
    yield found
    assert found.wrong == []
    found.page.close()


def shares(page, selector: str) -> dict[str, float]:
    found = page.query_selector_all(f"{selector} .bar")
    return {bar.get_attribute("data-letter"): float(bar.get_attribute("data-share")) for bar in found}


def type_text(watched, text: str) -> None:
    watched.page.evaluate("document.querySelector('#change details').open = true")
    watched.page.fill("#text", text)
    watched.page.locator("#text").blur()
    watched.ready()


def test_every_panel_of_one_sequence(watched):
    page = watched.page
    watched.open()
    type_text(watched, TEXT)
    assert page.locator("#sequence .fact").count() == 12
    # answers: the numbers on the page are the model's
    expected = as_predictor(load_model("small"))(TEXT)[0]
    for letter, share in shares(page, "#model-bars").items():
        assert share == pytest.approx(expected["abcdefghijklmnop".index(letter)], abs=2e-6)
    assert page.text_content("#kind") == "entailed"
    page.hover("ol.proof li >> nth=-1")
    assert page.locator("#sequence .fact.lit").count() >= 1
    # inside: hover shades facts, click ablates, several at once
    page.hover("[data-part='2.1']")
    assert "2.1: promotes" in page.text_content("#part-words")
    for part in ("2.1", "mlp 3"):
        page.click(f"[data-part='{part}']")
        page.wait_for_selector(f"[data-part='{part}'].off")
    page.wait_for_selector("[data-who='model without']:has-text('2.1, mlp 3')")
    # reliance
    page.click("#measure")
    page.wait_for_selector("#falls [data-fact-fall='0']")
    assert page.locator("#falls [data-fact-fall]").count() == 11
    # two sequences: patch a head and a position
    page.fill("#corrupt", TEXT[:4] + ("b" if TEXT[4] != "b" else "c") + TEXT[5:])
    page.click("#compare")
    page.click("#pair-map [data-site='2.1']")
    page.wait_for_selector("#patched .bar")
    # training
    page.click("#ask-run")
    page.wait_for_selector("#training p:has-text('variable')")  # the run has six variables: one sentence says so
    # tables: click a cell to ask for it
    pair = page.get_attribute("#tables td.open >> nth=0", "data-pair")
    page.click(f"#tables td[data-pair='{pair}']")
    page.wait_for_selector(f".fact.query:has-text('{pair}=?')")
    watched.ready()


def test_the_training_panel_has_a_slider(watched):
    watched.open()
    watched.page.select_option("#model", "short")
    watched.ready()
    type_text(watched, ",ab=c,ab=")
    watched.page.click("#ask-run")
    watched.page.wait_for_selector("#checkpoint")
    watched.page.focus("#checkpoint")
    watched.page.keyboard.press("Home")
    assert "after 1 steps" in watched.page.text_content("#checkpoint-bars")


def test_sampling_editing_and_the_link(watched, browser):
    page = watched.page
    watched.open()
    page.select_option("#distribution", "cancel")
    page.fill("#n-facts", "12")
    page.click("#sample")
    page.wait_for_selector("#true-answer")
    watched.ready()
    assert page.locator("#sequence .fact").count() == 12
    page.click("#sequence .fact >> nth=0")
    page.click("text=remove")
    page.wait_for_selector("#sequence .fact >> nth=10")
    watched.ready()
    assert page.locator("#sequence .fact").count() == 11
    other = Watched(browser, watched.address)
    other.open("/" + page.url[len(watched.address) + 1 :])
    assert other.page.text_content(".facts") == page.text_content(".facts")
    assert other.wrong == []
    other.page.close()


def test_the_keyboard_alone(watched):
    page = watched.page
    watched.open()
    page.keyboard.press("t")
    page.wait_for_selector("#tour-box")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    assert "7 of 7" in page.text_content("#tour-box")
    page.keyboard.press("Escape")
    assert page.locator("#tour-box").count() == 0
    page.keyboard.press("d")
    assert "dark" in page.get_attribute("html", "class")
    page.focus("[data-word='copy']")
    assert "copying" in page.text_content("#tip")


def test_bad_input_is_one_sentence_on_the_page(browser, address):
    watched = Watched(browser, address)
    watched.open()
    type_text(watched, ",ab=c,xy")
    assert "column" in watched.page.text_content("#status.error")
    watched.page.close()


@pytest.mark.parametrize("width", [1300, 420])
def test_nothing_is_wider_than_the_window(browser, address, width):
    watched = Watched(browser, address, width)
    watched.open()
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    watched.page.close()


def test_a_page_from_another_origin_cannot_call_it(browser, address):
    page = browser.new_page()
    page.route(
        "http://elsewhere.example/", lambda route: route.fulfill(body="<p>elsewhere</p>", content_type="text/html")
    )
    page.goto("http://elsewhere.example/")
    call = f"""fetch("{address}/api/sequence", {{method: "POST", headers: {{"content-type": "text/plain"}},
        body: '{{"text": ",ab=c,ab="}}'}}).then((answer) => answer.text(), (error) => "refused")"""
    assert page.evaluate(call) == "refused"
    page.close()


def test_the_committed_page_needs_no_server(browser):
    exported = ROOT / "docs" / "explorer.html"
    if not exported.is_file():
        pytest.skip("docs/explorer.html is not committed: icalgebra explore --run FOLDER --export docs/explorer.html")
    assert exported.stat().st_size <= 4e6
    watched = Watched(browser, exported.as_uri())
    watched.open("")
    n_examples = watched.page.locator("#stories button").count()
    assert n_examples == 12
    for i in range(n_examples):
        watched.page.click(f"#stories button >> nth={i}")
        watched.ready()
        assert watched.page.locator("#head-map button").count() > 5
        assert watched.page.locator("#falls [data-fact-fall]").count() > 0
    watched.page.wait_for_selector("#checkpoint")  # the last one: phases of training
    watched.page.click("text=a minimal pair")
    watched.page.wait_for_selector("#pair-map button")
    assert watched.wrong == []
    watched.page.close()
