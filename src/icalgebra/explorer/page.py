"""The page as one HTML text: served with its modules beside it, or with modules and data inside.

Modules import each other by names such as "explorer/state.js". An import map says where these are: under /static/, or
in the file itself as data: addresses. So both pages run the same modules, byte for byte.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

INLINE_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)


def read_static() -> dict[str, str]:
    """The modules and the style sheet by name."""
    folder = files("icalgebra.explorer").joinpath("static")
    return {f.name: f.read_text(encoding="utf-8") for f in folder.iterdir() if f.name.endswith((".js", ".css"))}


def served_page() -> str:
    names = [name for name in read_static() if name.endswith(".js")]
    imports = {f"explorer/{name}": f"/static/{name}" for name in sorted(names)}
    return _filled('<link rel="stylesheet" href="/static/style.css">', imports, None)


def single_page(data: dict[str, Any]) -> str:
    """Everything in one file that needs no server."""
    static = read_static()
    imports = {f"explorer/{name}": _address(text) for name, text in sorted(static.items()) if name.endswith(".js")}
    return _filled(f"<style>\n{static['style.css']}</style>", imports, data)


def _filled(style: str, imports: dict[str, str], data: dict[str, Any] | None) -> str:
    page = files("icalgebra.explorer").joinpath("static", "index.html").read_text(encoding="utf-8")
    # '<' is written as an escape, so that no text in the data can end the script element.
    inside = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        page.replace("<!-- style -->", style)
        .replace("/* import map */", json.dumps({"imports": imports}))
        .replace("/* data */", inside)
    )


def _address(text: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(text.encode()).decode()}"


def content_security(page: str) -> str:
    """Scripts, styles and requests of this server alone; the page's inline scripts by their hashes."""
    digests = (hashlib.sha256(found.encode()).digest() for found in INLINE_SCRIPT.findall(page))
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
